//! Readings from the kernel's own files: vendor-neutral, and all that AMD and
//! Intel need.

use std::fs;
use std::path::{Path, PathBuf};

use myxtts_config::units::Megabytes;

use super::{PcieLink, Readings, Telemetry};
use crate::machine::Gpu;
use crate::reading::Reading;

/// A source of readings from files below a root, which is `/sys` on a real machine.
#[derive(Clone, Debug)]
pub struct SysfsTelemetry {
    root: PathBuf,
}

impl SysfsTelemetry {
    /// Makes a source of this machine's files.
    pub(crate) fn system() -> Self {
        Self::at(Path::new("/sys"))
    }

    /// Makes a source of files below another root.
    pub fn at(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
        }
    }
}

impl Telemetry for SysfsTelemetry {
    fn read(&self, gpu: &Gpu) -> Readings {
        let Some(address) = &gpu.pci_address else {
            return Readings::unavailable("no card with a PCI address behind this device");
        };
        let folder = self
            .root
            .join("bus/pci/devices")
            .join(address.to_lowercase());
        if !folder.is_dir() {
            return Readings::unavailable("the kernel has no files for this card");
        }
        let sensors = sensor_folder(&folder);
        let sensor = |file: &str, per_unit: f64| match &sensors {
            Some(folder) => number(&folder.join(file)).map(|value| value / per_unit),
            None => Reading::Unavailable("the driver exports no sensors".to_owned()),
        };
        let power = |file| sensor(file, 1e6);
        Readings {
            busy_percent: number(&folder.join("gpu_busy_percent")),
            memory_used_mb: whole(&folder.join("mem_info_vram_used")).map(Megabytes::from_bytes),
            temperature_celsius: sensor("temp1_input", 1e3),
            power_watts: power("power1_average").or(power("power1_input")),
            power_limit_watts: power("power1_cap"),
            clock_mhz: sensor("freq1_input", 1e6),
            clock_max_mhz: highest_clock(&folder.join("pp_dpm_sclk")),
            throttling: Reading::Unavailable("the kernel exports no throttle reasons".to_owned()),
            pcie: link(&folder),
        }
    }
}

/// Returns the folder `hwmon/hwmonN` of a card.
fn sensor_folder(card: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(card.join("hwmon")).ok()?;
    entries
        .filter_map(Result::ok)
        .map(|entry| entry.path())
        .min()
}

fn text(path: &Path) -> Reading<String> {
    let name = path
        .file_name()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    match fs::read_to_string(path) {
        Ok(text) => Reading::Value(text.trim().to_owned()),
        Err(why) => Reading::Unavailable(format!("{name}: {why}")),
    }
}

fn parsed<T: std::str::FromStr>(path: &Path) -> Reading<T> {
    match text(path) {
        Reading::Value(text) => match text.parse() {
            Ok(number) => Reading::Value(number),
            Err(_) => Reading::Unavailable(format!("`{text}` is not a number")),
        },
        Reading::Unavailable(why) => Reading::Unavailable(why),
    }
}

fn number(path: &Path) -> Reading<f64> {
    parsed(path)
}

fn whole(path: &Path) -> Reading<u64> {
    parsed(path)
}

fn link(card: &Path) -> Reading<PcieLink> {
    let speed = |file: &str| {
        text(&card.join(file))
            .value()
            .and_then(|speed| generation(speed))
    };
    let width = |file: &str| {
        parsed::<u32>(&card.join(file))
            .value()
            .copied()
            .filter(|w| *w > 0)
    };
    let read = || {
        Some(PcieLink {
            generation: speed("current_link_speed")?,
            width: width("current_link_width")?,
            max_generation: speed("max_link_speed")?,
            max_width: width("max_link_width")?,
        })
    };
    match read() {
        Some(link) => Reading::Value(link),
        None => Reading::Unavailable("the kernel reports no PCI Express link".to_owned()),
    }
}

/// Returns the highest of the clocks that amdgpu lists as `1: 2100Mhz *`, where a
/// star marks the one in use.
fn highest_clock(path: &Path) -> Reading<f64> {
    let list = match text(path) {
        Reading::Value(list) => list,
        Reading::Unavailable(why) => return Reading::Unavailable(why),
    };
    let clocks = list.lines().filter_map(|line| {
        let clock = line.split_whitespace().nth(1)?.to_lowercase();
        clock.strip_suffix("mhz")?.parse::<f64>().ok()
    });
    match clocks.max_by(f64::total_cmp) {
        Some(highest) => Reading::Value(highest),
        None => Reading::Unavailable("pp_dpm_sclk lists no clock".to_owned()),
    }
}

/// Returns the generation of a link speed such as `16.0 GT/s PCIe`.
fn generation(speed: &str) -> Option<u32> {
    match speed.split_whitespace().next()? {
        "2.5" => Some(1),
        "5.0" | "5" => Some(2),
        "8.0" | "8" => Some(3),
        "16.0" | "16" => Some(4),
        "32.0" | "32" => Some(5),
        "64.0" | "64" => Some(6),
        _ => None,
    }
}
