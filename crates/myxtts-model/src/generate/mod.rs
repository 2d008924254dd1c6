//! Codes from voices and texts, one after the other, many texts at once.
//!
//! ```text
//! Gpt ─into_speaking─> SpeakingGpt ─> Generation: admit rows, step, cancel
//!                                      │ scores of every row
//!                                      ├─ CPU: blocks over slices, a cache per row    (host)
//!                                      └─ others: the engine's operations, one cache  (device)
//! ```

mod beams;
mod device;
mod ending;
mod engine;
mod error;
mod host;
mod processors;
mod sampling;
mod session;
mod speaking;
mod voices;

pub use ending::{Ending, Guards};
pub use error::GenerateError;
pub use processors::{repetition_penalty, temperature, top_k, top_p};
pub use sampling::{Choice, Sampler, SamplingConfig};
pub use session::{Generated, Generation, RowId, Step, generate};
pub use speaking::SpeakingGpt;
