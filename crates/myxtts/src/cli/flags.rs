//! The training flags. Each stands here once: its name, its key, what it
//! takes, its default and its meaning; the parser, `--help` and
//! docs/reference/flags.md are made from this table.

use clap::{Arg, ArgAction, ArgMatches};

use crate::config::GivenFlag;

/// One flag.
pub(crate) struct Flag {
    /// Without its dashes.
    pub(crate) long: &'static str,
    /// The configuration key it sets.
    pub(crate) key: &'static str,
    pub(crate) takes: Takes,
    /// The default, in words where it is not a fixed value.
    pub(crate) default: &'static str,
    pub(crate) meaning: &'static str,
}

pub(crate) enum Takes {
    /// A value, shown under this name.
    Value(&'static str),
    /// Nothing: the flag means this value.
    Switch(&'static str),
    /// A value, or none, which means the second.
    MaybeValue(&'static str, &'static str),
}

const fn value(
    long: &'static str,
    name: &'static str,
    key: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Flag {
    Flag {
        long,
        key,
        takes: Takes::Value(name),
        default,
        meaning,
    }
}

const fn switch(
    long: &'static str,
    means: &'static str,
    key: &'static str,
    default: &'static str,
    meaning: &'static str,
) -> Flag {
    Flag {
        long,
        key,
        takes: Takes::Switch(means),
        default,
        meaning,
    }
}

/// The flags of `train` and of every command that plans a training, in groups.
pub(crate) const FLAGS: &[(&str, &[Flag])] = &[
    (
        "Data",
        &[
            value(
                "train-data",
                "DIR",
                "data.train_data",
                "sample corpus",
                "folder of the training recordings",
            ),
            value(
                "val-data",
                "DIR",
                "data.val_data",
                "held-out split of train data",
                "folder of the validation recordings",
            ),
            value(
                "language",
                "TAG",
                "data.language",
                "the model's, else by the text's script, else asked for",
                "language of the recordings; a script that does not fit it is refused",
            ),
            value(
                "columns",
                "id,text,speaker",
                "data.columns",
                "by content, shown in the report",
                "what the columns of the metadata hold; ambiguous tables are refused",
            ),
            value(
                "prepared",
                "DIR",
                "data.prepared",
                "myxtts in the dataset, else the cache folder when it may not be written to",
                "where preparation puts its files",
            ),
            value(
                "batch-size",
                "N",
                "data.batch_size",
                "by GPU profile",
                "clips of the greatest length in a batch, on each model device; more of shorter ones",
            ),
            value(
                "num-workers",
                "N",
                "data.num_workers",
                "what the machine can use",
                "host threads that prepare batches; one core is left to launch kernels",
            ),
            value(
                "max-text-length",
                "TOKENS",
                "data.max_text_length",
                "200",
                "longest text; longer clips are left out and named",
            ),
            value(
                "max-mel-frames",
                "FRAMES",
                "data.max_mel_frames",
                "800",
                "longest clip, in frames of 256 samples; longer clips are left out and named",
            ),
            value(
                "buckets",
                "N",
                "data.buckets",
                "8",
                "length buckets: the closed set of batch shapes, so that padding stays low",
            ),
            value(
                "cache",
                "none|memory|disk",
                "data.cache",
                "disk",
                "feature cache; content-addressed, verified, rebuilt when stale",
            ),
        ],
    ),
    (
        "Run",
        &[
            value(
                "model-size",
                "tiny|small|normal|big|xtts-v2",
                "model.size",
                "tiny",
                "size of the model; never changed silently",
            ),
            value(
                "stage",
                "dvae|gpt|decoder|all",
                "training.stage",
                "all",
                "the parts of XTTS to train; a list (dvae,gpt) leaves one out",
            ),
            value(
                "init",
                "DIR",
                "training.init",
                "none",
                "start from imported or earlier weights (fine-tuning)",
            ),
            value(
                "epochs",
                "N",
                "training.epochs",
                "by model size",
                "passes over the training data, in every stage",
            ),
            value(
                "max-steps",
                "N",
                "training.max_steps",
                "none",
                "stop each stage after this many steps",
            ),
            value(
                "seed",
                "N",
                "training.seed",
                "0",
                "seed of every random choice",
            ),
            value(
                "checkpoint-dir",
                "DIR",
                "training.checkpoint_dir",
                "runs/NAME",
                "folder of the run",
            ),
            Flag {
                long: "resume",
                key: "training.resume",
                takes: Takes::MaybeValue("auto|never|STEP", "auto"),
                default: "auto",
                meaning: "where to go on; resume is exact",
            },
            switch(
                "reset-training",
                "true",
                "training.reset_training",
                "off",
                "start from step 0 with the weights of the checkpoint",
            ),
        ],
    ),
    (
        "Optimiser",
        &[
            value(
                "lr",
                "RATE",
                "training.learning_rate",
                "by model size",
                "learning rate; given here, it always wins",
            ),
            value(
                "grad-accum",
                "N",
                "training.gradient_accumulation_steps",
                "by GPU profile",
                "batches per step; multiplies the clips of a step",
            ),
            value(
                "optimization-level",
                "basic|enhanced|experimental|plateau_breaker",
                "training.optimization_level",
                "enhanced",
                "named set of schedule, clipping and smoothing values; `config show` prints what it sets",
            ),
            value(
                "precision",
                "auto|f32|bf16|f16",
                "training.precision",
                "auto",
                "mixed precision with f32 master weights; auto decides by device",
            ),
        ],
    ),
    (
        "Devices",
        &[
            value(
                "data-gpu",
                "ID",
                "data.data_gpu",
                "none",
                "with --model-gpu, Multi-GPU Mode: data work on this GPU, any id; one alone or equal ids is an error",
            ),
            value(
                "model-gpu",
                "ID",
                "data.model_gpu",
                "none",
                "with --data-gpu, Multi-GPU Mode: the model on this GPU",
            ),
            switch(
                "multi-gpu",
                "true",
                "training.multi_gpu",
                "off",
                "mirrored data parallel over the visible GPUs; with --data-gpu too, that GPU prepares data for all replicas",
            ),
            value(
                "visible-gpus",
                "IDS",
                "training.visible_gpus",
                "all",
                "the GPUs that may be used, for example 0,1,2",
            ),
            value(
                "gpu-profile",
                "auto|rtx4090|rtx3090|rtx3080|rtx3060",
                "training.gpu_profile",
                "auto",
                "named settings per card; auto goes by memory",
            ),
            switch(
                "enable-memory-isolation",
                "true",
                "data.enable_memory_isolation",
                "off",
                "hard memory budget per device, enforced and reported",
            ),
            value(
                "data-gpu-memory",
                "MB",
                "data.data_gpu_memory",
                "8192",
                "memory budget of the data work under memory isolation",
            ),
            value(
                "model-gpu-memory",
                "MB",
                "data.model_gpu_memory",
                "16384",
                "memory budget of the model under memory isolation",
            ),
            switch(
                "allow-fallback",
                "true",
                "training.allow_fallback",
                "off",
                "let a mode that cannot be honoured be replaced by the nearest; without it that is an error",
            ),
        ],
    ),
    (
        "Pipeline",
        &[
            value(
                "buffer-size",
                "N",
                "data.pipeline_buffer_size",
                "50",
                "bound on prepared batches in flight, all stages together; also bounded in bytes",
            ),
            value(
                "model-start-delay",
                "SECONDS",
                "data.model_start_delay",
                "2.0",
                "longest wait for the buffer to fill before the first step in Multi-GPU Mode",
            ),
            switch(
                "prefetch-to-gpu",
                "true",
                "data.prefetch_to_gpu",
                "on",
                "keep a ring of ready batches on the device",
            ),
            switch(
                "no-prefetch-to-gpu",
                "false",
                "data.prefetch_to_gpu",
                "off",
                "upload each batch when it is used",
            ),
            value(
                "prefetch-buffer-size",
                "N",
                "data.prefetch_buffer_size",
                "by GPU profile",
                "batches in the device-side ring",
            ),
            switch(
                "enable-static-shapes",
                "true",
                "data.static_shapes",
                "on",
                "a small closed set of shapes: nothing recompiles after warm-up",
            ),
            switch(
                "disable-static-shapes",
                "false",
                "data.static_shapes",
                "off",
                "pad each batch to its own longest clip",
            ),
            switch(
                "graph-mode",
                "true",
                "training.enable_graph_mode",
                "on",
                "kernel fusion",
            ),
            switch(
                "eager-debug",
                "false",
                "training.enable_graph_mode",
                "off",
                "run op by op, for debugging",
            ),
        ],
    ),
];

/// Pairs that say opposite things.
const OPPOSITES: [(&str, &str); 3] = [
    ("prefetch-to-gpu", "no-prefetch-to-gpu"),
    ("enable-static-shapes", "disable-static-shapes"),
    ("graph-mode", "eager-debug"),
];

/// Those that change what `prepare` does.
const DATASET_FLAGS: [&str; 11] = [
    "train-data",
    "val-data",
    "language",
    "columns",
    "prepared",
    "num-workers",
    "max-text-length",
    "max-mel-frames",
    "buckets",
    "cache",
    "seed",
];

/// Which devices may be used.
const DEVICE_FLAG: &str = "visible-gpus";

/// The dataset given without a flag.
pub(crate) const DATASET: &str = "dataset";

pub(super) const CONFIG: &str = "config";
const SET: &str = "set";

pub(crate) fn all() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().flat_map(|(_, flags)| flags.iter())
}

/// The flags as arguments of a command.
pub(crate) fn arguments() -> Vec<Arg> {
    arguments_among(|_| true)
}

/// The flags of a command that looks at a dataset and trains nothing.
pub(crate) fn dataset_arguments() -> Vec<Arg> {
    arguments_among(|flag| DATASET_FLAGS.contains(&flag.long))
}

/// The flags of a command that uses a device and trains nothing.
pub(crate) fn device_arguments() -> Vec<Arg> {
    arguments_among(|flag| flag.long == DEVICE_FLAG)
}

fn arguments_among(wanted: impl Fn(&Flag) -> bool) -> Vec<Arg> {
    let config = Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .help_heading("Configuration")
        .help(
            "YAML file; layers: built-in defaults, preset, file, environment MYXTTS_*, flags \
             [default: none]",
        );
    let set = Arg::new(SET)
        .long(SET)
        .value_name("KEY=VALUE")
        .action(ArgAction::Append)
        .help_heading("Configuration")
        .help("set any key, for example data.language=fa; may be repeated [default: none]");
    let mut arguments = vec![config, set];
    for (group, flags) in FLAGS {
        let flags = flags.iter().filter(|flag| wanted(flag));
        arguments.extend(flags.map(|flag| argument(flag).help_heading(*group)));
    }
    arguments
}

fn argument(flag: &Flag) -> Arg {
    let arg = Arg::new(flag.long)
        .long(flag.long)
        .help(format!("{} [default: {}]", flag.meaning, flag.default));
    let opposite = OPPOSITES.iter().find_map(|(a, b)| match flag.long {
        long if long == *a => Some(*b),
        long if long == *b => Some(*a),
        _ => None,
    });
    let arg = match opposite {
        Some(other) => arg.conflicts_with(other),
        None => arg,
    };
    match flag.takes {
        Takes::Switch(_) => arg.action(ArgAction::SetTrue),
        Takes::Value(name) => arg.value_name(name).allow_negative_numbers(true),
        Takes::MaybeValue(name, missing) => arg
            .value_name(name)
            .num_args(0..=1)
            .default_missing_value(missing),
    }
}

/// What was given on the command line: the file, and values by key.
pub(crate) fn given(
    matches: &ArgMatches,
) -> Result<(Option<std::path::PathBuf>, Vec<GivenFlag>), String> {
    let mut given = Vec::new();
    for flag in all() {
        // A command that does not take the flag was not given it.
        let value = match flag.takes {
            Takes::Switch(means) => matches
                .try_get_one::<bool>(flag.long)
                .is_ok_and(|given| given == Some(&true))
                .then(|| means.to_owned()),
            _ => matches
                .try_get_one::<String>(flag.long)
                .ok()
                .flatten()
                .cloned(),
        };
        if let Some(value) = value {
            given.push(GivenFlag {
                flag: format!("--{}", flag.long),
                key: flag.key.to_owned(),
                value,
            });
        }
    }
    for set in matches.get_many::<String>(SET).into_iter().flatten() {
        let Some((key, value)) = set.split_once('=') else {
            return Err(format!(
                "--set takes KEY=VALUE, but this is `{set}`\n  hint: for example --set data.language=fa"
            ));
        };
        given.push(GivenFlag {
            flag: "--set".to_owned(),
            key: key.trim().to_owned(),
            value: value.to_owned(),
        });
    }
    Ok((matches.get_one::<String>(CONFIG).map(Into::into), given))
}

#[cfg(test)]
mod tests {
    use super::*;
    use myxtts_config::Kind;

    use crate::config::keys;

    #[test]
    fn every_flag_sets_a_known_key() {
        let keys = keys();
        for flag in all() {
            assert!(
                keys.get(flag.key).is_some(),
                "--{} sets {}",
                flag.long,
                flag.key
            );
        }
    }

    #[test]
    fn flags_of_other_commands_are_flags() {
        for long in DATASET_FLAGS.into_iter().chain([DEVICE_FLAG]) {
            assert!(all().any(|flag| flag.long == long), "--{long}");
        }
    }

    #[test]
    fn every_stated_default_is_the_default() {
        let keys = keys();
        let computed = [
            "by GPU profile",
            "by model size",
            "what the machine can use",
        ];
        for flag in all().filter(|flag| !computed.contains(&flag.default)) {
            let key = keys.get(flag.key).unwrap();
            let stated = match (flag.default, &flag.takes) {
                ("on", Takes::Switch(means)) => (*means).to_owned(),
                ("off", Takes::Switch(means)) => (*means != "true").to_string(),
                (other, _) => other.to_owned(),
            };
            assert_eq!(stated, key.show(&key.default), "--{}", flag.long);
        }
    }

    #[test]
    fn the_words_a_flag_offers_are_the_words_its_key_takes() {
        let keys = keys();
        for flag in all() {
            let Takes::Value(name) = flag.takes else {
                continue;
            };
            if name.contains('|') {
                let words: Vec<String> = name.split('|').map(str::to_owned).collect();
                // A key that also takes a list of its words takes one of them first.
                let kind = match &keys.get(flag.key).unwrap().kind {
                    Kind::Either(kinds) => &kinds[0],
                    kind => kind,
                };
                assert_eq!(kind, &Kind::Word(words));
            }
        }
    }
}
