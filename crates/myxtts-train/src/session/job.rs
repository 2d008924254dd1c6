//! What a training does: a request with every question answered.
//!
//! It is made in one place, which names every key of the configuration: one that
//! nothing is made of does not compile, and one that is made into something nobody
//! reads is a warning.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use myxtts_audio::AudioConfig;
use myxtts_data::config::{CacheKind, ConditioningFrom, DatasetConfig, ShapeConfig};
use myxtts_data::schedule::{Beginnings, ConditioningSpec};
use myxtts_data::units::{Codes, Tokens};
use myxtts_device::{MemoryCheck, MomentBits, Plan};
use myxtts_doctor::peak_flops;
use myxtts_model::ModelSize;
use myxtts_model::gpt::Quirks;
use myxtts_run::guard::SpikeAction;

use super::request::{PreparedDataset, SegmentSizes, TrainRequest};
use crate::config::{
    Config, DataSection, ModelConfig, OptimizerConfig, Resume, RunConfig, ScheduleKind, Sizes,
    StageName, least_steps, run_folder,
};
use crate::demand::codes_of;
use crate::optim::AdamWConfig;

/// Everything that controls the optimizer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Optimization {
    /// Highest learning rate of the GPT.
    pub(crate) learning_rate: f64,
    /// Highest learning rate of the DVAE.
    pub(crate) dvae_learning_rate: f64,
    /// Highest learning rate of the decoder and of its discriminators.
    pub(crate) decoder_learning_rate: f64,
    /// Highest learning rate of the decoder itself, if the user set it.
    pub(crate) generator_learning_rate: Option<f64>,
    /// Steps without discriminators, if the user set them.
    pub(crate) decoder_spectral_steps: Option<u64>,
    /// Steps of the discriminators alone, if the user set them.
    pub(crate) discriminator_warmup_steps: Option<u64>,
    /// How the learning rate changes after its rise.
    pub(crate) schedule: ScheduleKind,
    /// Steps in which the learning rate rises.
    pub(crate) warmup_steps: u64,
    /// Whether the user chose `warmup_steps`. A number that was not chosen is limited to a tenth
    /// of a stage.
    pub(crate) warmup_chosen: bool,
    /// The largest norm of a gradient; a longer one is shortened to it.
    pub(crate) gradient_clip: f64,
    /// Probability mass given to wrong tokens.
    pub(crate) label_smoothing: f64,
    /// Share of activations dropped; `None` takes the model's own.
    pub(crate) dropout: Option<f64>,
    /// Decay of the moving average of the weights; 0 keeps none.
    pub(crate) ema_decay: f64,
    /// The moments and the weight decay of AdamW.
    pub(crate) adamw: AdamWConfig,
    /// What to do about a loss that jumps.
    pub(crate) spikes: SpikeAction,
    /// How many bad steps in a row are skipped before the training stops.
    pub(crate) bad_steps: usize,
    /// Validations without progress that end a stage; 0 means never.
    pub(crate) patience: u64,
}

impl Optimization {
    /// Answers every question of the optimizer's keys.
    #[deny(unused_variables)]
    fn of(
        config: &OptimizerConfig,
        moments: MomentBits,
        chosen: &BTreeSet<String>,
        patience: u64,
    ) -> Self {
        let OptimizerConfig {
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
        Self {
            learning_rate,
            dvae_learning_rate,
            decoder_learning_rate,
            generator_learning_rate,
            decoder_spectral_steps,
            discriminator_warmup_steps,
            schedule: lr_schedule,
            warmup_steps: u64::from(warmup_steps),
            warmup_chosen: chosen.contains("training.warmup_steps"),
            gradient_clip,
            label_smoothing,
            dropout,
            ema_decay,
            adamw: AdamWConfig {
                weight_decay,
                moments,
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

    /// Returns the highest learning rate of a stage.
    pub(crate) fn rate_of(&self, stage: StageName) -> f64 {
        match stage {
            StageName::Dvae => self.dvae_learning_rate,
            StageName::Gpt => self.learning_rate,
            StageName::Decoder => self.decoder_learning_rate,
        }
    }
}

/// How often to validate, sample, checkpoint and log, in steps. 0 means only at the end of a
/// stage.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cadence {
    /// Steps between two validations.
    pub(crate) validate: u64,
    /// Steps between two sets of samples.
    pub(crate) samples: u64,
    /// Steps between two checkpoints.
    pub(crate) checkpoint: u64,
    /// How many of the newest checkpoints are kept.
    pub(crate) keep: usize,
    /// Steps between two lines in a quiet log.
    pub(crate) log: u64,
}

impl Cadence {
    fn of(run: &RunConfig) -> Self {
        Self {
            validate: run.validate_every,
            samples: run.sample_every,
            checkpoint: run.checkpoint_every,
            keep: run.keep_checkpoints as usize,
            log: run.log_every,
        }
    }
}

/// How long the stages are.
#[derive(Clone, Debug)]
pub(crate) struct StageLengths {
    /// Passes over the data, by stage.
    pub(crate) epochs: BTreeMap<StageName, u64>,
    /// Most steps of a stage.
    pub(crate) max_steps: Option<u64>,
    /// The fewest steps of a stage, whatever its epochs: those of few recordings are short.
    /// Absent if the user chose the epochs.
    pub(crate) least_steps: BTreeMap<StageName, u64>,
}

impl StageLengths {
    fn of(run: &RunConfig, size: ModelSize, chosen: &BTreeSet<String>) -> Self {
        // `--epochs` is a person's word for every stage; a preset's is not.
        let all = chosen.contains("training.epochs");
        let epochs_of = |key: &str, own: u32| match all && !chosen.contains(key) {
            true => u64::from(run.epochs),
            false => u64::from(own),
        };
        let dvae = epochs_of("training.dvae_epochs", run.dvae_epochs);
        let decoder = epochs_of("training.decoder_epochs", run.decoder_epochs);
        Self {
            epochs: BTreeMap::from([
                (StageName::Dvae, dvae),
                (StageName::Gpt, u64::from(run.epochs)),
                (StageName::Decoder, decoder),
            ]),
            max_steps: run.max_steps,
            least_steps: least_steps_of(size, chosen),
        }
    }
}

/// How clips are read and put into batches.
#[derive(Clone, Debug)]
pub(crate) struct ClipSettings {
    /// How recordings are loaded.
    pub(crate) audio: AudioConfig,
    /// The most tokens of a text.
    pub(crate) max_text: Tokens,
    /// The most codes of a clip.
    pub(crate) max_audio: Codes,
    /// The number of bucket shapes.
    pub(crate) buckets: usize,
    /// Lengths of conditioning segments.
    pub(crate) conditioning: ConditioningSpec,
    /// What conditioning segments are cut from.
    pub(crate) conditioning_from: ConditioningFrom,
    /// Where in a recording a clip may begin.
    pub(crate) beginnings: Beginnings,
    /// Where codes are kept from epoch to epoch.
    pub(crate) cache: CacheKind,
    /// Share of the clips that may have vanished since they were prepared.
    pub(crate) max_bad_fraction: f64,
}

impl ClipSettings {
    /// Answers every question of the keys of a dataset and its shapes.
    #[deny(unused_variables)]
    fn of(data: &DataSection, sizes: &Sizes) -> Self {
        let DataSection {
            dataset,
            audio,
            shapes,
            // The plan's, but for the check of memory.
            pipeline: _,
        } = data;
        let DatasetConfig {
            // A preparation's.
            train_data: _,
            val_data: _,
            language: _,
            columns: _,
            prepared: _,
            cache,
            max_bad_fraction,
        } = dataset;
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
        } = shapes;
        Self {
            audio: audio.clone(),
            max_text: Tokens(*max_text_length),
            max_audio: Codes(codes_of(*max_mel_frames, &sizes.dvae)),
            buckets: *buckets as usize,
            conditioning: shapes.conditioning(audio.sample_rate),
            conditioning_from: *conditioning_from,
            beginnings: Beginnings(*clip_beginnings),
            cache: *cache,
            max_bad_fraction: *max_bad_fraction,
        }
    }
}

/// What a training does.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    /// The folder that the run writes to.
    pub(crate) run: PathBuf,
    /// The stages to train, in order.
    pub(crate) stages: Vec<StageName>,
    /// The folder of weights to start from.
    pub(crate) init: Option<PathBuf>,
    /// Where the run resumes.
    pub(crate) resume: Resume,
    /// Whether to take the weights of the checkpoint and begin at step 0.
    pub(crate) reset_training: bool,
    /// The seed of every random choice.
    pub(crate) seed: u64,
    /// How long the stages are.
    pub(crate) lengths: StageLengths,
    /// The settings of the optimizer.
    pub(crate) optimization: Optimization,
    /// How often to validate, sample, checkpoint and log.
    pub(crate) cadence: Cadence,
    /// Parts of the GPT that are not trained, by the start of their names.
    pub(crate) frozen: Vec<String>,
    /// Sentences to speak at the end, with their language; if empty, some are taken from the
    /// training data.
    pub(crate) sample_texts: Vec<String>,
    /// How many sentences to speak at the end.
    pub(crate) sample_count: usize,
    /// How clips are read and put into batches.
    pub(crate) clips: ClipSettings,
    /// Whether a person chose how many host threads there are.
    pub(crate) workers_chosen: bool,
    /// What to do where devices have less memory than was estimated.
    pub(crate) memory_check: MemoryCheck,
    /// Size of a new decoder.
    pub(crate) decoder_size: ModelSize,
    /// Whether accidents of the public implementation are reproduced.
    pub(crate) quirks: Quirks,
    /// Most new tokens from the dataset's words, if the user set it.
    pub(crate) new_tokens: Option<usize>,
    /// Sizes of a new GPT and a new DVAE.
    pub(crate) sizes: Sizes,
    /// Sizes of segments.
    pub(crate) segments: SegmentSizes,
    /// The recordings.
    pub(crate) dataset: PreparedDataset,
    /// The devices, and what they hold.
    pub(crate) plan: Plan,
    /// The effective configuration, compared when a run resumes.
    pub(crate) config: serde_json::Value,
    /// The same with the origin of every value, for people.
    pub(crate) config_text: String,
}

impl Job {
    /// Answers every question of a request.
    #[deny(unused_variables)]
    pub(crate) fn of(request: &TrainRequest) -> Self {
        let chosen = |key: &str| request.chosen.contains(key);
        let Config {
            data,
            model,
            training,
        } = &request.config;
        let RunConfig {
            name,
            checkpoint_dir,
            stage,
            init,
            // `StageLengths::of` takes these.
            epochs: _,
            dvae_epochs: _,
            decoder_epochs: _,
            max_steps: _,
            seed,
            resume,
            reset_training,
            patience,
            // `Cadence::of` takes these.
            validate_every: _,
            sample_every: _,
            checkpoint_every: _,
            keep_checkpoints: _,
            log_every: _,
            sample_count,
            sample_texts,
            freeze,
            // A preparation's, which hands the vocabulary on.
            vocab: _,
        } = &training.run;
        let ModelConfig {
            size,
            quirks,
            new_tokens,
        } = model;
        Self {
            run: run_folder(name, checkpoint_dir.as_deref()),
            stages: stage.names(chosen("training.stage"), init.is_some()),
            init: init.as_ref().map(PathBuf::from),
            resume: *resume,
            reset_training: *reset_training,
            seed: *seed,
            lengths: StageLengths::of(&training.run, *size, &request.chosen),
            optimization: Optimization::of(
                &training.optimizer,
                request.plan.savings.moments,
                &request.chosen,
                *patience,
            ),
            cadence: Cadence::of(&training.run),
            frozen: freeze.clone().unwrap_or_default(),
            sample_texts: sample_texts.clone().unwrap_or_default(),
            sample_count: *sample_count as usize,
            clips: ClipSettings::of(data, &request.sizes),
            workers_chosen: chosen("data.num_workers"),
            memory_check: data.pipeline.memory_check,
            decoder_size: *size,
            quirks: *quirks,
            new_tokens: new_tokens.map(|tokens| tokens as usize),
            sizes: request.sizes.clone(),
            segments: request.segments,
            dataset: request.dataset.clone(),
            plan: request.plan.clone(),
            config: effective(request),
            config_text: request.config_text.clone(),
        }
    }

    /// Returns the number of batches whose gradients make a step.
    pub(crate) fn accumulation(&self) -> usize {
        self.plan.gradient_accumulation_steps.max(1) as usize
    }

    /// Returns the most that a model device computes, in operations a second;
    /// `None` where the card is not known.
    pub(crate) fn peak_flops(&self) -> Option<f64> {
        let device = self.plan.model_devices.first()?;
        let peak = peak_flops::of(&device.name)?;
        Some(peak.at(self.plan.precision.name()).0)
    }
}

/// Returns the least steps of the stages whose epochs nobody chose.
fn least_steps_of(size: ModelSize, chosen: &BTreeSet<String>) -> BTreeMap<StageName, u64> {
    if chosen.contains("training.epochs") {
        return BTreeMap::new();
    }
    let steps = least_steps(size).into_iter();
    steps
        .filter(|(key, ..)| !chosen.contains(*key))
        .map(|(_, stage, steps)| (stage, steps))
        .collect()
}

/// Returns the configuration with what the plan made of start values: a run whose
/// batches were fitted to one machine is not continued with those of another. What
/// it was trained in is part of it, too, whoever decided it.
fn effective(request: &TrainRequest) -> serde_json::Value {
    let TrainRequest {
        config,
        plan,
        dataset,
        ..
    } = request;
    let mut config = config.clone();
    config.data.pipeline.batch_size = plan.batch_size;
    config.training.strategy.gradient_accumulation_steps = plan.gradient_accumulation_steps;
    let adapters = Some(plan.savings.adapters).filter(|rank| *rank > 0);
    config.training.strategy.adapters = adapters;
    if let Some(language) = &dataset.language {
        config.data.dataset.language = Some(language.clone());
    }
    serde_json::json!(config)
}
