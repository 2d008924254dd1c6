//! XTTS weights, in and out, as numbers in named tensors.
//!
//! ```text
//! model.pth, dvae.pth, ...  --read_public-->  Checkpoint  --write_ours-->    *.safetensors
//!      the public files    <--write_public--              <--read_ours--    our folder
//! ```
//!
//! - [`torch`] reads and writes torch's files without Python: a bounded reader
//!   of ZIP and pickle that builds data and calls nothing.
//! - [`read_safetensors`] and [`write_safetensors`] do the same for safetensors.
//! - [`keys`] brings the names of every known generation of XTTS files to one.
//! - [`ModelWeights`] is the parts of a model with its vocabulary and
//!   [`XttsConfig`], from either layout to either layout, bit for bit.
//!
//! A file is data from a stranger: every length is checked before it is used,
//! no input panics, and what is not taken over is named in
//! [`ModelWeights::ignored`].

mod config;
mod error;
pub mod keys;
mod layout;
mod map;
mod model_weights;
mod safetensors;
mod source;
mod stream;
mod tensor;
pub mod torch;

pub use config::{Misfit, ModelArgs, XttsConfig, misfit};
pub use error::{Fault, WeightsError};
pub use keys::Ignored;
pub use layout::{
    Described, OursDescription, OursFiles, Outgoing, describe_ours, read_ours, read_public,
    read_speakers, write_ours, write_public,
};
pub use map::TensorMap;
pub use model_weights::{ModelWeights, Sizes};
pub use safetensors::{read_safetensors, write_safetensors};
pub use stream::{SafetensorsStream, TensorStream};
pub use tensor::{Dtype, Tensor};
pub use torch::{read_torch, write_torch};
