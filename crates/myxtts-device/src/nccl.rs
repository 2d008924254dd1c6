//! NVIDIA's library for collectives between GPUs.

/// Whether it can be loaded. The engine calls it without asking, and panics
/// where it is missing.
#[cfg(feature = "cuda")]
#[expect(unsafe_code, reason = "loading a library runs its initialisers")]
pub fn has_nccl() -> bool {
    // SAFETY: only looks whether the library can be loaded.
    unsafe { cudarc::nccl::sys::is_culib_present() }
}

/// Whether it can be loaded: this build has no use for it.
#[cfg(not(feature = "cuda"))]
pub fn has_nccl() -> bool {
    false
}
