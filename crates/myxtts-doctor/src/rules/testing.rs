//! A healthy training, and one for each fault. The faults change what the
//! fault itself changes, with all that follows from it.

use std::collections::BTreeMap;

use super::Look;
use crate::finding::Finding;
use crate::lang::Lang;
use crate::signal::Signal;
use crate::signals::{
    BackendFound, BucketChoice, CacheKind, DeviceRole, DeviceSignals, Estimate, GpuFound, Memory,
    Oscillation, Pauses, PcieLink, Precision, Recompiles, Replica, Settings, Signals, StageSignals,
    StepSignals, Strategy, Throttled, TrainStage,
};
use crate::units::{Megabytes, MegabytesPerSecond, Seconds, Share};

type Rule = fn(&Signals) -> Look;

/// The finding; its texts have every fact they name, in both languages.
#[track_caller]
pub(crate) fn fires(rule: Rule, signals: &Signals) -> Finding {
    let finding = rule(signals).unwrap().expect("the rule fires");
    for lang in [Lang::En, Lang::Fa] {
        for text in [finding.cause_in(lang), finding.fix_in(lang)] {
            assert!(!text.contains('{'), "a fact is missing: {text}");
            assert!(!text.is_empty());
        }
    }
    assert_eq!(finding.cause, finding.cause_in(Lang::En));
    assert_ne!(finding.cause, finding.cause_in(Lang::Fa));
    finding
}

#[track_caller]
pub(crate) fn quiet(rule: Rule, signals: &Signals) {
    assert_eq!(rule(signals).unwrap(), None);
}

#[track_caller]
pub(crate) fn silent(rule: Rule, signals: &Signals, why: &str) {
    assert_eq!(rule(signals).unwrap_err().0, why);
}

/// Sets a key of the configuration.
pub(crate) fn set(signals: &mut Signals, key: &str, value: &str) {
    if let Signal::Known(keys) = &mut signals.settings.keys {
        keys.insert(key.to_owned(), value.to_owned());
    }
}

fn stage(threads: u32, busy: f64) -> Signal<StageSignals> {
    Signal::Known(StageSignals {
        threads,
        busy: Seconds(busy),
        wait_in: Seconds(0.0),
        wait_out: Seconds(0.0),
    })
}

/// One RTX card, 100 ms a step, data ready.
pub(crate) fn healthy() -> Signals {
    let mut signals = Signals {
        settings: settings(),
        steps: steps(),
        devices: vec![device(0, "GPU A")],
        ..Signals::default()
    };
    signals.machine.cores = 16.into();
    signals.machine.cpu_busy = Share(0.3).into();
    signals.machine.backends = Signal::Known(vec![BackendFound {
        name: "cuda".to_owned(),
        gpus: vec![GpuFound {
            id: 0,
            name: "GPU A".to_owned(),
            memory: Megabytes(24_000).into(),
        }],
        unavailable: None,
    }]);
    let pipeline = &mut signals.pipeline;
    pipeline.host = stage(4, 0.12);
    pipeline.read = Seconds(0.01).into();
    pipeline.decode = Seconds(0.03).into();
    pipeline.device = stage(1, 0.02);
    pipeline.upload = Seconds(0.004).into();
    pipeline.ready = Share(0.99).into();
    signals.storage.cold = MegabytesPerSecond(500.0).into();
    signals.storage.warm = MegabytesPerSecond(3000.0).into();
    signals.storage.needed = MegabytesPerSecond(40.0).into();
    signals.dataset.clips = 10_000.into();
    signals.dataset.quality = Vec::new().into();
    let choice = |buckets, padding| BucketChoice {
        buckets,
        padding: Share(padding),
        edges: Vec::new(),
    };
    signals.dataset.buckets = Signal::Known(vec![choice(1, 0.5), choice(8, 0.1), choice(16, 0.06)]);
    signals
}

/// What a healthy training was asked to do.
fn settings() -> Settings {
    let keys = [
        ("data.num_workers", "4"),
        ("data.pipeline_buffer_size", "50"),
        ("data.prefetch_to_gpu", "true"),
        ("data.prefetch_buffer_size", "16"),
        ("data.optimize_cpu_gpu_overlap", "true"),
        ("data.buckets", "8"),
        ("data.cache", "disk"),
        ("data.batch_size", "32"),
        ("training.backend", "auto"),
        ("training.validate_every", "500"),
        ("training.checkpoint_every", "500"),
        ("training.sample_every", "5000"),
    ];
    let keys: BTreeMap<String, String> = keys
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect();
    Settings {
        keys: keys.into(),
        stage: TrainStage::Gpt.into(),
        strategy: Strategy::OneDevice.into(),
        workers: 4.into(),
        batch_size: 32.into(),
        accumulation: 1.into(),
        device_ring: 16.into(),
        precision: Precision::Bf16.into(),
        static_shapes: true.into(),
        fusion: Signal::Known(Some(true)),
        cache: CacheKind::Disk.into(),
        buckets: 8.into(),
    }
}

/// Its steps: the model works, and hardly waits for anything.
fn steps() -> StepSignals {
    StepSignals {
        measured: 500,
        remaining: 10_000.into(),
        step: Seconds(0.1).into(),
        data_wait: Seconds(0.0005).into(),
        read_back: Seconds(0.06).into(),
        syncs: 1.0.into(),
        collective: Seconds(0.0).into(),
        dispatch: Seconds(0.04).into(),
        core_wait: Seconds(0.0002).into(),
        padding: Share(0.08).into(),
        audio: Seconds(120.0).into(),
        oscillation: Signal::Known(Oscillation {
            variation: 0.06,
            period: None,
            excess: Seconds(0.0005),
        }),
        recompiles: Signal::Known(Recompiles {
            kernels: 0,
            steps: 0,
            extra: None,
        }),
        pauses: Signal::Known(Pauses {
            checkpoint: Seconds(0.0005),
            validation: Seconds(0.0005),
            samples: Seconds(0.0),
        }),
        replicas: Vec::new().into(),
        ..StepSignals::default()
    }
}

fn device(logical: u32, name: &str) -> DeviceSignals {
    DeviceSignals {
        logical,
        name: name.to_owned(),
        backend: "cuda".to_owned(),
        role: DeviceRole::Model,
        busy: Share(0.96).into(),
        budget: Megabytes(24_000).into(),
        memory: Signal::Known(Memory {
            peak: Megabytes(20_000),
            budget: Megabytes(24_000),
            baseline: Some(Megabytes(19_900)),
            latest: Some(Megabytes(20_000)),
        }),
        estimate: Signal::Known(Estimate {
            fixed: Megabytes(2_000),
            growing: Megabytes(17_000),
        }),
        throttled: Signal::Known(Throttled {
            share: Share(0.0),
            reasons: Vec::new(),
        }),
        clock: Signal::unavailable("not needed"),
        pcie: Signal::Known(PcieLink {
            generation: 4,
            width: 16,
            max_generation: 4,
            max_width: 16,
        }),
        precisions: vec![Precision::F32, Precision::Bf16, Precision::F16].into(),
        peak_flops: Signal::unavailable("not needed"),
    }
}

/// The model still needs 0.1 s a step and now gets a batch every `pace`.
fn waiting(signals: &mut Signals, pace: f64) {
    signals.steps.step = Seconds(pace).into();
    signals.steps.data_wait = Seconds(pace - 0.1).into();
    signals.devices[0].busy = Share(0.1 / pace).into();
    signals.pipeline.ready = Share(0.05).into();
    // Waits come in bursts.
    signals.steps.oscillation = Signal::Known(Oscillation {
        variation: 0.45,
        period: None,
        excess: Seconds(0.1 * pace),
    });
}

/// Reading takes 3.4 s a step on 4 threads; nothing else changes.
pub(crate) fn slow_disk() -> Signals {
    let mut signals = healthy();
    signals.pipeline.host = stage(4, 3.52);
    signals.pipeline.read = Seconds(3.41).into();
    signals.storage = crate::signals::StorageSignals::default();
    waiting(&mut signals, 0.88);
    signals
}

/// Decoding takes 3.4 s a step on 4 threads; nothing else changes.
pub(crate) fn slow_decode() -> Signals {
    let mut signals = healthy();
    signals.pipeline.host = stage(4, 3.52);
    signals.pipeline.decode = Seconds(3.43).into();
    waiting(&mut signals, 0.88);
    signals
}

/// An upload takes 0.3 s in place of 4 ms.
pub(crate) fn slow_upload() -> Signals {
    let mut signals = healthy();
    signals.pipeline.device = stage(1, 0.3);
    signals.pipeline.upload = Seconds(0.284).into();
    waiting(&mut signals, 0.3);
    signals
}

/// Making codes takes 0.4 s a step.
pub(crate) fn long_dvae() -> Signals {
    let mut signals = healthy();
    signals.pipeline.device = stage(1, 0.4);
    waiting(&mut signals, 0.4);
    signals
}

/// One bucket for all lengths.
pub(crate) fn padded() -> Signals {
    let mut signals = healthy();
    signals.settings.buckets = 1.into();
    set(&mut signals, "data.buckets", "1");
    signals.steps.padding = Share(0.5).into();
    signals
}

/// Every step has a shape of its own, and compiles kernels for 2 s.
pub(crate) fn changing_shapes() -> Signals {
    let mut signals = healthy();
    signals.settings.static_shapes = false.into();
    signals.steps.step = Seconds(2.1).into();
    signals.steps.dispatch = Seconds(2.05).into();
    signals.devices[0].busy = Share(0.05).into();
    signals.steps.recompiles = Signal::Known(Recompiles {
        kernels: 4000,
        steps: 500,
        extra: None,
    });
    signals.steps.oscillation = Signal::Known(Oscillation {
        variation: 0.6,
        period: None,
        excess: Seconds(0.3),
    });
    signals
}

/// Five read-backs a step, and the device rests between them.
pub(crate) fn many_syncs() -> Signals {
    let mut signals = healthy();
    signals.steps.syncs = 5.0.into();
    signals.devices[0].busy = Share(0.6).into();
    signals
}

/// A validation of 1 s every 20 steps.
pub(crate) fn evaluation_pauses() -> Signals {
    let mut signals = healthy();
    set(&mut signals, "training.validate_every", "20");
    signals.steps.pauses = Signal::Known(Pauses {
        checkpoint: Seconds(0.0005),
        validation: Seconds(0.05),
        samples: Seconds(0.0005),
    });
    // The device rests meanwhile.
    signals.devices[0].busy = Share(0.64).into();
    signals
}

/// Two replicas, the second 50 ms slower; the first waits for it.
pub(crate) fn straggler() -> Signals {
    let mut signals = healthy();
    signals.settings.strategy = Strategy::Mirrored.into();
    signals.devices.push(device(1, "GPU B"));
    signals.devices[0].busy = Share(0.62).into();
    signals.steps.step = Seconds(0.15).into();
    signals.steps.collective = Seconds(0.052).into();
    let replica = |rank, step, z_score| Replica {
        rank,
        step: Seconds(step),
        z_score,
    };
    signals.steps.replicas = Signal::Known(vec![replica(0, 0.097, -40.0), replica(1, 0.147, 40.0)]);
    signals
}

/// One worker, and 15 cores without work.
pub(crate) fn too_few_workers() -> Signals {
    let mut signals = healthy();
    signals.settings.workers = 1.into();
    signals.pipeline.host = stage(1, 0.3);
    signals.pipeline.read = Seconds(0.02).into();
    signals.pipeline.decode = Seconds(0.1).into();
    signals.machine.cpu_busy = Share(0.1).into();
    waiting(&mut signals, 0.3);
    signals
}

/// 32 workers on 16 cores, and a training thread that waits for one.
pub(crate) fn too_many_workers() -> Signals {
    let mut signals = healthy();
    signals.settings.workers = 32.into();
    signals.pipeline.host = stage(32, 0.14 * 16.0 * 0.97);
    signals.machine.cpu_busy = Share(1.0).into();
    signals.steps.step = Seconds(0.14).into();
    signals.steps.core_wait = Seconds(0.04).into();
    signals.steps.dispatch = Seconds(0.05).into();
    signals.devices[0].busy = Share(0.68).into();
    signals
}

/// Every operation a kernel: the thread that launches them sets the pace.
pub(crate) fn fusion_off() -> Signals {
    let mut signals = healthy();
    signals.settings.fusion = Signal::Known(Some(false));
    set(&mut signals, "training.enable_graph_mode", "false");
    signals.steps.dispatch = Seconds(0.099).into();
    signals.devices[0].busy = Share(0.5).into();
    signals
}
