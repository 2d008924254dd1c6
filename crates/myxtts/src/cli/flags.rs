//! The training flags. Each stands here once: its name, its key, what it
//! takes, its default and its meaning; the parser, `--help` and
//! docs/reference/flags.md are made from this table.

use clap::{Arg, ArgAction, ArgMatches};
use myxtts::{GivenFlag, Report, report};

/// One flag of `train`, as it is typed and what it sets.
pub(crate) struct Flag {
    /// The flag's name without its dashes.
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
    /// No value: the flag itself means this one.
    Switch(&'static str),
    /// A value shown under the first name, or none, which means the second.
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
                "Folder of the training recordings",
            ),
            value(
                "val-data",
                "DIR",
                "data.val_data",
                "held-out split of train data",
                "Folder of the validation recordings",
            ),
            value(
                "language",
                "TAG",
                "data.language",
                "the model's, else by the text's script, else asked for",
                "Language of the recordings; a script that does not fit it is refused",
            ),
            value(
                "columns",
                "id,text,speaker",
                "data.columns",
                "by content, shown in the report",
                "What the columns of the metadata hold; ambiguous tables are refused",
            ),
            value(
                "prepared",
                "DIR",
                "data.prepared",
                "myxtts in the dataset, else the cache folder when it may not be written to",
                "Where preparation puts its files",
            ),
            value(
                "batch-size",
                "N",
                "data.batch_size",
                "by GPU profile",
                "Clips in a batch of the longest clips, on each model device; batches of shorter clips hold more",
            ),
            value(
                "num-workers",
                "N",
                "data.num_workers",
                "what the machine can use",
                "Host threads that prepare batches; one core is left to launch kernels",
            ),
            value(
                "max-text-length",
                "TOKENS",
                "data.max_text_length",
                "200",
                "Longest text; clips with longer text are left out and reported",
            ),
            value(
                "max-mel-frames",
                "FRAMES",
                "data.max_mel_frames",
                "800",
                "Longest clip, in frames of 256 samples; longer clips are left out and reported",
            ),
            switch(
                "split-long",
                "true",
                "data.split_long",
                "off",
                "Split clips over these limits at pauses that fit the marks of their text, instead of leaving them out",
            ),
            value(
                "buckets",
                "N",
                "data.buckets",
                "8",
                "Length buckets: the closed set of batch shapes that keeps padding low",
            ),
            value(
                "cache",
                "none|memory|disk",
                "data.cache",
                "disk",
                "Feature cache; content-addressed, verified, rebuilt when stale",
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
                "Size of the model; never changed silently",
            ),
            value(
                "stage",
                "dvae|gpt|decoder|all",
                "training.stage",
                "all",
                "Parts of XTTS to train; a list (dvae,gpt) leaves one out",
            ),
            value(
                "init",
                "DIR",
                "training.init",
                "none",
                "Start from imported or earlier weights (fine-tuning)",
            ),
            value(
                "epochs",
                "N",
                "training.epochs",
                "by model size",
                "Passes over the training data in every stage",
            ),
            value(
                "max-steps",
                "N",
                "training.max_steps",
                "none",
                "Stop each stage after this many steps",
            ),
            value(
                "seed",
                "N",
                "training.seed",
                "0",
                "Seed for every random choice",
            ),
            value(
                "checkpoint-dir",
                "DIR",
                "training.checkpoint_dir",
                "runs/NAME",
                "Folder of the run",
            ),
            Flag {
                long: "resume",
                key: "training.resume",
                takes: Takes::MaybeValue("auto|never|STEP", "auto"),
                default: "auto",
                meaning: "Checkpoint to resume from; resume is exact",
            },
            switch(
                "reset-training",
                "true",
                "training.reset_training",
                "off",
                "Start again from step 0 with the weights of the checkpoint",
            ),
        ],
    ),
    (
        "Optimizer",
        &[
            value(
                "lr",
                "RATE",
                "training.learning_rate",
                "by model size",
                "Learning rate; a value given here always wins",
            ),
            value(
                "grad-accum",
                "N",
                "training.gradient_accumulation_steps",
                "by GPU profile",
                "Batches per step; multiplies the effective batch size",
            ),
            value(
                "optimization-level",
                "basic|enhanced|experimental|plateau_breaker",
                "training.optimization_level",
                "enhanced",
                "Named set of schedule, clipping and smoothing values; `config show` prints what it sets",
            ),
            value(
                "precision",
                "auto|f32|bf16|f16",
                "training.precision",
                "auto",
                "Mixed precision with f32 master weights; auto decides by device",
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
                "With --model-gpu, Multi-GPU Mode: this GPU prepares data; one flag alone or equal ids are an error",
            ),
            value(
                "model-gpu",
                "ID",
                "data.model_gpu",
                "none",
                "With --data-gpu, Multi-GPU Mode: this GPU trains the model",
            ),
            switch(
                "multi-gpu",
                "true",
                "training.multi_gpu",
                "off",
                "Mirrored data parallel over the visible GPUs; with --data-gpu as well, that GPU prepares data for all replicas",
            ),
            value(
                "visible-gpus",
                "IDS",
                "training.visible_gpus",
                "all",
                "GPUs that may be used, for example 0,1,2",
            ),
            value(
                "gpu-profile",
                "auto|rtx4090|rtx3090|rtx3080|rtx3060",
                "training.gpu_profile",
                "auto",
                "Named settings per card; auto chooses by memory",
            ),
            switch(
                "enable-memory-isolation",
                "true",
                "data.enable_memory_isolation",
                "off",
                "Hard memory budget per device, enforced and reported",
            ),
            value(
                "data-gpu-memory",
                "MB",
                "data.data_gpu_memory",
                "8192",
                "Memory budget for the data work under memory isolation",
            ),
            value(
                "model-gpu-memory",
                "MB",
                "data.model_gpu_memory",
                "16384",
                "Memory budget for the model under memory isolation",
            ),
            switch(
                "allow-fallback",
                "true",
                "training.allow_fallback",
                "off",
                "Replace a mode that cannot be honoured with the nearest one; without this flag it is an error",
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
                "Bound on prepared batches in flight, all stages together; also bounded in bytes",
            ),
            value(
                "model-start-delay",
                "SECONDS",
                "data.model_start_delay",
                "2.0",
                "Longest wait for the buffer to fill before the first step in Multi-GPU Mode",
            ),
            switch(
                "prefetch-to-gpu",
                "true",
                "data.prefetch_to_gpu",
                "on",
                "Keep a ring of ready batches on the device",
            ),
            switch(
                "no-prefetch-to-gpu",
                "false",
                "data.prefetch_to_gpu",
                "off",
                "Upload each batch when it is used",
            ),
            value(
                "prefetch-buffer-size",
                "N",
                "data.prefetch_buffer_size",
                "by GPU profile",
                "Batches in the device-side ring",
            ),
            switch(
                "enable-static-shapes",
                "true",
                "data.static_shapes",
                "on",
                "Use a small closed set of shapes, so that nothing recompiles after warm-up",
            ),
            switch(
                "disable-static-shapes",
                "false",
                "data.static_shapes",
                "off",
                "Pad each batch to its own longest clip",
            ),
            switch(
                "graph-mode",
                "true",
                "training.enable_graph_mode",
                "on",
                "Fuse kernels on GPUs",
            ),
            switch(
                "eager-debug",
                "false",
                "training.enable_graph_mode",
                "off",
                "Run op by op, for debugging",
            ),
        ],
    ),
];

/// Pairs of flags that contradict each other.
const OPPOSITES: [(&str, &str); 3] = [
    ("prefetch-to-gpu", "no-prefetch-to-gpu"),
    ("enable-static-shapes", "disable-static-shapes"),
    ("graph-mode", "eager-debug"),
];

/// The flags that change what `prepare` does.
const DATASET_FLAGS: [&str; 12] = [
    "train-data",
    "val-data",
    "language",
    "columns",
    "prepared",
    "num-workers",
    "max-text-length",
    "max-mel-frames",
    "split-long",
    "buckets",
    "cache",
    "seed",
];

/// The flag that says which devices may be used.
const DEVICE_FLAG: &str = "visible-gpus";

/// The name of the dataset argument, which is given without a flag.
pub(crate) const DATASET: &str = "dataset";

pub(super) const CONFIG: &str = "config";
const SET: &str = "set";

pub(crate) fn all() -> impl Iterator<Item = &'static Flag> {
    FLAGS.iter().flat_map(|(_, flags)| flags.iter())
}

/// Returns whether a flag, with its dashes, is given without a value.
pub(crate) fn is_switch(flag: &str) -> bool {
    let named = |known: &&Flag| flag.strip_prefix("--") == Some(known.long);
    all()
        .find(named)
        .is_some_and(|known| matches!(known.takes, Takes::Switch(_)))
}

/// Returns the flags as arguments of a command.
pub(crate) fn arguments() -> Vec<Arg> {
    arguments_among(|_| true)
}

/// Returns the flags of a command that reads a dataset and trains nothing.
pub(crate) fn dataset_arguments() -> Vec<Arg> {
    arguments_among(|flag| DATASET_FLAGS.contains(&flag.long))
}

/// Returns the flags of a command that uses a device and trains nothing.
pub(crate) fn device_arguments() -> Vec<Arg> {
    arguments_among(|flag| flag.long == DEVICE_FLAG)
}

fn arguments_among(wanted: impl Fn(&Flag) -> bool) -> Vec<Arg> {
    let config = Arg::new(CONFIG)
        .long(CONFIG)
        .value_name("FILE")
        .help_heading("Configuration")
        .help(
            "YAML file. Later layers win: built-in defaults, preset, file, environment MYXTTS_*, flags \
             [default: none]",
        );
    let set = Arg::new(SET)
        .long(SET)
        .value_name("KEY=VALUE")
        .action(ArgAction::Append)
        .help_heading("Configuration")
        .help("Set any key, for example data.language=fa; may be repeated [default: none]");
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

/// Returns what was given on the command line: the file, and the values by key.
pub(crate) fn given(
    matches: &ArgMatches,
) -> Result<(Option<std::path::PathBuf>, Vec<GivenFlag>), Report> {
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
            return Err(report!(
                "--set takes KEY=VALUE, but this is `{set}`";
                fix: "for example --set data.language=fa"
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
    use myxtts::settings::Kind;

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
