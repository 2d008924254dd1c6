//! NVIDIA's library for collectives between GPUs.

/// Returns whether NCCL can be loaded. The engine calls it without asking, and
/// panics where it is missing.
#[cfg(feature = "cuda")]
#[expect(unsafe_code, reason = "loading a library runs its initialisers")]
pub fn has_nccl() -> bool {
    // SAFETY: only checks whether the library can be loaded.
    unsafe { cudarc::nccl::sys::is_culib_present() }
}

/// Returns `false`: this build does not use NCCL.
#[cfg(not(feature = "cuda"))]
pub fn has_nccl() -> bool {
    false
}
