//! Speech over HTTP, in the form that clients already speak.
//!
//! ```text
//! connection ─> guard ─> request ─> Queue ─> synthesis loop (one thread, one model)
//!      ^                                          │ Reply: sound, end, failure
//!      └──── encoder (wav, pcm, flac, mp3, opus) <┘
//! ```
//!
//! - [`bind`] takes the address before the model is loaded, so that a port that
//!   is in use is known at once; [`Listening::serve`] answers until it is told to
//!   stop. The thread that calls it is the synthesis loop: the model never
//!   leaves its thread, because the engine keeps pools and streams by thread. HTTP
//!   has one other thread.
//! - Waiting requests are bounded ([`ServeConfig::queue`]); as many as there are
//!   rows are spoken together, and whoever comes while they speak joins them at
//!   the next free row.
//! - A client that goes away drops the receiving end of its replies. The loop
//!   looks at that between two steps and forgets the speech.

mod config;
mod error;
mod format;
mod http;
mod metrics;
mod queue;
mod server;
mod speaker;
mod speech;
mod voices;

pub use config::{Patience, ServeConfig, Token};
pub use error::ServeError;
pub use server::{Listening, Served, bind};
pub use voices::{VoiceBook, VoiceSource};
