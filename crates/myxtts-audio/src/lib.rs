//! Everything between a file of audio and a feature, and back.
//!
//! ```text
//! path -> decode -> Waveform -> Resampler -> clip -> trim -> level   (Loader)
//!                                                      |
//!                           MelFrontEnd (four MelSpecs) +-> Mel -> GriffinLim -> write_wav
//! ```
//!
//! Training and synthesis call the same [`Loader`] and the same [`MelFrontEnd`]:
//! there is no second implementation to drift.
//!
//! Invariants:
//! - nothing in here panics, whatever the bytes; what cannot be read is a typed
//!   [`DecodeError`] with the path, the reason and the fix;
//! - no sample is dropped or invented in silence: a cut file, a corrupt packet
//!   and a NaN are errors, not warnings;
//! - memory is bounded by [`Limits`], which are checked against the header
//!   before anything is decoded and again while decoding.

mod cast;
mod decode;
mod frames;
mod griffin_lim;
mod level;
mod load;
mod mel;
mod resample;
pub mod units;
mod waveform;
mod write;

pub use decode::{DecodeError, Decoded, Fault, Limits, Source, decode, decode_bytes, decode_into};
pub use griffin_lim::{GriffinLim, GriffinLimError};
pub use level::{LevelError, SHORTEST_PAUSE, Trim, loudness, pauses, trim};
pub use load::{AudioConfig, LoadError, Loaded, Loader, Normalize, Slowness, Spent};
pub use mel::{Compression, Mel, MelError, MelFrontEnd, MelSpec, Window};
pub use resample::{ResampleSpec, ResampleStream, Resampler, Taper};
pub use waveform::Waveform;
pub use write::{
    FlacError, FlacStream, WriteError, flac_pcm16, pcm16, wav_pcm16, wav_pcm16_header,
    write_flac_pcm16, write_wav_f32, write_wav_pcm16,
};
