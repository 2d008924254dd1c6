//! What the stages do, said by whoever knows what a batch is.

use std::time::Duration;

use crate::Stop;
use crate::dispenser::Ticket;

/// Tells a long piece of work that nobody wants its result any more.
#[derive(Clone, Debug)]
pub struct Cancel(pub(crate) Stop);

impl Cancel {
    /// Whether to give up. To be asked between clips, not between samples.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_stopped()
    }
}

/// The host stage: fills buffers, on several threads at once.
pub trait HostWork: Send + Sync + 'static {
    /// A host batch; reused, so that the steady state allocates nothing.
    type Buffer: Send + 'static;

    /// Fills a buffer for a ticket. `spare` is one that was used before.
    fn fill(
        &self,
        ticket: Ticket,
        spare: Option<Self::Buffer>,
        cancel: &Cancel,
    ) -> Result<Self::Buffer, String>;

    /// What a buffer takes.
    fn bytes(&self, buffer: &Self::Buffer) -> u64;

    /// Where the time of filling it went, if the work knows.
    fn parts(&self, _buffer: &Self::Buffer) -> Option<HostParts> {
        None
    }
}

/// Parts of filling a buffer; the rest is everything else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostParts {
    /// Bytes from the disk.
    pub read: Duration,
    /// From bytes to samples.
    pub decode: Duration,
}

/// The device stage. Made and used on one thread, which the engine's streams
/// and pools want.
pub trait SiteWork {
    /// A host batch.
    type Buffer;
    /// A device batch.
    type Batch: Send + 'static;

    /// Turns a host batch into a device batch, which is complete on return.
    fn process(&mut self, ticket: Ticket, buffer: &Self::Buffer) -> Result<Self::Batch, String>;

    /// What a batch takes on the device.
    fn bytes(&self, batch: &Self::Batch) -> u64;

    /// How much of the last [`process`](Self::process) went into handing values
    /// over to the device, if the work knows.
    fn uploading(&mut self) -> Option<Duration> {
        None
    }
}

/// The way from the data device to a model device. Made and used on one thread.
pub trait Hop {
    /// A device batch.
    type Batch;

    /// Carries a batch over; it is there on return.
    fn hop(&mut self, batch: Self::Batch) -> Result<Self::Batch, String>;
}

/// Data and model share their device: there is nothing to carry.
#[derive(Debug)]
pub struct NoHop<T>(std::marker::PhantomData<fn(T)>);

impl<T> Hop for NoHop<T> {
    type Batch = T;

    fn hop(&mut self, batch: T) -> Result<T, String> {
        Ok(batch)
    }
}
