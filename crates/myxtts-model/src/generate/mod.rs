//! Codes from a voice and a text, one after the other.

mod cache;
mod processors;
mod sampling;
mod session;

pub(crate) use cache::LayerCache;
pub use processors::{repetition_penalty, temperature, top_k, top_p};
pub use sampling::{Choice, Sampler, SamplingConfig};
pub use session::{GenerateError, Generated, Generation, Step, generate};
