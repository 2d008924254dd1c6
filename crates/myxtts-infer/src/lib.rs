//! Speaking with a model.
//!
//! ```text
//! folder -> Checkpoint -> Modules ─┐         ┌─> latents ─> waveform decoder ─┐
//! recordings -> Voice ─────────────┼─> codes ┤                                ├─> Speech
//! text -> pieces -> tokens ────────┘         └─> mel ─> Griffin-Lim ──────────┘
//! ```
//!
//! - [`ModelCard`] is everything about a model that its tensors do not say. It
//!   is stored with the weights, or worked out for public XTTS-v2 files.
//! - [`Modules`] and [`outgoing`] are the two ways between weights and modules:
//!   speaking loads files by the first, a training streams its files through the
//!   second. [`checkpoint_of`] does the same as the second for weights in memory.
//! - [`VoiceFile`] stores a voice; [`named_voices`] lists those stored with a model.
//! - [`Reading`] is a text as it is read aloud: phrases and pauses.
//! - [`Synthesizer`] is a model that speaks; [`Speaking`] speaks many texts together,
//!   and returns their audio as it becomes known.

mod card;
mod check;
mod copy;
mod decoder;
mod error;
mod fingerprint;
mod kept_voice;
mod locate;
mod modules;
mod named_voices;
mod public;
mod reading;
mod sampling;
mod similarity;
mod speaking;
mod speech;
mod summary;
mod synthesizer;
mod voice;
mod voice_file;
mod voice_vector;

pub use card::{DecoderCard, ModelCard, VoiceKind};
pub use check::CardFault;
pub use decoder::{Decoder, Vocoder};
pub use error::InferError;
pub use locate::{Pick, newest_run, resolve, voices};
pub use modules::{InFile, Modules, checkpoint_of, outgoing, state_dict, tensor_data};
pub use named_voices::{NamedVoice, StoredVoice, named_voices};
pub use reading::{Phrase, Reading};
pub use sampling::SamplingDefaults;
pub use similarity::{Compared, Similarity};
pub use speaking::{Event, Said, SpeakOptions, Speaking, Ticket, Utterance};
pub use speech::Speech;
pub use summary::WeightsSummary;
pub use synthesizer::Synthesizer;
pub use voice::{ReferenceSpec, Voice};
pub use voice_file::{VoiceFault, VoiceFile, VoiceFileError};
pub use voice_vector::VoiceVectors;
