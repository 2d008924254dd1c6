//! The devices that discovery found.

use std::fmt;

use myxtts_config::units::Megabytes;
use serde::{Deserialize, Serialize};

use crate::config::{BackendChoice, Precision};
use crate::reading::Reading;

/// The machine: its host and, per backend, its GPUs or why there are none.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// The cores and memory of the host.
    pub host: Host,
    /// One report per backend this build knows, in order of preference.
    pub backends: Vec<BackendReport>,
}

/// The host's processor and memory.
#[derive(Clone, Debug, Serialize)]
pub struct Host {
    /// The name of the processor.
    pub name: String,
    /// Cores that this process may use.
    pub cores: u32,
    /// The size of main memory.
    pub memory: Megabytes,
}

/// What one backend offers.
#[derive(Clone, Debug, Serialize)]
pub struct BackendReport {
    /// The backend it is about.
    pub backend: Backend,
    /// Its GPUs, in the order of their ids.
    pub gpus: Vec<Gpu>,
    /// Why there are none to use, as the backend reports it.
    pub unavailable: Option<String>,
    /// Something worth knowing about the list.
    pub note: Option<String>,
}

/// A backend of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Backend {
    /// NVIDIA cards, through the CUDA driver.
    Cuda,
    /// AMD cards, through the HIP library.
    Rocm,
    /// Apple GPUs, through Metal.
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
    /// Returns the name as flags, files and JSON spell it.
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

/// A GPU as one backend shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Gpu {
    /// The id people use: the position in its backend's list, discrete cards first.
    pub id: u32,
    /// The backend that reaches it.
    pub backend: Backend,
    /// The name of the card.
    pub name: String,
    /// The sort of GPU it is.
    pub kind: GpuKind,
    /// The size of its memory, or why that is not known.
    pub memory: Reading<Megabytes>,
    /// The driver and its version.
    pub driver: String,
    /// Other drivers that show the same card and are not used.
    #[serde(default)]
    pub other_drivers: Vec<String>,
    /// The PCI address, such as `0000:01:00.0`, where the backend reports it.
    pub pci_address: Option<String>,
    /// The precisions it computes in.
    pub precisions: Vec<Precision>,
    /// How the engine finds it when it is opened.
    pub adapter: Adapter,
}

/// The sort of GPU a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GpuKind {
    /// A card with memory of its own.
    Discrete,
    /// A GPU passed through by a hypervisor.
    Virtual,
    /// A GPU that is part of the processor.
    Integrated,
    /// A kind that the driver does not name.
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
    /// The host, as the CPU backend.
    Cpu,
    /// The n-th device of a vendor backend.
    Index(u32),
    /// The n-th adapter of its kind.
    Kind(GpuKind, u32),
    /// The n-th software GPU.
    Software(u32),
    /// Nothing to open, because the GPU is imaginary.
    None,
}

impl Machine {
    /// Makes a machine of `host` with `count` imaginary GPUs of one size and
    /// nothing else.
    #[must_use]
    pub fn assume(host: Host, count: u32, memory: Megabytes) -> Self {
        Self::assume_each(host, &vec![memory; count as usize])
    }

    /// Makes a machine of `host` with an imaginary GPU of each of these sizes and
    /// nothing else.
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

    /// Returns the GPUs a training may use: those of the chosen backend, or of
    /// the best one that has any.
    ///
    /// They are of one backend, because a card seen through two backends is still
    /// one card.
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
