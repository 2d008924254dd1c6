//! What the stages do, implemented by whoever knows what a batch is.

use std::time::Duration;

use crate::dispenser::Ticket;

/// The host stage, which fills buffers on several threads at once.
pub trait HostWork: Send + Sync + 'static {
    /// A host batch. Buffers are reused, so that the steady state allocates nothing.
    type Buffer: Send + 'static;

    /// Fills a buffer for `ticket`. `spare` is a buffer that was used before.
    fn fill(&self, ticket: Ticket, spare: Option<Self::Buffer>) -> Result<Self::Buffer, String>;

    /// Returns the memory a buffer takes, in bytes.
    fn bytes(&self, buffer: &Self::Buffer) -> u64;

    /// Returns where the time of filling the buffer went, if the work knows.
    fn parts(&self, _buffer: &Self::Buffer) -> Option<HostParts> {
        None
    }
}

/// The parts of the time spent filling a buffer that are measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostParts {
    /// Time spent reading bytes from the disk.
    pub read: Duration,
    /// Time spent decoding bytes into samples.
    pub decode: Duration,
}

/// The device stage. It is made and used on one thread, as the engine's streams
/// and pools require.
pub trait DeviceStage {
    /// A host batch, see [`HostWork::Buffer`].
    type Buffer;
    /// A batch on the data device.
    type Batch: Send + 'static;

    /// Turns a host batch into a device batch, which is complete on return.
    fn process(&mut self, ticket: Ticket, buffer: &Self::Buffer) -> Result<Self::Batch, String>;

    /// Returns the device memory a batch takes, in bytes.
    fn bytes(&self, batch: &Self::Batch) -> u64;

    /// Returns how much of the last [`process`](Self::process) was spent handing
    /// values to the device, if the work knows.
    fn uploading(&mut self) -> Option<Duration> {
        None
    }
}

/// Carries batches from the data device to a model device. It is made and used on
/// one thread.
pub trait Hop {
    /// A batch on a device.
    type Batch;

    /// Carries a batch over, which has arrived on return.
    fn hop(&mut self, batch: Self::Batch) -> Result<Self::Batch, String>;
}

/// The hop where data and model share a device: there is nothing to carry.
#[derive(Debug)]
pub struct NoHop<T>(std::marker::PhantomData<fn(T)>);

impl<T> Hop for NoHop<T> {
    type Batch = T;

    fn hop(&mut self, batch: T) -> Result<T, String> {
        Ok(batch)
    }
}
