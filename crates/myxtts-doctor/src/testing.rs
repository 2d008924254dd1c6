//! Run folders for tests, in the format of a training.

use std::fs;
use std::path::Path;

use myxtts_run::metrics::{MetricsWriter, Record};
use myxtts_run::units::Step;
use serde_json::{Map, Value, json};

/// A folder that is gone with the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Changes every line of a file.
    pub(crate) fn rewrite(path: &Path, change: impl Fn(&mut Map<String, Value>)) {
        let text = fs::read_to_string(path).unwrap();
        let lines: String = text
            .lines()
            .map(|line| {
                let mut object: Map<String, Value> = serde_json::from_str(line).unwrap();
                change(&mut object);
                format!("{}\n", Value::Object(object))
            })
            .collect();
        fs::write(path, lines).unwrap();
    }
}

/// A second a step, of which the model works 0.1 s and waits 0.9 s: one worker
/// of sixteen cores needs a second for a batch.
pub(crate) fn host_bound() -> Folder {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("run.lock"), "").unwrap();
    fs::write(path.join("quarantine.jsonl"), "").unwrap();
    fs::write(
        path.join("train.log"),
        "2026-11-17T15:32:13Z step 290/2392 (gpt 190/2292, stage 2 of 2)  loss 0.8981\n\
         2026-11-17T15:32:23Z step 300/2392 (gpt 200/2292, stage 2 of 2)  loss 0.8881\n",
    )
    .unwrap();
    fs::write(
        path.join("config.yaml"),
        "data:\n  # train_data: sample corpus  # default\n  cache: \"disk\"  # default\n  \
         buckets: 8  # default\n  batch_size: 32  # presets rtx4090\n  num_workers: 1  # flag --num-workers\n  \
         pipeline_buffer_size: 50  # default\n  prefetch_to_gpu: true  # default\n  \
         optimize_cpu_gpu_overlap: true  # default\ntraining:\n  name: \"default\"  # default\n  \
         validate_every: 100  # default\n  checkpoint_every: 100  # default\n  backend: \"auto\"  # default\n",
    )
    .unwrap();
    fs::write(path.join("plan.json"), plan().to_string()).unwrap();
    metrics(path);
    ledger(path);
    devices(path);
    Folder(folder)
}

fn plan() -> Value {
    let device = json!({
        "logical": 0, "physical": 0, "backend": "cuda", "name": "NVIDIA GeForce RTX 4090",
        "memory_budget_mb": 24564, "adapter": {"cuda": 0},
    });
    let mb = |mb: u64| mb << 20;
    json!({
        "strategy": "one_device", "mode": "single_gpu_buffered",
        "data_device": device, "model_devices": [device],
        "buffer_size": 50, "buffer_start": 8, "buffer_mb": 8000, "device_prefetch": 16,
        "prefetch_start": 2, "workers": 1, "batch_size": 32, "gradient_accumulation_steps": 1,
        "rows_per_step": 32,
        "memory": [{
            "device": "GPU 0", "logical": 0,
            "needs": {
                "weights": mb(500), "gradients": mb(500), "moments": mb(1000), "activations": mb(16000),
                "batches": mb(600), "data_work": mb(200), "copies": mb(100), "overhead": mb(500),
            },
            "needed_mb": 19400, "memory_mb": 24564, "verdict": "fits",
        }],
        "precision": "bf16", "static_shapes": true, "graph_mode": true, "collective": "auto",
        "reasons": ["num_workers 1 was asked for (the host has 16 cores)"],
        "notices": [], "given_up": [],
    })
}

/// When the run began.
const BEGIN: f64 = 1_794_929_531.0;

fn metrics(path: &Path) {
    let (mut writer, _) = MetricsWriter::open(path.join("metrics.jsonl"), None).unwrap();
    let mut now = BEGIN;
    for step in 1..=300_u64 {
        let is_gpt = step > 100;
        now += 1.0;
        let record = Record::new(Step(step))
            .text("stage", if is_gpt { "gpt" } else { "dvae" })
            .f32("loss", 1.5)
            .f64("step_s", if is_gpt { 1.0 } else { 0.2 })
            .f64("data_wait_s", if is_gpt { 0.9 } else { 0.0 })
            .f64("read_back_s", 0.06)
            .count("syncs", 1)
            .f64("collective_s", 0.0)
            .f64("dispatch_s", 0.04)
            .f64("core_wait_s", 0.0005)
            .f64("padding", 0.08)
            .count("clips", 40)
            .f64("audio_s", 150.0)
            .f64("flop", 2.0e12)
            .count("kernels_new", 0);
        writer.append_at(&record, now).unwrap();
        if step % 100 == 0 {
            now += 1.0;
            let record = Record::new(Step(step))
                .text("stage", if is_gpt { "gpt" } else { "dvae" })
                .f64("val_loss_mel", 1.0)
                .f64("validation_s", 0.9)
                .f64("checkpoint_s", 0.1);
            writer.append_at(&record, now).unwrap();
        }
    }
}

fn ledger(path: &Path) {
    let mut lines = String::new();
    for (stage, steps, host_us) in [(0_u64, 100_u64, 50_000_u64), (1, 200, 1_000_000)] {
        let pace = host_us.max(200_000);
        for step in 0..steps {
            let at = (step + 1) * pace + stage;
            let entry = |name: &str, wait: u64, busy: u64, later: u64| {
                let mut line = json!({
                    "stage": name, "worker": 0, "step": step, "lane": 0, "at_us": at + later,
                    "wait_in_us": wait, "busy_us": busy, "wait_out_us": 0, "bytes": 6_490_240, "occupancy": 0,
                });
                if name == "host" {
                    line["read_us"] = (busy / 20).into();
                    line["decode_us"] = (busy / 4).into();
                }
                if name == "device" {
                    line["upload_us"] = (busy / 5).into();
                }
                format!("{line}\n")
            };
            lines.push_str(&entry("host", 10, host_us, 0));
            lines.push_str(&entry("device", pace - 20_000, 20_000, 20_000));
            lines.push_str(&entry("model", pace - 100_000, 100_000, 120_000));
        }
    }
    fs::write(path.join("ledger.jsonl"), lines).unwrap();
}

fn devices(path: &Path) {
    let mut lines = String::new();
    for reading in 0..150_u32 {
        let line = json!({
            "wall_time": BEGIN + 2.0 * f64::from(reading),
            "host": {"cpu_pct": 9.0, "memory_mb": 9000},
            "devices": [{
                "device": 0, "name": "NVIDIA GeForce RTX 4090", "utilisation_pct": 10.0,
                "memory_used_mb": 19_600, "memory_total_mb": 24_564, "power_w": 120.0,
                "temperature_c": 45.0, "clock_mhz": 2520.0, "clock_max_mhz": 3105.0,
                "throttle": [], "pcie_gen": 4, "pcie_gen_max": 4, "pcie_width": 16,
                "pcie_width_max": 16,
            }],
        });
        lines.push_str(&format!("{line}\n"));
    }
    fs::write(path.join("devices.jsonl"), lines).unwrap();
}
