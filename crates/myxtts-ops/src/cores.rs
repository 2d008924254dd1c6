//! Where a pass over the model runs.

use burn::tensor::Device;
use rayon::prelude::*;

use crate::host;

/// Runs `work` on one of the threads that the CPU backend computes with, if
/// that is where `device` is; elsewhere it simply runs.
///
/// An operation that is called from another thread wakes those threads and
/// sleeps until they are done, hundreds of times in a step; on one of them it
/// begins at once and the others help. `work` must compute only: what it waits
/// for may need the thread it has taken.
pub fn on_cores<R: Send>(device: &Device, work: impl FnOnce() -> R + Send) -> R {
    if is_cpu(device) {
        rayon::scope(|_| work())
    } else {
        work()
    }
}

/// Whether `device` is the CPU backend, whose operations share this process's cores.
pub fn is_cpu(device: &Device) -> bool {
    host::is_host(device)
}

/// What `work` makes of each item, in their order: all at once where `device`
/// is the CPU backend, one after the other elsewhere.
pub fn each_on_cores<T: Send, R: Send>(
    device: &Device,
    items: Vec<T>,
    work: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    if is_cpu(device) {
        items.into_par_iter().map(work).collect()
    } else {
        items.into_iter().map(work).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_the_cpu_is_where_its_operations_are() {
        let device = Device::flex();
        let here = || rayon::current_thread_index();
        assert_eq!(here(), None);
        let outer = on_cores(&device, || (here(), on_cores(&device, here)));
        assert!(outer.0.is_some());
        assert_eq!(outer.0, outer.1, "already there");
        assert!(on_cores(&device.autodiff(), here).is_some());
    }
}
