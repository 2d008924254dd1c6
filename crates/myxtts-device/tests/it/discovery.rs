//! Discovery survives every driver.

use std::time::{Duration, Instant};

use myxtts_config::units::Megabytes;
use myxtts_device::discover::guard::Guard;
use myxtts_device::discover::{ProbeAnswer, discover, host};
use myxtts_device::{
    Adapter, Backend, BackendChoice, Gpu, GpuKind, Precision, Reading, SoftwareGpus,
};

/// A guard over a driver that does what the shell script says.
///
/// The script is an argument of the shell and not a program of its own: a file
/// just written cannot be executed while another test's fork still holds it.
fn driver(script: &str) -> Guard {
    Guard::new("/bin/sh".into(), &["-c", script, "probe", "probe-backend"])
}

fn answer(script: &str) -> ProbeAnswer {
    driver(script).probe(Backend::Cuda)
}

fn reason(script: &str) -> String {
    let answer = answer(script);
    assert!(answer.gpus.is_empty());
    answer.unavailable.unwrap()
}

fn gpu(name: &str, kind: GpuKind) -> Gpu {
    Gpu {
        id: 99,
        backend: Backend::Wgpu,
        name: name.into(),
        kind,
        memory: Reading::Value(Megabytes(8192)),
        driver: "driver 1.0".into(),
        other_drivers: vec![],
        pci_address: None,
        precisions: vec![Precision::F32],
        adapter: Adapter::Kind(kind, 0),
    }
}

#[test]
fn a_good_driver_is_believed() {
    let good = ProbeAnswer {
        gpus: vec![gpu("card", GpuKind::Discrete)],
        unavailable: None,
    };
    let json = serde_json::to_string(&good).unwrap();
    let answer = answer(&format!(
        "[ \"$1 $2\" = 'probe-backend cuda' ] && echo '{json}'"
    ));
    assert_eq!(answer.gpus[0].name, "card");
    assert_eq!(answer.gpus[0].memory, Reading::Value(Megabytes(8192)));
    assert_eq!(answer.unavailable, None);
}

#[test]
fn what_a_bad_driver_does_becomes_its_reason() {
    let panic = "echo \"thread 'main' panicked at src/lib.rs:1:1:\" >&2; echo 'no libcuda here' >&2; \
                 echo 'note: run with RUST_BACKTRACE' >&2; exit 101";
    insta::assert_snapshot!(reason(panic), @"the driver failed (exit code 101): no libcuda here");
    insta::assert_snapshot!(reason("kill -SEGV $$"), @"the driver crashed (signal 11)");
    insta::assert_snapshot!(reason("echo 'bad ICD file' >&2; exit 3"), @"the driver failed (exit code 3): bad ICD file");
    insta::assert_snapshot!(reason("echo hello"), @"the probe's answer makes no sense: expected value at line 1 column 1");
    insta::assert_snapshot!(reason("exit 0"), @"the probe's answer makes no sense: EOF while parsing a value at line 1 column 0");
    let missing = Guard::new("/nonexistent/probe".into(), &[]).probe(Backend::Cuda);
    insta::assert_snapshot!(missing.unavailable.unwrap(), @"the probe could not be started: No such file or directory (os error 2)");
}

#[test]
fn a_driver_that_hangs_is_left() {
    let started = Instant::now();
    let guard = driver("exec sleep 600").with_patience(Duration::from_millis(200));
    let answer = guard.probe(Backend::Vulkan);
    assert!(started.elapsed() < Duration::from_secs(60));
    insta::assert_snapshot!(answer.unavailable.unwrap(), @"the driver did not answer within 200ms");
}

#[test]
fn a_driver_that_talks_too_much_does_not_block() {
    let flood = "i=0; while [ $i -lt 5000 ]; do echo 'a line of about forty characters or so' >&2; \
                 i=$((i+1)); done; exit 1";
    assert!(reason(flood).starts_with("the driver failed (exit code 1): a line"));
}

fn found(gpus: Vec<Gpu>, software: Option<SoftwareGpus>) -> myxtts_device::Machine {
    discover(software, move |backend| match backend {
        Backend::Wgpu => ProbeAnswer {
            gpus: gpus.clone(),
            unavailable: None,
        },
        _ => ProbeAnswer {
            gpus: vec![],
            unavailable: Some("none".into()),
        },
    })
}

#[test]
fn discrete_cards_come_first_and_ids_follow() {
    let machine = found(
        vec![
            gpu("laptop graphics", GpuKind::Integrated),
            gpu("card b", GpuKind::Discrete),
            gpu("card a", GpuKind::Discrete),
        ],
        None,
    );
    let listed: Vec<(u32, &str)> = machine
        .gpus(BackendChoice::Auto)
        .iter()
        .map(|gpu| (gpu.id, gpu.name.as_str()))
        .collect();
    assert_eq!(
        listed,
        [(0, "card b"), (1, "card a"), (2, "laptop graphics")]
    );
}

#[test]
fn a_card_behind_two_drivers_is_listed_once() {
    let through = |driver: &str, address: &str, index| Gpu {
        driver: driver.into(),
        pci_address: Some(address.into()),
        adapter: Adapter::Kind(GpuKind::Discrete, index),
        ..gpu("card", GpuKind::Discrete)
    };
    let machine = found(
        vec![
            through("NVK Mesa 25.0.1", "0000:01:00.0", 0),
            through("NVIDIA 570.124.06", "0000:01:00.0", 1),
            through("NVIDIA 570.124.06", "0000:41:00.0", 2),
        ],
        None,
    );
    let listed: Vec<(u32, &str, usize, Adapter)> = machine
        .gpus(BackendChoice::Auto)
        .iter()
        .map(|gpu| {
            (
                gpu.id,
                gpu.driver.as_str(),
                gpu.other_drivers.len(),
                gpu.adapter,
            )
        })
        .collect();
    let kind = |index| Adapter::Kind(GpuKind::Discrete, index);
    assert_eq!(
        listed,
        [
            (0, "NVIDIA 570.124.06", 1, kind(1)),
            (1, "NVIDIA 570.124.06", 0, kind(2)),
        ]
    );
}

#[test]
fn a_software_rasteriser_is_never_used_by_accident() {
    let rasteriser = || gpu("llvmpipe", GpuKind::Software);
    let machine = found(vec![rasteriser()], None);
    assert!(machine.gpus(BackendChoice::Auto).is_empty());
    let wgpu = machine
        .backends
        .iter()
        .find(|report| report.backend == Backend::Wgpu)
        .unwrap();
    insta::assert_snapshot!(wgpu.unavailable.as_ref().unwrap(), @"only a software rasteriser (llvmpipe), which trains slower than the CPU");

    let beside_a_card = found(vec![rasteriser(), gpu("card", GpuKind::Discrete)], None);
    let names: Vec<&str> = beside_a_card
        .gpus(BackendChoice::Auto)
        .iter()
        .map(|gpu| gpu.name.as_str())
        .collect();
    assert_eq!(names, ["card"]);
}

#[cfg(not(feature = "vulkan"))]
#[test]
fn software_gpus_are_offered_when_asked_for() {
    let two = SoftwareGpus::from_value(Some("2")).unwrap();
    let machine = found(vec![gpu("llvmpipe", GpuKind::Software)], two);
    let listed: Vec<(u32, &str, Adapter)> = machine
        .gpus(BackendChoice::Auto)
        .iter()
        .map(|gpu| (gpu.id, gpu.name.as_str(), gpu.adapter))
        .collect();
    assert_eq!(
        listed,
        [
            (0, "llvmpipe as software GPU 0", Adapter::Software(0)),
            (1, "llvmpipe as software GPU 1", Adapter::Software(1)),
        ]
    );
}

#[test]
fn the_variable_takes_a_small_count() {
    assert_eq!(SoftwareGpus::from_value(None), Ok(None));
    for bad in ["", "0", "-1", "two", "17"] {
        assert!(SoftwareGpus::from_value(Some(bad)).is_err(), "{bad}");
    }
    let error = SoftwareGpus::from_value(Some("many")).unwrap_err();
    insta::assert_snapshot!(error, @r"
    MYXTTS_SOFTWARE_GPUS takes a whole number from 1 to 16, but this is `many`
      fix:   unset it, unless you are testing without a GPU
    ");
}

#[test]
fn backends_that_are_not_built_in_say_so() {
    let machine = found(vec![], None);
    let reason = |backend| {
        let report = machine
            .backends
            .iter()
            .find(|report| report.backend == backend)
            .unwrap();
        report.unavailable.clone().unwrap()
    };
    #[cfg(not(feature = "cuda"))]
    assert_eq!(
        reason(Backend::Cuda),
        "not built in: build with `--features cuda`"
    );
    assert_eq!(reason(Backend::Wgpu), "no device found");
    assert_eq!(machine.backends.len(), Backend::GPU.len());
}

#[test]
fn the_host_has_cores_and_memory() {
    let host = host();
    assert!(host.cores >= 1);
    assert!(host.memory > Megabytes(100));
    assert!(!host.name.is_empty());
}
