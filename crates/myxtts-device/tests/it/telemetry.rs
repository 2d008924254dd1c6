//! Readings are values or reasons, never zeros.

use std::fs;
use std::path::Path;

use myxtts_config::units::Megabytes;
use myxtts_device::telemetry::{PcieLink, SysfsTelemetry, SystemTelemetry, Telemetry};
use myxtts_device::{Adapter, Backend, Gpu, GpuKind, Precision, Reading};

fn gpu(pci_address: Option<&str>) -> Gpu {
    Gpu {
        id: 0,
        backend: Backend::Wgpu,
        name: "card".into(),
        kind: GpuKind::Discrete,
        memory: Reading::Value(Megabytes(8192)),
        driver: "driver 1.0".into(),
        other_drivers: vec![],
        pci_address: pci_address.map(str::to_owned),
        precisions: vec![Precision::F32],
        adapter: Adapter::Kind(GpuKind::Discrete, 0),
    }
}

/// The kernel's files for a card, as amdgpu exports them.
fn card(root: &Path, address: &str) {
    let folder = root.join("bus/pci/devices").join(address);
    let sensors = folder.join("hwmon/hwmon3");
    fs::create_dir_all(&sensors).unwrap();
    for (file, text) in [
        ("gpu_busy_percent", "37\n"),
        ("mem_info_vram_used", "1073741824\n"),
        ("current_link_speed", "8.0 GT/s PCIe\n"),
        ("max_link_speed", "16.0 GT/s PCIe\n"),
        ("current_link_width", "8\n"),
        ("max_link_width", "16\n"),
        ("pp_dpm_sclk", "0: 500Mhz\n1: 1500Mhz *\n2: 2100Mhz\n"),
    ] {
        fs::write(folder.join(file), text).unwrap();
    }
    fs::write(sensors.join("temp1_input"), "61500\n").unwrap();
    fs::write(sensors.join("power1_average"), "142000000\n").unwrap();
    fs::write(sensors.join("power1_cap"), "250000000\n").unwrap();
    fs::write(sensors.join("freq1_input"), "1495000000\n").unwrap();
}

#[test]
fn the_kernels_files_are_read_in_our_units() {
    let root = tempfile::tempdir().unwrap();
    card(root.path(), "0000:0a:00.0");
    let now = SysfsTelemetry::at(root.path()).read(&gpu(Some("0000:0A:00.0")));
    assert_eq!(now.busy_percent, Reading::Value(37.0));
    assert_eq!(now.memory_used_mb, Reading::Value(Megabytes(1024)));
    assert_eq!(now.temperature_celsius, Reading::Value(61.5));
    assert_eq!(now.power_watts, Reading::Value(142.0));
    assert_eq!(now.power_limit_watts, Reading::Value(250.0));
    assert_eq!(now.clock_mhz, Reading::Value(1495.0));
    assert_eq!(now.clock_max_mhz, Reading::Value(2100.0));
    let link = PcieLink {
        generation: 3,
        width: 8,
        max_generation: 4,
        max_width: 16,
    };
    assert_eq!(now.pcie, Reading::Value(link));
}

#[test]
fn what_is_missing_says_why() {
    let root = tempfile::tempdir().unwrap();
    card(root.path(), "0000:0a:00.0");
    let folder = root.path().join("bus/pci/devices/0000:0a:00.0");
    fs::remove_file(folder.join("gpu_busy_percent")).unwrap();
    fs::write(folder.join("mem_info_vram_used"), "lots").unwrap();
    fs::write(folder.join("current_link_speed"), "Unknown").unwrap();
    fs::write(folder.join("pp_dpm_sclk"), "none\n").unwrap();
    fs::remove_dir_all(folder.join("hwmon")).unwrap();
    let telemetry = SysfsTelemetry::at(root.path());
    let now = telemetry.read(&gpu(Some("0000:0a:00.0")));
    insta::assert_snapshot!(now.busy_percent, @"unavailable (gpu_busy_percent: No such file or directory (os error 2))");
    insta::assert_snapshot!(now.memory_used_mb, @"unavailable (`lots` is not a number)");
    insta::assert_snapshot!(now.temperature_celsius, @"unavailable (the driver exports no sensors)");
    insta::assert_snapshot!(now.clock_max_mhz, @"unavailable (pp_dpm_sclk lists no clock)");
    insta::assert_snapshot!(format!("{:?}", now.pcie), @r#"Unavailable("the kernel reports no PCI Express link")"#);
    let elsewhere = telemetry.read(&gpu(Some("0000:99:00.0")));
    insta::assert_snapshot!(elsewhere.busy_percent, @"unavailable (the kernel has no files for this card)");
    let nowhere = telemetry.read(&gpu(None));
    insta::assert_snapshot!(nowhere.power_watts, @"unavailable (no card with a PCI address behind this device)");
}

#[test]
fn a_gap_is_filled_by_the_other_source_and_a_value_is_kept() {
    let value = |v: f64| Reading::Value(v);
    let gap = |why: &str| Reading::<f64>::Unavailable(why.into());
    assert_eq!(value(1.0).or(value(2.0)), value(1.0));
    assert_eq!(gap("a").or(value(2.0)), value(2.0));
    assert_eq!(
        gap("a").or(gap("b")),
        gap("a"),
        "the better source's reason is kept"
    );
}

#[test]
fn the_real_machine_answers_without_panicking() {
    let now = SystemTelemetry::new().read(&gpu(None));
    assert!(now.busy_percent.value().is_none(), "no address, no reading");
}
