//! What a configuration asks of a training.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use myxtts_config::Settings;
use myxtts_data::config::{DatasetConfig, ShapeConfig};
use myxtts_data::schedule::Beginnings;
use myxtts_data::units::{Codes, Tokens};
use myxtts_device::{Backend, Mode, Plan};
use myxtts_doctor::peak;
use myxtts_run::guard::SpikeAction;
use myxtts_train::TrainError;
use myxtts_train::config::{
    ModelConfig, OptimiserConfig, RunConfig, StageName, least_steps as size_least_steps, run_folder,
};
use myxtts_train::demand::codes_of;
use myxtts_train::feed::RingBytes;
use myxtts_train::optim::AdamWConfig;
use myxtts_train::run::{Buffers, Cadence, Job, Optimisation, PreparedDataset, StageLength};
use serde_json::json;

use crate::config::{self, Config, Sizes};
use crate::outline::Outline;
use crate::output::Failure;

/// Frames of a segment the DVAE learns from, and segments of a batch.
pub(super) const SEGMENT_FRAMES: usize = 64;
pub(super) const SEGMENT_BATCH: u32 = 16;
/// Frames of a segment the decoder learns from: 0.37 s, as HiFi-GAN has it.
pub(super) const DECODER_FRAMES: usize = 35;

pub(super) fn train_failure(error: TrainError) -> Failure {
    match error {
        TrainError::Usage(message) => Failure::Usage(message),
        other => Failure::Job(other.to_string()),
    }
}

/// What a configuration asks of a training on a prepared dataset.
#[deny(unused_variables)]
pub(super) fn job(
    settings: &Settings<Config>,
    plan: &Plan,
    dataset: PreparedDataset,
    config_text: String,
) -> Result<Job, Failure> {
    let Config {
        data,
        model,
        training,
    } = &settings.config;
    // Every key by its name: one that nothing is made of does not compile.
    let RunConfig {
        name,
        checkpoint_dir,
        // `Stages::names` has no other caller than the outline, so that the
        // compiler tells when that stops asking.
        stage: _,
        init,
        epochs,
        dvae_epochs,
        decoder_epochs,
        max_steps,
        seed,
        resume,
        reset_training,
        validate_every,
        patience,
        sample_every,
        sample_count,
        sample_texts,
        checkpoint_every,
        keep_checkpoints,
        log_every,
        freeze,
        // A preparation's, which hands the vocabulary on.
        vocab: _,
    } = &training.run;
    let DatasetConfig {
        // A preparation's.
        train_data: _,
        val_data: _,
        language: _,
        columns: _,
        prepared: _,
        cache,
        max_bad_fraction,
    } = &data.dataset;
    let ShapeConfig {
        // One value is allowed, and the models know it.
        n_mels: _,
        max_text_length,
        max_mel_frames,
        buckets,
        // `ShapeConfig::conditioning` gives both.
        conditioning_min: _,
        conditioning_max: _,
        conditioning_from,
        clip_beginnings,
    } = &data.shapes;
    let ModelConfig { size, quirks } = &model;
    let Sizes { gpt, dvae } = config::sizes(settings).map_err(Failure::usage)?;
    let optimiser = &training.optimiser;
    let is_chosen = |key: &str| settings.is_chosen(key);
    let PreparedDataset {
        folder,
        validation,
        vocabulary,
        language,
        reading,
    } = dataset;
    let mut config = effective(settings, plan);
    if let Some(language) = language {
        // What a run was trained in is part of it, whoever decided it.
        config["data"]["language"] = json!(language);
    }
    // `--epochs` is a person's word for every stage; a preset's is not.
    let epochs_of = |key: &str, own: u32| match is_chosen("training.epochs") && !is_chosen(key) {
        true => *epochs,
        false => own,
    };
    let dvae_epochs = epochs_of("training.dvae_epochs", *dvae_epochs);
    let decoder_epochs = epochs_of("training.decoder_epochs", *decoder_epochs);
    let length = |epochs: u32| StageLength {
        epochs: u64::from(epochs),
        max_steps: *max_steps,
    };
    Ok(Job {
        run: run_folder(name, checkpoint_dir.as_deref()),
        stages: Outline::of(settings)?.stages,
        dataset: folder,
        validation,
        reading,
        max_bad_fraction: *max_bad_fraction,
        gpt,
        dvae,
        decoder_size: *size,
        vocabulary,
        init: init.as_ref().map(PathBuf::from),
        resume: *resume,
        reset_training: *reset_training,
        precision: plan.precision,
        peak_flops: plan
            .model_devices
            .first()
            .and_then(|device| peak::of(&device.name))
            .map(|peak| peak.at(plan.precision.name()).0),
        seed: *seed,
        audio: data.audio.clone(),
        max_text: Tokens(*max_text_length),
        max_audio: Codes(codes_of(*max_mel_frames, &dvae)),
        buckets: *buckets as usize,
        static_shapes: plan.static_shapes,
        batch_size: plan.batch_size,
        accumulation: plan.gradient_accumulation_steps as usize,
        conditioning: data.shapes.conditioning(data.audio.sample_rate),
        conditioning_from: *conditioning_from,
        beginnings: Beginnings(*clip_beginnings),
        cache: *cache,
        optimisation: optimisation(optimiser, is_chosen("training.warmup_steps"), *patience),
        lengths: [
            (StageName::Dvae, length(dvae_epochs)),
            (StageName::Gpt, length(*epochs)),
            (StageName::Decoder, length(decoder_epochs)),
        ]
        .into(),
        least_steps: least_steps(settings),
        cadence: Cadence {
            validate: *validate_every,
            samples: *sample_every,
            checkpoint: *checkpoint_every,
            keep: *keep_checkpoints as usize,
            log: *log_every,
        },
        buffers: buffers(settings, plan),
        memory: plan.memory.clone(),
        memory_check: data.pipeline.memory_check,
        quirks: *quirks,
        frozen: freeze.clone().unwrap_or_default(),
        sample_texts: sample_texts.clone().unwrap_or_default(),
        sample_count: *sample_count as usize,
        segment_frames: SEGMENT_FRAMES,
        segment_batch: SEGMENT_BATCH,
        decoder_frames: DECODER_FRAMES,
        config,
        config_text,
        plan: json!(plan),
        plan_text: plan.to_string(),
    })
}

/// How a training learns. Every key by its name: one that nothing is made of
/// does not compile.
#[deny(unused_variables)]
fn optimisation(config: &OptimiserConfig, warmup_chosen: bool, patience: u64) -> Optimisation {
    let OptimiserConfig {
        learning_rate,
        dvae_learning_rate,
        decoder_learning_rate,
        generator_learning_rate,
        decoder_spectral_steps,
        discriminator_warmup_steps,
        // Chose some of the others, when the presets were merged.
        optimization_level: _,
        lr_schedule,
        warmup_steps,
        gradient_clip,
        label_smoothing,
        dropout,
        weight_decay,
        ema_decay,
        skip_spikes,
        bad_steps,
    } = *config;
    Optimisation {
        learning_rate,
        dvae_learning_rate,
        decoder_learning_rate,
        generator_learning_rate,
        decoder_spectral_steps,
        discriminator_warmup_steps,
        schedule: lr_schedule,
        warmup_steps: u64::from(warmup_steps),
        warmup_chosen,
        gradient_clip,
        label_smoothing,
        dropout,
        ema_decay,
        adamw: AdamWConfig {
            weight_decay,
            ..AdamWConfig::default()
        },
        spikes: match skip_spikes {
            true => SpikeAction::Skip,
            false => SpikeAction::Log,
        },
        bad_steps: bad_steps as usize,
        patience,
    }
}

/// The least steps of the stages whose epochs nobody chose.
fn least_steps(settings: &Settings<Config>) -> BTreeMap<StageName, u64> {
    if settings.is_chosen("training.epochs") {
        return BTreeMap::new();
    }
    let steps = size_least_steps(settings.config.model.size).into_iter();
    steps
        .filter(|(key, ..)| !settings.is_chosen(key))
        .map(|(_, stage, steps)| (stage, steps))
        .collect()
}

/// The configuration with what the plan made of start values: a run whose
/// batches were fitted to one machine is not continued with those of another.
fn effective(settings: &Settings<Config>, plan: &Plan) -> serde_json::Value {
    let mut config = settings.config.clone();
    config.data.pipeline.batch_size = plan.batch_size;
    config.training.strategy.gradient_accumulation_steps = plan.gradient_accumulation_steps;
    json!(config)
}

/// Rings and workers of the plan, and which of them a person chose.
fn buffers(settings: &Settings<Config>, plan: &Plan) -> Buffers {
    let chosen = |key: &str| settings.is_chosen(key);
    let isolated = plan.memory_isolation && plan.data_device.backend != Backend::Cpu;
    Buffers {
        workers: plan.workers as usize,
        workers_chosen: chosen("data.num_workers"),
        in_flight: plan.buffer_size as usize,
        in_flight_start: plan.buffer_start as usize,
        depth: plan.device_prefetch as usize,
        depth_start: plan.prefetch_start as usize,
        adaptive: plan.adaptive_prefetch,
        start_delay: Duration::from_secs_f64(plan.model_start_delay.0),
        waits: plan.mode == Mode::MultiGpu,
        ring_bytes: RingBytes {
            host: Some(plan.buffer_mb.0 * 1024 * 1024),
            device: plan
                .data_device
                .memory_budget_mb
                .filter(|_| isolated)
                // Rings may have half of the data budget; the rest is the DVAE's.
                .map(|budget| budget.0 * 1024 * 1024 / 2),
        },
    }
}
