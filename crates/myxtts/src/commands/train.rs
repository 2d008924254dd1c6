//! `myxtts train`

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ArgMatches;
use myxtts_audio::units::SampleRate;
use myxtts_config::units::Seconds;
use myxtts_config::{Settings, shell};
use myxtts_data::prepare::{self, Reading, Ready};
use myxtts_data::schedule::Beginnings;
use myxtts_data::units::{Codes, Tokens};
use myxtts_device::{Backend, Mode, Plan, plan};
use myxtts_doctor::peak;
use myxtts_run::checkpoint::CheckpointError;
use myxtts_run::guard::SpikeAction;
use myxtts_run::signals::StopRequest;
use myxtts_text::Vocabulary;
use myxtts_train::TrainError;
use myxtts_train::demand::codes_of;
use myxtts_train::feed::RingBytes;
use myxtts_train::optim::AdamWConfig;
use myxtts_train::placement::Placement;
use myxtts_train::session::{
    Buffers, CacheKind, Cadence, Finished, Job, Optimisation, Resume, ScheduleKind, StageLength,
    StageName, run as train,
};
use serde_json::json;

use super::prepare::{
    Part as DatasetPart, dataset, output_folder, request, stop_request, with_progress,
};
use super::{damaged, memory};
use crate::config::{
    self, Cache, ConditioningFrom, Config, DataSection, DatasetConfig, GivenFlag, LearningRate,
    ModelConfig, OptimiserConfig, Part, Quirks, Resumed, RunConfig, ShapeConfig, Sizes, run_folder,
};
use crate::outline::Outline;
use crate::output::{Failure, Output};

/// Frames of a segment the DVAE learns from, and segments of a batch.
pub(super) const SEGMENT_FRAMES: usize = 64;
pub(super) const SEGMENT_BATCH: u32 = 16;
/// Frames of a segment the decoder learns from: 0.37 s, as HiFi-GAN has it.
pub(super) const DECODER_FRAMES: usize = 35;

/// What `--quick` sets where nobody else does.
const QUICK: [(&str, &str); 3] = [
    ("training.max_steps", "20"),
    ("training.sample_count", "2"),
    ("training.checkpoint_every", "10"),
];

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = super::machine()?;
    let mut given = super::given(matches)?;
    if matches.get_flag("quick") {
        let set: Vec<String> = given.flags.iter().map(|flag| flag.key.clone()).collect();
        let quick = QUICK
            .iter()
            .filter(|(key, _)| !set.iter().any(|set| set == key));
        given.flags.extend(quick.map(|(key, value)| GivenFlag {
            flag: "--quick".to_owned(),
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        }));
    }
    let keys = config::keys();
    let settings = config::load(&keys, &given, || machine.clone()).map_err(Failure::usage)?;
    let request = memory::training_request(&settings, None)?;
    let plan = plan(&request, &machine).map_err(Failure::usage)?;
    output.log(&plan);
    output.log(Outline::of(&settings)?);
    let stop = stop_request()?;
    let job = job(
        &settings,
        &plan,
        &stop,
        output,
        super::config::effective_yaml(&keys, &settings),
        None,
    )?;
    let placement = Placement::of(&plan).map_err(|why| Failure::Job(why.to_string()))?;
    let placement = placement.reading(&plan, &machine);
    let finished = train(&job, &placement, stop).map_err(|error| match error {
        TrainError::Checkpoint(CheckpointError::Damaged { what, whole, .. }) => {
            damaged::resuming(&what, &whole, &job.run)
        }
        other => train_failure(other),
    })?;
    report(&finished, output)
}

pub(super) fn train_failure(error: TrainError) -> Failure {
    match error {
        TrainError::Usage(message) => Failure::Usage(message),
        other => Failure::Job(other.to_string()),
    }
}

fn report(finished: &Finished, output: &Output) -> Result<(), Failure> {
    let next = finished.speaks.then(|| speaking(finished));
    let document = json!({
        "run": finished.run,
        "steps": finished.steps,
        "samples": finished.samples,
        "data_wait_pct": finished.data_wait_pct.iter()
            .map(|(stage, percent)| (stage.name().to_owned(), *percent))
            .collect::<BTreeMap<_, _>>(),
        "shapes_after_warmup": finished.shapes_after_warmup,
        "kernels_after_warmup": finished.kernels_after_warmup,
        "stopped": finished.stopped.map(|signal| signal.exit_code()),
        "verdict": finished.verdict,
        "next": next,
    });
    if let Some(signal) = finished.stopped {
        // Where the terminal is gone there is nobody to tell, and the code says it.
        let _ = output.result(&document, "");
        let code = u8::try_from(signal.exit_code()).unwrap_or(1);
        return Err(Failure::Stopped(finished.words(), code));
    }
    let mut words = format!("{}\n", finished.words());
    if let Some(samples) = &finished.samples {
        words.push_str(&format!("samples:            {}\n", samples.display()));
    }
    for finding in &finished.verdict {
        words.push_str(&format!("{finding}\n"));
    }
    if let Some(command) = &next {
        words.push_str(&format!("your own sentence:  {command}\n"));
    }
    output.result(&document, words)
}

/// The command that speaks with what was trained, in its language.
fn speaking(finished: &Finished) -> String {
    let language = finished.language.as_ref().map(ToString::to_string);
    let text = finished.sentence.as_deref().unwrap_or("Hello.");
    let mut words: Vec<&OsStr> = ["synthesize", "--checkpoint"].map(OsStr::new).to_vec();
    words.push(finished.run.as_os_str());
    if let Some(language) = &language {
        words.extend(["--language", language].map(OsStr::new));
    }
    words.extend(["--text", text, "--out", "hello.wav"].map(OsStr::new));
    shell::command(words)
}

/// What a configuration asks of a training. `prepared_at` is the prepared
/// dataset where there is one already.
#[deny(unused_variables)]
pub(super) fn job(
    settings: &Settings<Config>,
    plan: &Plan,
    stop: &StopRequest,
    output: &Output,
    config_text: String,
    prepared_at: Option<PathBuf>,
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
        // `Stages::parts` has no other caller than the outline, so that the
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
        vocab,
    } = &training.run;
    let DatasetConfig {
        train_data,
        val_data,
        // A preparation's, bound in `prepare::request`.
        language: _,
        columns: _,
        prepared,
        cache,
        max_bad_fraction,
    } = &data.dataset;
    let ShapeConfig {
        // One value is allowed, and the models know it.
        n_mels: _,
        max_text_length,
        max_mel_frames,
        buckets,
        conditioning_min,
        conditioning_max,
        conditioning_from,
        clip_beginnings,
    } = &data.shapes;
    let ModelConfig { size, quirks } = &model;
    let Sizes { gpt, dvae } = config::sizes(settings).map_err(Failure::usage)?;
    let optimiser = &training.optimiser;
    let is_chosen = |key: &str| settings.is_chosen(key);
    let vocabulary = match vocab {
        Some(path) => Some(Vocabulary::read(path.as_ref()).map_err(Failure::usage)?),
        None => None,
    };
    let vocabulary = vocabulary.map(Arc::new);
    let prepare = |folder: PathBuf, part| {
        let out = output_folder(prepared.as_deref(), &folder, part, output)?;
        prepare_folder(settings, folder, out, vocabulary.as_deref(), stop, output)
    };
    let reading = Reading::default();
    let mut config = effective(settings, plan);
    let dataset_folder = match prepared_at {
        Some(folder) => folder,
        None => {
            let ready = prepare(dataset(train_data.as_deref())?, DatasetPart::Training)?;
            // What a run was trained in is part of it, whoever decided it.
            config["data"]["language"] = json!(ready.report.language);
            reading.join(&ready.reading);
            ready.folder
        }
    };
    let validation = match val_data {
        Some(folder) => {
            let ready = prepare(PathBuf::from(folder), DatasetPart::Validation)?;
            reading.join(&ready.reading);
            Some(ready.folder)
        }
        None => None,
    };
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
        stages: stages(settings)?,
        dataset: dataset_folder,
        validation,
        reading,
        max_bad_fraction: *max_bad_fraction,
        gpt,
        dvae,
        decoder_size: *size,
        vocabulary,
        init: init.as_ref().map(PathBuf::from),
        resume: match *resume {
            Resumed::Word(config::ResumeWord::Auto) => Resume::Auto,
            Resumed::Word(config::ResumeWord::Never) => Resume::Never,
            Resumed::Step(step) => Resume::At(step),
        },
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
        conditioning: [conditioning_min, conditioning_max]
            .map(|length| samples(*length, data.audio.sample_rate)),
        conditioning_from: match conditioning_from {
            ConditioningFrom::Clip => myxtts_train::session::ConditioningFrom::Clip,
            ConditioningFrom::Speaker => myxtts_train::session::ConditioningFrom::Speaker,
        },
        beginnings: Beginnings(*clip_beginnings),
        cache: match cache {
            Cache::None => CacheKind::None,
            Cache::Memory => CacheKind::Memory,
            Cache::Disk => CacheKind::Disk,
        },
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
        quirks: match quirks {
            Quirks::Fixed => myxtts_model::gpt::Quirks::Fixed,
            Quirks::Compat => myxtts_model::gpt::Quirks::Compat,
        },
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
        schedule: match lr_schedule {
            LearningRate::Constant => ScheduleKind::Constant,
            LearningRate::Cosine => ScheduleKind::Cosine,
            LearningRate::Noam => ScheduleKind::Noam,
            LearningRate::MultiStep => ScheduleKind::MultiStep,
        },
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

/// What is trained, in order.
pub(super) fn stages(settings: &Settings<Config>) -> Result<Vec<StageName>, Failure> {
    let parts = Outline::of(settings)?.stages.into_iter();
    let stages = parts.map(|part| match part {
        Part::Dvae => StageName::Dvae,
        Part::Gpt => StageName::Gpt,
        Part::Decoder => StageName::Decoder,
    });
    Ok(stages.collect())
}

/// The shortest and the longest conditioning segment, in samples.
pub(crate) fn conditioning(data: &DataSection) -> [usize; 2] {
    let shapes = &data.shapes;
    [shapes.conditioning_min, shapes.conditioning_max]
        .map(|length| samples(length, data.audio.sample_rate))
}

fn samples(length: Seconds, rate: SampleRate) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most half a minute"
    )]
    let samples = (length.0 * f64::from(rate.hz())) as usize;
    samples
}

/// The least steps of the stages whose epochs nobody chose.
fn least_steps(settings: &Settings<Config>) -> BTreeMap<StageName, u64> {
    if settings.is_chosen("training.epochs") {
        return BTreeMap::new();
    }
    let steps = config::least_steps(settings.config.model.size).into_iter();
    steps
        .filter(|(key, ..)| !settings.is_chosen(key))
        .map(|(_, stage, steps)| {
            let stage = match stage {
                Part::Dvae => StageName::Dvae,
                Part::Gpt => StageName::Gpt,
                Part::Decoder => StageName::Decoder,
            };
            (stage, steps)
        })
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

/// A dataset, prepared now or earlier, with what that wrote in `out`.
pub(super) fn prepare_folder(
    settings: &Settings<Config>,
    dataset: PathBuf,
    out: PathBuf,
    vocabulary: Option<&Vocabulary>,
    stop: &StopRequest,
    output: &Output,
) -> Result<Ready, Failure> {
    let request = request(settings, dataset, out, vocabulary)?;
    let ready = with_progress(output, stop, |watch| prepare::ready(&request, watch))?;
    let report = &ready.report;
    report
        .check()
        .map_err(|too_many| Failure::Job(too_many.to_string()))?;
    output.log(format_args!(
        "dataset {}: {} clips, {} left out, language {}",
        report.dataset, report.kept, report.quarantined, report.language
    ));
    for table in &report.tables {
        output.log(format_args!(
            "  columns of {}: {}",
            table.file, table.columns
        ));
    }
    for limit in report.limits_in_words() {
        output.log(format_args!("  {limit}"));
    }
    Ok(ready)
}
