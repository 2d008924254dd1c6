//! Trains XTTS voices and speaks with them, from a program of your own.
//!
//! ```text
//! Given ─> Settings<Config> ─┬─> plan ──────┐
//!  cpu or discover ─> Machine┘              ├─> train ─> a run's folder ─> Model ─> Synthesizer ─> audio
//!           Settings<Config> ───> prepare ──┘
//! ```
//!
//! - [`Given`] says what a configuration is made of: a file, variables, single keys. Loaded, it is
//!   [`Settings`] of a [`Config`]: every value with its origin.
//! - [`cpu`] and [`discover`] say what there is to run on.
//! - [`plan`] decides devices, precision, buffers and batch; it touches no device.
//! - [`prepare`] reads a dataset once and keeps what a training needs of it.
//! - [`train`](train()) trains, and resumes where a run left off.
//! - [`Model`] loads what was trained, and [`VoiceSource`] a voice for it to speak in.
//! - An [`Observer`] is told messages, progress, steps and samples. The library itself writes to
//!   files and to nothing else: with [`Silent`] a terminal stays empty. Only
//!   [`monitor::watch`] draws on one: that is what it is for.
//! - What fails returns an [`Error`], whose text a person can act on.
//!
//! Around this stand the modules, each for one thing that the program can do beside: measure a
//! model ([`evaluate`]) or a training ([`doctor`], [`profile`], [`tune`], [`bench`](mod@bench)),
//! speak many lines ([`speech`]) or over HTTP ([`serve`]), show a run ([`monitor`]), carry weights
//! ([`weights`]).
//!
//! The program `myxtts` is made of this library and of nothing below it: it has the flags, and the
//! words on the terminal. `docs/library.md` has examples.

pub mod bench;
pub mod checkpoint;
mod dataset;
pub mod doctor;
mod error;
pub mod evaluate;
mod figures;
pub mod machine;
mod memory;
pub mod monitor;
mod new_file;
mod outline;
mod planned;
mod preparation;
pub mod profile;
mod relief;
mod request;
pub mod serve;
pub mod settings;
pub mod speech;
pub mod steps;
mod train;
pub mod tune;
mod voice;
pub mod weights;

pub use dataset::prepare;
pub use error::Error;
pub use machine::{cpu, discover, probe};
pub use myxtts_audio::{Waveform, wav_pcm16};
pub use myxtts_base::{Report, report};
pub use myxtts_config::{Problems, Settings, shell};
pub use myxtts_data::prepare::PrepareError;
pub use myxtts_data::sample_corpus::unpack as unpack_sample_corpus;
pub use myxtts_device::{Machine, Plan, PlanError};
pub use myxtts_infer::{InferError, Pick, SpeakOptions, Speech, Synthesizer, Voice, resolve};
pub use myxtts_run::observer::{Observer, Preparing, Silent, StepMetrics};
pub use myxtts_run::progress::{Left, Numbers, Progress, StageNumbers, Style};
pub use myxtts_run::signals::{StopRequest, StopSignal};
pub use myxtts_run::units::Step;
pub use myxtts_train::TrainError;
pub use myxtts_train::config::Config;
pub use myxtts_train::session::{Finished, PreparedDataset};
pub use new_file::NewFile;
pub use outline::Outline;
pub use planned::Planned;
pub use preparation::{Preparation, Prepared};
pub use settings::{Given, GivenFlag};
pub use speech::Model;
pub use train::{plan, train};
pub use voice::{Heard, VoiceSource};
