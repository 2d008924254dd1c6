//! A training so small that a software GPU takes it in seconds.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{AudioConfig, Waveform, wav_pcm16};
use myxtts_data::prepare::{Request, Settings, prepare, unwatched};
use myxtts_data::schedule::Beginnings;
use myxtts_data::units::Tokens;
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{GptConfig, Quirks, Vocabulary};
use myxtts_run::guard::SpikeAction;
use myxtts_train::feed::RingBytes;
use myxtts_train::optim::AdamWConfig;
use myxtts_train::session::{
    Buffers, CacheKind, Cadence, ConditioningFrom, Job, Optimisation, Resume, ScheduleKind,
    StageLength, StageName,
};

const CLIPS: usize = 8;
const RATE: u32 = 22_050;

/// Prepares a second of hum for each clip in `folder`, and says how to train
/// on it for two steps a stage.
pub fn job(folder: &Path) -> Job {
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
pub fn job_of_lengths(folder: &Path, milliseconds: &[u32], of_each: usize) -> Job {
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
    job.buckets = milliseconds.len().min(4);
    job.buffers.workers = 2;
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

fn job_of(folder: &Path) -> Job {
    let prepared = folder.join("prepared");
    let length = StageLength {
        epochs: 10,
        max_steps: Some(2),
    };
    Job {
        precision: myxtts_device::Precision::F32,
        decoder_size: myxtts_model::ModelSize::Tiny,
        decoder_frames: 16,
        run: folder.join("run"),
        stages: vec![StageName::Dvae, StageName::Gpt],
        dataset: prepared,
        reading: Default::default(),
        max_bad_fraction: 0.01,
        validation: None,
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
        vocabulary: None,
        init: None,
        resume: Resume::Auto,
        reset_training: false,
        peak_flops: None,
        max_text: Tokens(200),
        max_audio: myxtts_data::units::Codes(200),
        seed: 3,
        audio: AudioConfig::default(),
        buckets: 1,
        static_shapes: true,
        batch_size: 2,
        accumulation: 1,
        conditioning: [11_025, 11_025],
        conditioning_from: ConditioningFrom::Clip,
        beginnings: Beginnings::ONE,
        least_steps: BTreeMap::new(),
        cache: CacheKind::Disk,
        optimisation: Optimisation {
            decoder_learning_rate: 1e-4,
            generator_learning_rate: None,
            decoder_spectral_steps: None,
            discriminator_warmup_steps: None,
            learning_rate: 1e-3,
            dvae_learning_rate: 1e-3,
            schedule: ScheduleKind::Constant,
            warmup_chosen: false,
            warmup_steps: 0,
            gradient_clip: 1.0,
            label_smoothing: 0.0,
            dropout: None,
            ema_decay: 0.0,
            adamw: AdamWConfig::default(),
            spikes: SpikeAction::Log,
            bad_steps: 0,
            patience: 0,
        },
        lengths: [(StageName::Dvae, length), (StageName::Gpt, length)].into(),
        cadence: Cadence {
            validate: 0,
            samples: 0,
            checkpoint: 0,
            keep: 1,
            log: 1,
        },
        buffers: Buffers {
            workers: 1,
            workers_chosen: true,
            in_flight: 4,
            in_flight_start: 4,
            depth: 2,
            depth_start: 2,
            adaptive: false,
            start_delay: Duration::from_secs(1),
            waits: true,
            ring_bytes: RingBytes::default(),
        },
        memory: vec![],
        memory_check: myxtts_device::MemoryCheck::Refuse,
        quirks: Quirks::default(),
        frozen: vec![],
        sample_texts: vec![],
        sample_count: 0,
        segment_frames: 32,
        segment_batch: 2,
        config: serde_json::Value::Null,
        config_text: String::new(),
        plan: serde_json::Value::Null,
        plan_text: "the plan".to_owned(),
    }
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
