//! Numbers on their way from a device to the host.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;

use burn::tensor::{Tensor, TensorData, Transaction};
use futures_lite::future::{block_on, poll_once};
use myxtts_device::EngineError;

type Copied = Result<Vec<TensorData>, EngineError>;

/// Numbers that are being copied to the host. The copy is queued behind all that was queued
/// before, and in front of what comes after: fetching the numbers later waits for no more than they
/// needed. A plain read would queue its copy when it is made, and wait for everything until then.
pub(super) struct Reading(Pin<Box<dyn Future<Output = Copied> + Send>>);

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").finish_non_exhaustive()
    }
}

impl Reading {
    /// Queues the copy. This waits until the engine has queued everything before it, but not for
    /// the device.
    pub(super) fn begin(numbers_n: Tensor<1>) -> Result<Self, EngineError> {
        let transaction = Transaction::default().register(numbers_n);
        let mut copy = Box::pin(async {
            let copied = transaction.execute_async().await;
            copied.map_err(EngineError::new)
        });
        // The engine queues the copy when it is first asked for it.
        match block_on(poll_once(&mut copy)) {
            None => Ok(Self(copy)),
            Some(copied) => Ok(Self(Box::pin(ready(Ok(copied?))))),
        }
    }

    /// Waits for the numbers.
    pub(super) fn finish(self) -> Result<Vec<f32>, EngineError> {
        let copied = block_on(self.0)?;
        Ok(copied.iter().flat_map(TensorData::iter::<f32>).collect())
    }
}
