//! What discovery found.

use std::fmt;

use myxtts_config::units::Megabytes;
use serde::{Deserialize, Serialize};

use crate::config::{BackendChoice, Precision};
use crate::reading::Reading;

/// The machine: its host and, per backend, its GPUs or why there are none.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Cores and memory.
    pub host: Host,
    /// One report per backend this build knows, in order of preference.
    pub backends: Vec<BackendReport>,
}

/// The host.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The processor's name.
    pub name: String,
    /// Cores this process may use.
    pub cores: u32,
    /// Main memory.
    pub memory: Megabytes,
}

/// What one backend offers.
#[derive(Clone, Debug, Serialize)]
pub struct BackendReport {
    /// Which backend.
    pub backend: Backend,
    /// Its GPUs, by id.
    pub gpus: Vec<Gpu>,
    /// Why there are none to use, in the backend's own words.
    pub unavailable: Option<String>,
    /// Something worth knowing about the list.
    pub note: Option<String>,
}

/// A backend of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// NVIDIA.
    Cuda,
    /// AMD.
    Rocm,
    /// Apple.
    Metal,
    /// Any card with a Vulkan driver, kernels compiled to SPIR-V.
    Vulkan,
    /// Any card with a Vulkan or Metal driver, kernels compiled to WGSL.
    Wgpu,
    /// The host's own cores.
    Cpu,
    /// Imaginary GPUs, for planning.
    Assumed,
}

impl Backend {
    /// The name as flags, files and JSON spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cuda => "cuda",
            Self::Rocm => "rocm",
            Self::Metal => "metal",
            Self::Vulkan => "vulkan",
            Self::Wgpu => "wgpu",
            Self::Cpu => "cpu",
            Self::Assumed => "assumed",
        }
    }

    /// The GPU backends, best first.
    pub const GPU: [Self; 5] = [
        Self::Cuda,
        Self::Rocm,
        Self::Metal,
        Self::Vulkan,
        Self::Wgpu,
    ];
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A GPU.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gpu {
    /// The id people use: the position in its backend's list, discrete cards first.
    pub id: u32,
    /// The backend that reaches it.
    pub backend: Backend,
    /// The card's name.
    pub name: String,
    /// What sort of GPU.
    pub kind: GpuKind,
    /// Its memory.
    pub memory: Reading<Megabytes>,
    /// Driver and version.
    pub driver: String,
    /// Other drivers that show the same card and are not used.
    #[serde(default)]
    pub other_drivers: Vec<String>,
    /// `0000:01:00.0`, where the backend tells.
    pub pci_address: Option<String>,
    /// Precisions it computes in.
    pub precisions: Vec<Precision>,
    /// How the engine finds it again.
    pub adapter: Adapter,
}

/// What sort of GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuKind {
    /// A card of its own.
    Discrete,
    /// Passed through by a hypervisor.
    Virtual,
    /// Part of the processor.
    Integrated,
    /// Something the driver does not name.
    Other,
    /// A program that pretends to be a GPU.
    Software,
}

impl fmt::Display for GpuKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Discrete => "discrete",
            Self::Virtual => "virtual",
            Self::Integrated => "integrated",
            Self::Other => "other",
            Self::Software => "software",
        })
    }
}

/// How the engine finds a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Adapter {
    /// The host.
    Cpu,
    /// The n-th device of a vendor backend.
    Index(u32),
    /// The n-th adapter of its kind.
    Kind(GpuKind, u32),
    /// The n-th software GPU.
    Software(u32),
    /// Nothing to open: an imaginary GPU.
    None,
}

impl Machine {
    /// The same host with `count` imaginary GPUs of one size and nothing else.
    #[must_use]
    pub fn assume(host: Host, count: u32, memory: Megabytes) -> Self {
        Self::assume_each(host, &vec![memory; count as usize])
    }

    /// The same host with an imaginary GPU of each of these sizes and nothing else.
    #[must_use]
    pub fn assume_each(host: Host, memories: &[Megabytes]) -> Self {
        let gpu = |(id, memory): (u32, &Megabytes)| Gpu {
            id,
            backend: Backend::Assumed,
            name: format!("assumed GPU {id}"),
            kind: GpuKind::Discrete,
            memory: Reading::Value(*memory),
            driver: "none".to_owned(),
            other_drivers: vec![],
            pci_address: None,
            precisions: vec![Precision::F32, Precision::Bf16, Precision::F16],
            adapter: Adapter::None,
        };
        let report = BackendReport {
            backend: Backend::Assumed,
            gpus: (0..).zip(memories).map(gpu).collect(),
            unavailable: None,
            note: None,
        };
        Self {
            host,
            backends: vec![report],
        }
    }

    /// The GPUs a training may use: those of the chosen backend, or of the best one that has any.
    ///
    /// One backend, because a card seen through two backends is still one card.
    pub fn gpus(&self, choice: BackendChoice) -> &[Gpu] {
        let wanted = |report: &&BackendReport| {
            report.backend == Backend::Assumed
                || match choice {
                    BackendChoice::Auto => true,
                    BackendChoice::Cpu => false,
                    BackendChoice::Wgpu => report.backend == Backend::Wgpu,
                    BackendChoice::Vulkan => report.backend == Backend::Vulkan,
                    BackendChoice::Metal => report.backend == Backend::Metal,
                    BackendChoice::Cuda => report.backend == Backend::Cuda,
                    BackendChoice::Rocm => report.backend == Backend::Rocm,
                }
        };
        if choice == BackendChoice::Cpu {
            return &[];
        }
        self.backends
            .iter()
            .filter(wanted)
            .find(|report| !report.gpus.is_empty())
            .map_or(&[], |report| report.gpus.as_slice())
    }
}
