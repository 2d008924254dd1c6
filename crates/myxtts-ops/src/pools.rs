//! Chooses the threads on which a pass over the model runs.

use std::sync::OnceLock;

use burn::tensor::Device;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::host;

/// Runs `work` on one of the threads that the CPU backend computes with, if `device` is the CPU;
/// otherwise runs it where it is.
///
/// An operation that is called from another thread wakes those threads and sleeps until they are
/// done, hundreds of times in a step; on one of them it begins at once and the others help.
/// `work` must only compute: something it waited for might need the thread it has taken.
pub fn on_compute_pool<R: Send>(device: &Device, work: impl FnOnce() -> R + Send) -> R {
    if is_cpu(device) {
        rayon::scope(|_| work())
    } else {
        work()
    }
}

/// Runs `work` on other threads than those that the CPU backend computes with, if `device` is the
/// CPU; otherwise runs it where it is.
///
/// A pass occupies those threads for a whole step, and work submitted from outside waits until it
/// ends. What is made ahead of use must not wait: on threads of its own, the operating system
/// gives it its share of the cores.
pub fn on_side_pool<R: Send>(device: &Device, work: impl FnOnce() -> R + Send) -> R {
    static BESIDE: OnceLock<Option<ThreadPool>> = OnceLock::new();
    // If the threads cannot be started, the result is the same, only later.
    let pool = || ThreadPoolBuilder::new().build().ok();
    match BESIDE.get_or_init(pool) {
        Some(pool) if is_cpu(device) => pool.install(work),
        _ => work(),
    }
}

/// Whether `device` is the CPU backend, whose operations share this process's cores.
pub fn is_cpu(device: &Device) -> bool {
    host::is_host(device)
}

/// Applies `work` to each item, all at once on the threads that the CPU backend computes with,
/// and returns the results in the order of the items.
pub fn each_on_compute_pool<T: Send, R: Send>(
    items: Vec<T>,
    work: impl Fn(T) -> R + Send + Sync,
) -> Vec<R> {
    items.into_par_iter().map(work).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_on_the_cpu_is_where_its_operations_are() {
        let device = Device::flex();
        let here = || rayon::current_thread_index();
        assert_eq!(here(), None);
        let outer = on_compute_pool(&device, || (here(), on_compute_pool(&device, here)));
        assert!(outer.0.is_some());
        assert_eq!(outer.0, outer.1, "already there");
        assert!(on_compute_pool(&device.clone().autodiff(), here).is_some());
        let thread = || std::thread::current().id();
        let within = on_compute_pool(&device, || (thread(), on_side_pool(&device, thread)));
        assert_ne!(within.0, within.1, "beside them");
        let cores = rayon::current_num_threads();
        assert_eq!(on_side_pool(&device, rayon::current_num_threads), cores);
    }
}
