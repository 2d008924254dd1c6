//! How busy the host is, and how full its memory.

use myxtts_config::units::Megabytes;
use serde::Serialize;
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::reading::Reading;

/// Reads the host repeatedly: processor use is what happened since the reading before.
#[derive(Debug)]
pub struct HostTelemetry {
    system: System,
    has_past: bool,
}

/// One reading of the host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostReadings {
    /// Share of all cores' time during which a program ran, in percent.
    pub cpu_percent: Reading<f64>,
    /// Memory used by all programs.
    pub memory_used_mb: Reading<Megabytes>,
    /// Memory of the host in total.
    pub memory_total_mb: Reading<Megabytes>,
}

impl HostTelemetry {
    /// Takes the first reading, which later ones are compared with.
    pub fn new() -> Self {
        let refresh = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing().with_cpu_usage())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        Self {
            system: System::new_with_specifics(refresh),
            has_past: false,
        }
    }

    /// Reads what the host did since the last call, and the memory in use now.
    pub fn read(&mut self) -> HostReadings {
        self.system.refresh_cpu_usage();
        let memory = MemoryRefreshKind::nothing().with_ram();
        self.system.refresh_memory_specifics(memory);
        let has_past = std::mem::replace(&mut self.has_past, true);
        let cpu_percent = match (has_past, self.system.cpus().is_empty()) {
            (true, false) => Reading::Value(f64::from(self.system.global_cpu_usage())),
            (true, true) => Reading::Unavailable("the system lists no processor".to_owned()),
            (false, _) => Reading::Unavailable("this is the first reading".to_owned()),
        };
        let (used, total) = (self.system.used_memory(), self.system.total_memory());
        let memory = |bytes: u64| match total {
            0 => Reading::Unavailable("the system does not report its memory".to_owned()),
            _ => Reading::Value(Megabytes::from_bytes(bytes)),
        };
        HostReadings {
            cpu_percent,
            memory_used_mb: memory(used),
            memory_total_mb: memory(total),
        }
    }
}

impl Default for HostTelemetry {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn the_first_look_has_no_share_and_the_second_has() {
        let mut host = HostTelemetry::new();
        let first = host.read();
        assert!(first.cpu_percent.value().is_none());
        std::thread::sleep(Duration::from_millis(250));
        let second = host.read();
        let share = *second.cpu_percent.value().unwrap();
        assert!((0.0..=100.0).contains(&share), "{share}");
        assert!(second.memory_used_mb.value() < second.memory_total_mb.value());
    }
}
