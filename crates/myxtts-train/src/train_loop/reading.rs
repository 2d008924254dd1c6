//! Numbers on their way from a device to the host.

use std::fmt;
use std::future::{Future, ready};
use std::pin::Pin;

use burn::tensor::{Tensor, TensorData, Transaction};
use futures_lite::future::{block_on, poll_once};
use myxtts_device::{EngineError, check_for_oom};

type Copied = Result<Vec<TensorData>, EngineError>;

/// Numbers that are being copied to the host. The copy is queued behind all that was queued
/// before, and in front of what comes after: fetching the numbers later waits for no more than they
/// needed. A plain read would queue its copy when it is made, and wait for everything until then.
///
/// The numbers of a step that failed are waited for as well, and thrown away: the engine copies into
/// buffers that it uses again, and one whose copy was abandoned would stay mapped.
pub(super) struct Reading(Option<Underway>);

type Underway = Pin<Box<dyn Future<Output = Copied> + Send>>;

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
        let copied = block_on(poll_once(&mut copy));
        // Before what the copy itself reports: it also fails after memory has run out, and does not
        // say that this is why.
        check_for_oom()?;
        match copied {
            None => Ok(Self(Some(copy))),
            Some(copied) => Ok(Self(Some(Box::pin(ready(Ok(copied?)))))),
        }
    }

    /// Waits for the numbers.
    pub(super) fn finish(mut self) -> Result<Vec<f32>, EngineError> {
        let Some(copy) = self.0.take() else {
            return Ok(vec![]);
        };
        // Numbers that were copied are good even if a later step has run out of memory since.
        let copied = block_on(copy).map_err(|why| check_for_oom().err().unwrap_or(why))?;
        Ok(copied.iter().flat_map(TensorData::iter::<f32>).collect())
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if let Some(copy) = self.0.take() {
            let _ = block_on(copy);
        }
    }
}
