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
//!   files and to nothing else: with [`Silent`] a terminal stays empty.
//! - Every function returns an [`Error`], whose text a person can act on.
//!
//! The program `myxtts` is made of the same functions. `docs/library.md` has examples.

mod dataset;
mod error;
mod machine;
mod memory;
mod outline;
mod request;
mod settings;
mod speech;
mod train;
mod voice;

pub use dataset::prepare;
pub use error::Error;
pub use machine::{cpu, discover, probe};
pub use myxtts_audio::{Waveform, wav_pcm16};
pub use myxtts_base::Report;
pub use myxtts_config::{Problems, Settings};
pub use myxtts_data::prepare::PrepareError;
pub use myxtts_data::sample_corpus::unpack as unpack_sample_corpus;
pub use myxtts_device::{Machine, Plan, PlanError};
pub use myxtts_infer::{InferError, Pick, SpeakOptions, Speech, Synthesizer, Voice, resolve};
pub use myxtts_run::observer::{Observer, Preparing, Silent, StepMetrics};
pub use myxtts_run::progress::{Left, Numbers, StageNumbers};
pub use myxtts_run::signals::{StopRequest, StopSignal};
pub use myxtts_run::units::Step;
pub use myxtts_train::TrainError;
pub use myxtts_train::config::Config;
pub use myxtts_train::session::{Finished, PreparedDataset};
pub use settings::{Given, GivenFlag};
pub use speech::Model;
pub use train::{plan, train};
pub use voice::{Heard, VoiceSource};

/// What the program `myxtts` needs beside the face, because its commands show parts of a training
/// that others do not ask for: not for anybody else, and free to change.
#[doc(hidden)]
pub mod internal {
    pub use crate::machine::discover_through;
    pub use crate::outline::Outline;
    pub use crate::request::train_request;

    pub mod config {
        //! How the layers of a configuration are put together.
        pub use crate::settings::{
            Init, effective_yaml, in_declared_order, keys, load, load_with, plan_request,
            settings_in_environment, sizes, user_layer,
        };
        pub use myxtts_train::config::Sizes;
    }

    pub mod dataset {
        //! The steps of preparing a dataset.
        pub use crate::dataset::{
            Part, dataset, output_folder, prepare_folder, prepared_in, request, with_progress,
        };
    }

    pub mod memory {
        //! What a configuration needs of the devices' memory.
        pub use crate::memory::{clips, training_request};
    }
}
