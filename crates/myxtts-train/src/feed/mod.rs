//! The feed: what the pipeline's stages do for a training. The host's part is
//! [`HostFeed`] of `myxtts-data`; here is the device's.
//!
//! [`HostFeed`]: myxtts_data::host_stage::HostFeed
//!
//! ```text
//! HostFeed (any worker)               DeviceFeed (the data device's thread)
//! schedule -> clips -> HostBatch  ->  mel -> DVAE -> codes \
//!          \-> codes from the cache ->  codes, uploaded     -> GptBatch
//! ```
//!
//! A batch is a pure function of (dataset, seed, step): not of the number of
//! workers, of what came before, or of whether its codes were cached.

mod codes_source;
mod decoder;
mod device;
mod device_batch;
mod segments;
mod setup;
mod shapes;
mod targets;
mod uploads;

pub use codes_source::codes_source;
pub(crate) use decoder::largest_segments;
pub use decoder::{Cutting, DecoderBatch, DecoderFeed};
pub(crate) use device::device_bytes;
pub use device::{DeviceFeed, FrontEnd};
pub use device_batch::{BatchStats, DeviceBatch};
pub use segments::{SegmentBatch, SegmentFeed, segment_schedule, segment_spec};
pub use setup::{LargestBatch, RingBytes, single_lane};
pub use shapes::{ShapeTracker, Shapes};
pub use targets::Targets;
