//! Which devices exist, found without opening any.
//!
//! Driver libraries are other people's code: they panic, abort, hang and crash.
//! Each backend is therefore asked in a process of its own ([`guard`]), and what
//! happens there becomes that backend's reason for being unavailable.

mod cards;
#[cfg(feature = "cuda")]
mod cuda;
pub mod guard;
mod host;
#[cfg(feature = "rocm")]
mod rocm;
pub(crate) mod wgpu;

use serde::{Deserialize, Serialize};

use crate::machine::{Backend, BackendReport, Gpu, Machine};
use crate::software::SoftwareGpus;

use cards::CUDA_VISIBLE_DEVICES;
pub use host::host;

/// The answer of a probe of one backend.
#[derive(Debug, Serialize, Deserialize)]
pub struct ProbeAnswer {
    /// The GPUs in any order, without their ids.
    pub gpus: Vec<Gpu>,
    /// Why there are none, if there are none.
    pub unavailable: Option<String>,
}

impl ProbeAnswer {
    fn unavailable(why: impl Into<String>) -> Self {
        Self {
            gpus: vec![],
            unavailable: Some(why.into()),
        }
    }
}

impl From<Result<Vec<Gpu>, String>> for ProbeAnswer {
    fn from(result: Result<Vec<Gpu>, String>) -> Self {
        match result {
            Ok(gpus) => Self {
                gpus,
                unavailable: None,
            },
            Err(why) => Self::unavailable(why),
        }
    }
}

/// Finds every device, by asking each backend through `probe`.
pub fn discover(software: Option<SoftwareGpus>, probe: impl Fn(Backend) -> ProbeAnswer) -> Machine {
    // Read once, here: everything below is a function of its arguments.
    let visible = std::env::var(CUDA_VISIBLE_DEVICES).ok();
    let report = |backend| {
        let answer = match absent(backend) {
            Some(why) => ProbeAnswer::unavailable(why),
            None => probe(backend),
        };
        report(backend, answer, software, visible.as_deref())
    };
    Machine {
        host: host(),
        backends: Backend::GPU.into_iter().map(report).collect(),
    }
}

/// Returns why this build cannot reach a backend at all, if it cannot.
fn absent(backend: Backend) -> Option<String> {
    let (built, elsewhere) = match backend {
        Backend::Cuda => (cfg!(feature = "cuda"), false),
        Backend::Rocm => (cfg!(feature = "rocm"), false),
        Backend::Metal => (cfg!(feature = "metal"), !cfg!(target_os = "macos")),
        Backend::Vulkan => (cfg!(feature = "vulkan"), cfg!(target_os = "macos")),
        Backend::Wgpu | Backend::Cpu | Backend::Assumed => (true, false),
    };
    if !built {
        Some(format!("not built in: build with `--features {backend}`"))
    } else if elsewhere {
        Some(format!("{backend} does not exist on this operating system"))
    } else {
        None
    }
}

/// Asks a backend in this process. It may panic or crash inside a driver, so call
/// it through [`guard::Guard`].
pub fn probe(backend: Backend) -> ProbeAnswer {
    match backend {
        #[cfg(feature = "cuda")]
        Backend::Cuda => cuda::probe().into(),
        #[cfg(feature = "rocm")]
        Backend::Rocm => rocm::probe().into(),
        Backend::Metal | Backend::Vulkan | Backend::Wgpu => wgpu::probe(backend).into(),
        other => ProbeAnswer::unavailable(format!("{other} has no probe in this build")),
    }
}

/// Orders the GPUs, assigns their ids, and sets software adapters apart.
fn report(
    backend: Backend,
    answer: ProbeAnswer,
    software: Option<SoftwareGpus>,
    visible: Option<&str>,
) -> BackendReport {
    let ProbeAnswer {
        gpus,
        mut unavailable,
    } = answer;
    let (rasterisers, mut gpus): (Vec<Gpu>, Vec<Gpu>) = gpus
        .into_iter()
        .partition(|gpu| gpu.kind == crate::machine::GpuKind::Software);
    if matches!(backend, Backend::Wgpu | Backend::Vulkan | Backend::Metal) {
        gpus = cards::one_per_card(gpus);
    }
    if let (Some(software), Some(rasteriser)) = (software, rasterisers.first()) {
        match software.on(backend, rasteriser) {
            Ok(opened) => gpus = opened,
            Err(why) => unavailable = Some(why),
        }
    } else if let Some(rasteriser) = rasterisers.first().filter(|_| gpus.is_empty()) {
        unavailable = Some(format!(
            "only a software rasteriser ({}), which trains slower than the CPU",
            rasteriser.name
        ));
    }
    let (mut gpus, note) = cards::ordered(backend, gpus, visible);
    for (id, gpu) in (0..).zip(&mut gpus) {
        gpu.id = id;
    }
    if gpus.is_empty() && unavailable.is_none() {
        unavailable = Some("no device found".to_owned());
    }
    BackendReport {
        backend,
        gpus,
        unavailable,
        note,
    }
}
