//! A training so small that a software GPU takes it in seconds.

use std::num::NonZeroUsize;
use std::path::Path;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Waveform, wav_pcm16};
use myxtts_config::units::{Megabytes, Seconds};
use myxtts_data::config::ShapeConfig;
use myxtts_data::prepare::{Request, Settings, prepare, unwatched};
use myxtts_device::discover::host;
use myxtts_device::{Machine, Mode, Plan, PlanRequest, Precision, plan};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Vocabulary};
use myxtts_train::config::{Config, OptimizerConfig, RunConfig, ScheduleKind, Sizes};
use myxtts_train::session::{PreparedDataset, SegmentSizes, TrainRequest};

const CLIPS: usize = 8;
const RATE: u32 = 22_050;

/// Prepares a second of hum for each clip in `folder`, and says how to train
/// on it for two steps a stage.
pub fn job(folder: &Path) -> TrainRequest {
    let dataset = folder.join("dataset");
    std::fs::create_dir_all(dataset.join("wavs")).unwrap();
    let mut metadata = String::new();
    for clip in 0..CLIPS {
        let hertz = 110.0 + 40.0 * clip as f32;
        let samples = (0..RATE).map(|n| {
            let t = n as f32 / RATE as f32;
            0.3 * (std::f32::consts::TAU * hertz * t).sin() * (9.0 * t).sin()
        });
        let waveform = Waveform {
            samples: samples.collect(),
            rate: SampleRate::new(RATE).unwrap(),
        };
        let bytes = wav_pcm16(&waveform).unwrap();
        std::fs::write(dataset.join(format!("wavs/clip{clip}.wav")), bytes).unwrap();
        let word = ["lamps", "boats", "stone", "bread"][clip % 4];
        metadata.push_str(&format!("clip{clip}|Seven {word}.|Seven {word}.\n"));
    }
    std::fs::write(dataset.join("metadata.csv"), metadata).unwrap();
    let kept = prepare_from(folder, &dataset);
    assert_eq!(kept, CLIPS as u64);
    job_of(folder)
}

/// The same with a hum of each of these lengths, in milliseconds, one after the
/// other `of_each` times, and two workers.
#[allow(dead_code, reason = "not used by every test binary")]
pub fn job_of_lengths(folder: &Path, milliseconds: &[u32], of_each: usize) -> TrainRequest {
    let mut job = job(folder);
    let mut rows = String::new();
    let clips = milliseconds
        .iter()
        .flat_map(|length| (0..of_each).map(move |clip| (length, clip)));
    for (length, clip) in clips {
        let hertz = 110.0 + 40.0 * clip as f32;
        let samples = (0..RATE * length / 1000).map(|n| {
            let t = n as f32 / RATE as f32;
            0.3 * (std::f32::consts::TAU * hertz * t).sin()
        });
        let waveform = Waveform {
            samples: samples.collect(),
            rate: SampleRate::new(RATE).unwrap(),
        };
        let name = format!("hum{length}_{clip}");
        let path = folder.join(format!("dataset/wavs/{name}.wav"));
        std::fs::write(path, wav_pcm16(&waveform).unwrap()).unwrap();
        let word = ["lamps", "boats", "stone", "bread"][clip % 4];
        rows.push_str(&format!("{name}|Seven {word}.|Seven {word}.\n"));
    }
    prepare_rows(folder, &rows);
    job.config.data.shapes.buckets = u32::try_from(milliseconds.len().min(4)).unwrap();
    job.plan.workers = 2;
    job
}

/// Prepares the dataset again, with other rows.
#[allow(dead_code, reason = "not used by every test binary")]
pub fn prepare_rows(folder: &Path, rows: &str) {
    let dataset = folder.join("dataset");
    std::fs::write(dataset.join("metadata.csv"), rows).unwrap();
    prepare_from(folder, &dataset);
}

/// Prepares a dataset for the jobs of `folder`, and gives the clips kept.
pub fn prepare_from(folder: &Path, dataset: &Path) -> u64 {
    let request = Request {
        dataset: dataset.to_owned(),
        out: folder.join("prepared"),
        vocabulary: None,
        next: vec![],
        workers: NonZeroUsize::MIN,
        settings: Settings {
            held_out_fraction: 0.0,
            ..Settings::default()
        },
    };
    prepare(&request, &mut unwatched).unwrap().kept
}

/// The same job, kept in another folder.
pub fn kept_in(folder: &Path, job: &TrainRequest) -> TrainRequest {
    let mut job = job.clone();
    job.config.training.run.checkpoint_dir = Some(folder.to_str().unwrap().to_owned());
    job
}

fn job_of(folder: &Path) -> TrainRequest {
    let job = TrainRequest {
        config: config(),
        chosen: ["training.epochs", "data.num_workers"]
            .map(str::to_owned)
            .into(),
        config_text: String::new(),
        plan: small_plan(),
        dataset: PreparedDataset {
            folder: folder.join("prepared"),
            ..PreparedDataset::default()
        },
        sizes: Sizes {
            gpt: GptConfig {
                layers: 1,
                channels: 32,
                heads: 2,
                vocabulary: Vocabulary::XTTS_V2,
                mel_bands: 80,
                encoder_blocks: 1,
                perceiver: PerceiverConfig {
                    latents: 4,
                    depth: 1,
                    heads: 2,
                    head_channels: 16,
                },
                dropout: 0.0,
                embedding_std: 0.02,
            },
            dvae: DvaeConfig {
                hidden: 16,
                resnet_blocks: 1,
                codes: 32,
                codebook_dim: 16,
                ..DvaeConfig::TINY
            },
        },
        segments: SegmentSizes {
            dvae_frames: 32,
            dvae_batch: 2,
            decoder_frames: 16,
        },
    };
    kept_in(&folder.join("run"), &job)
}

fn config() -> Config {
    let mut config = Config::default();
    config.data.shapes = ShapeConfig {
        buckets: 1,
        conditioning_min: Seconds(0.5),
        conditioning_max: Seconds(0.5),
        ..ShapeConfig::default()
    };
    config.training.run = RunConfig {
        epochs: 10,
        max_steps: Some(2),
        seed: 3,
        validate_every: 0,
        sample_every: 0,
        sample_count: 0,
        checkpoint_every: 0,
        keep_checkpoints: 1,
        log_every: 1,
        ..RunConfig::default()
    };
    config.training.optimizer = OptimizerConfig {
        learning_rate: 1e-3,
        dvae_learning_rate: 1e-3,
        decoder_learning_rate: 1e-4,
        lr_schedule: ScheduleKind::Constant,
        warmup_steps: 0,
        bad_steps: 0,
        ..OptimizerConfig::default()
    };
    config
}

fn small_plan() -> Plan {
    let machine = Machine::assume(host(), 0, Megabytes(0));
    let mut plan = plan(&PlanRequest::default(), &machine).unwrap();
    plan.mode = Mode::MultiGpu;
    (plan.in_flight, plan.in_flight_start) = (4, 4);
    (plan.ring_depth, plan.ring_depth_start) = (2, 2);
    plan.workers = 1;
    plan.batch_size = 2;
    plan.gradient_accumulation_steps = 1;
    plan.memory = vec![];
    plan.precision = Precision::F32;
    plan.static_shapes = true;
    plan.adaptive_prefetch = false;
    plan.model_start_delay = Seconds(1.0);
    plan
}

/// The losses a run has written down.
pub fn losses(run: &Path) -> Vec<f64> {
    assert!(run.join("metrics.jsonl").exists());
    losses_so_far(run)
}

/// Those of a run that may be writing a line, or not have begun.
pub fn losses_so_far(run: &Path) -> Vec<f64> {
    let text = std::fs::read_to_string(run.join("metrics.jsonl")).unwrap_or_default();
    let line = |line: &str| -> Option<f64> {
        let record: serde_json::Value = serde_json::from_str(line).ok()?;
        record.get("loss")?.as_f64()
    };
    text.lines().filter_map(line).collect()
}
