//! What a run that resumes may change.
//!
//! The rules of a struct name every field of it: a key without a rule does not
//! compile, nor does a rule whose key is gone. Those of the trainer's own structs
//! stand below the structs. Those of the others stand here and not beside them:
//! what a change means to a run is the trainer's to say.

use myxtts_audio::AudioConfig;
use myxtts_data::config::{DatasetConfig, ShapeConfig};
use myxtts_device::{PipelineConfig, StrategyConfig};
use myxtts_run::config_diff::{Policy, Rule};

/// Makes the rules of a struct of configuration keys, `section.key` by `section.key`.
macro_rules! resume_rules {
    ($rules:ident = $section:literal: $config:ident { $($key:ident: $policy:expr,)* }) => {
        pub(in crate::config) const $rules: &[::myxtts_run::config_diff::Rule<'static>] =
            &[$((concat!($section, ".", stringify!($key)), $policy)),*];
        const _: fn(&$config) = |$config { $($key: _),* }| ();
    };
}
pub(in crate::config) use resume_rules;

const DATA: Policy = Policy::Refuse(
    "the batches would no longer be those of the run; put it back, or start a new run",
);
pub(super) const MODEL: Policy =
    Policy::Refuse("the weights of the checkpoint are of another size; start a new run");

resume_rules!(DATASET = "data": DatasetConfig {
    train_data: DATA,
    val_data: Policy::Notice("validation figures before and after are not of the same clips"),
    language: DATA,
    columns: DATA,
    prepared: Policy::Free,
    cache: Policy::Free,
    max_bad_fraction: Policy::Free,
});

resume_rules!(AUDIO = "data": AudioConfig {
    sample_rate: DATA,
    trim_silence: DATA,
    normalize: DATA,
});

resume_rules!(SHAPES = "data": ShapeConfig {
    n_mels: DATA,
    max_text_length: DATA,
    max_mel_frames: DATA,
    buckets: DATA,
    conditioning_min: DATA,
    conditioning_max: DATA,
    conditioning_from: DATA,
    clip_beginnings: DATA,
});

resume_rules!(PIPELINE = "data": PipelineConfig {
    batch_size: DATA,
    num_workers: Policy::Free,
    pipeline_buffer_size: Policy::Free,
    prefetch_to_gpu: Policy::Free,
    prefetch_buffer_size: Policy::Free,
    optimize_cpu_gpu_overlap: Policy::Free,
    model_start_delay: Policy::Free,
    data_gpu: Policy::Free,
    model_gpu: Policy::Free,
    memory_check: Policy::Free,
    enable_memory_isolation: Policy::Free,
    data_gpu_memory: Policy::Free,
    model_gpu_memory: Policy::Free,
    static_shapes: DATA,
});

resume_rules!(STRATEGY = "training": StrategyConfig {
    multi_gpu: Policy::Refuse(
        "the number of replicas decides the batches; put it back, or start a new run",
    ),
    collective: Policy::Notice("means are not rounded alike"),
    visible_gpus: Policy::Free,
    backend: Policy::Notice("another device rounds differently"),
    gpu_profile: Policy::Free,
    gradient_accumulation_steps: Policy::REFUSED,
    precision: Policy::Notice("losses before and after are not rounded alike"),
    // The same gradients either way.
    recompute: Policy::Free,
    moments: Policy::Notice("the moments are rounded otherwise from here on"),
    adapters: Policy::Refuse(
        "what is learned would be something else; set `training.adapters` as it was, or start \
         another run with --init",
    ),
    enable_graph_mode: Policy::Free,
    allow_fallback: Policy::Free,
});

/// Keys that an older version had, by their section.
const GONE: &[Rule<'static>] = &[("data.*", DATA), ("model.*", MODEL)];

/// Returns the rule of every key. The first that matches counts; what none
/// matches is refused.
pub(crate) fn rules() -> Vec<Rule<'static>> {
    let rules = [
        DATASET,
        AUDIO,
        SHAPES,
        PIPELINE,
        super::model::RESUME,
        super::run::RESUME,
        super::optimizer::RESUME,
        STRATEGY,
        GONE,
    ];
    rules.concat()
}

#[cfg(test)]
mod tests {
    use myxtts_config::Keys;

    use super::*;
    use crate::config::Config;

    #[test]
    fn every_key_has_one_rule_and_every_rule_a_key() {
        let keys = Keys::of::<Config>(&[]);
        let mut keys: Vec<&str> = keys.iter().map(|key| key.path.as_str()).collect();
        let rules = rules();
        let ruled = rules.iter().map(|(key, _)| *key);
        let mut ruled: Vec<&str> = ruled.filter(|key| !key.ends_with('*')).collect();
        keys.sort_unstable();
        ruled.sort_unstable();
        assert_eq!(keys, ruled);
    }
}
