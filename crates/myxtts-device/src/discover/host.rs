//! The host's cores and memory.

use myxtts_config::units::Megabytes;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::machine::Host;

/// Returns the processor and memory of this machine.
pub fn host() -> Host {
    let refresh = RefreshKind::nothing()
        .with_cpu(CpuRefreshKind::nothing())
        .with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(refresh);
    let name = system
        .cpus()
        .first()
        .map(|cpu| cpu.brand().trim().to_owned());
    // What this process may use, not what the machine has: containers and
    // affinity masks make the two differ.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Host {
        name: name
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| "unnamed processor".to_owned()),
        cores: u32::try_from(cores).unwrap_or(u32::MAX),
        memory: Megabytes::from_bytes(system.total_memory()),
    }
}
