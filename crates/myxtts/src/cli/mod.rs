//! The command line, as it is typed.

mod bench;
mod doctor;
mod evaluate;
pub(crate) mod flags;
mod monitor;
mod profile;
mod serve;
mod synthesize;

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use clap_complete::Shell;

pub(crate) use synthesize::Format;

/// Commands that are not implemented yet: name, alias, job.
pub(crate) const LATER: &[(&str, Option<&str>, &str)] = &[(
    "dashboard",
    None,
    "Show one run or a folder of runs as a local web page",
)];

const ABOUT: &str = "Train XTTS voices and speak with them, keeping every GPU busy";

const AFTER: &str = "\
Start with:
  myxtts train            a small voice from scratch, in minutes
  myxtts devices          what this machine has
  myxtts prepare DIR      what a dataset holds, and what is wrong with it
  myxtts plan             what a training would do with it
  myxtts doctor           where the time of a training goes, and what to change
  myxtts config new       a commented configuration file

Exit codes: 0 done, 1 the job failed or the doctor found a blocking problem, 2 wrong usage or configuration, 130 interrupted.";

/// Returns the whole command line.
pub(crate) fn command() -> Command {
    let version: &'static str = Box::leak(version().into_boxed_str());
    Command::new("myxtts")
        .about(ABOUT)
        .version(version)
        .after_help(AFTER)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .propagate_version(true)
        .max_term_width(100)
        .arg(
            Arg::new("json")
                .long("json")
                .global(true)
                .action(ArgAction::SetTrue)
                .help("Print one JSON document on stdout and nothing else there"),
        )
        .subcommands(
            LATER
                .iter()
                .map(|(name, alias, about)| later(name, *alias, about)),
        )
        .subcommand(train())
        .subcommand(doctor::command())
        .subcommand(synthesize::command())
        .subcommand(evaluate::command())
        .subcommand(serve::command())
        .subcommand(monitor::command())
        .subcommand(plan())
        .subcommand(prepare())
        .subcommand(profile::command())
        .subcommand(profile::tune())
        .subcommand(
            Command::new("devices")
                .about("List every device by backend, or say why a backend is unavailable"),
        )
        .subcommand(config())
        .subcommand(import())
        .subcommand(export())
        .subcommand(bench::command())
        .subcommand(
            Command::new("completions")
                .about("Print a completion script for a shell")
                .arg(
                    Arg::new("shell")
                        .required(true)
                        .value_parser(value_parser!(Shell)),
                ),
        )
        .subcommand(
            Command::new("probe-backend")
                .hide(true)
                .about("List the GPUs of one backend as JSON; called by `devices` and `plan`")
                .arg(Arg::new("backend").required(true)),
        )
        .subcommand(profile::probe_steps())
}

/// Returns the version with its backends: `0.1.0 (backends: cpu, wgpu)`.
fn version() -> String {
    let mut backends = vec!["cpu", "wgpu"];
    for (name, built) in [
        ("cuda", cfg!(feature = "cuda")),
        ("rocm", cfg!(feature = "rocm")),
        ("metal", cfg!(feature = "metal")),
        ("vulkan", cfg!(feature = "vulkan")),
    ] {
        if built {
            backends.push(name);
        }
    }
    format!(
        "{} (backends: {})",
        env!("CARGO_PKG_VERSION"),
        backends.join(", ")
    )
}

fn later(name: &'static str, alias: Option<&'static str>, about: &'static str) -> Command {
    let command = Command::new(name).about(format!("{about} (not in this version)"));
    let command = match alias {
        Some(alias) => command.visible_alias(alias),
        None => command,
    };
    // Whatever is asked of it, the answer is the same plain sentence.
    command.arg(
        Arg::new("arguments")
            .num_args(0..)
            .trailing_var_arg(true)
            .allow_hyphen_values(true)
            .hide(true),
    )
}

fn train() -> Command {
    Command::new("train")
        .about("Train a voice; with no arguments, the tiny model on the embedded sample corpus")
        .long_about(
            "Train a voice: prepare the dataset, then train the DVAE and the GPT on the devices of \
             the plan. With no arguments it trains the tiny model on the embedded sample corpus and \
             ends with speech to listen to. An interrupted run resumes where it stopped.",
        )
        .arg(
            Arg::new("quick")
                .long("quick")
                .action(ArgAction::SetTrue)
                .help("Smoke-test the same path in about a minute, with few steps and few samples [default: off]"),
        )
        .args(flags::arguments())
}

fn plan() -> Command {
    Command::new("plan")
        .about("Print what a training would do (devices, strategy, buffers, memory) and stop")
        .long_about(
            "Print what a training would do and stop: devices, strategy, buffers, memory, \
             precision, with the reason for each decision. Takes every flag of `train` and \
             touches no device. Exits with code 2 if the training would not fit in memory.",
        )
        .arg(
            Arg::new("assume-gpus")
                .long("assume-gpus")
                .value_name("N")
                .value_parser(value_parser!(u32).range(0..=64))
                .help("Plan for N imaginary GPUs instead of those found"),
        )
        .arg(
            Arg::new("assume-memory")
                .long("assume-memory")
                .value_name("MB,...")
                .requires("assume-gpus")
                .value_delimiter(',')
                .value_parser(value_parser!(u64).range(1..=1_048_576))
                .help("Memory of the imaginary GPUs: one size for all, or one for each, for example 12000,6000 [default: 24576]"),
        )
        .args(flags::arguments())
}

fn prepare() -> Command {
    Command::new("prepare")
        .about("Check and index a dataset folder, report, fill the cache")
        .long_about(
            "Read every clip of a dataset once. Good clips go to manifest.jsonl, all others to \
             quarantine.jsonl with the reason; report.txt and report.json say what was found. \
             Exits with code 1 if more than data.max_bad_fraction of the clips are bad.",
        )
        .arg(
            Arg::new(flags::DATASET)
                .value_name("DIR")
                .conflicts_with("train-data")
                .help("The dataset: a folder, or its metadata file [default: --train-data, else the sample corpus]"),
        )
        .arg(
            Arg::new("vocab")
                .long("vocab")
                .value_name("FILE")
                .help("XTTS vocab.json, to check that it covers every character and to count text in its tokens [default: none]"),
        )
        .arg(
            Arg::new("convert")
                .long("convert")
                .action(ArgAction::SetTrue)
                .help("Convert every clip to mono FLAC at data.sample_rate, and index the copies [default: off]"),
        )
        .arg(
            Arg::new("encode")
                .long("encode")
                .action(ArgAction::SetTrue)
                .requires("checkpoint")
                .help("Make the codes of every clip now, in the batches that `train` will use with the same configuration [default: off]"),
        )
        .arg(
            Arg::new("checkpoint")
                .long("checkpoint")
                .visible_alias("init")
                .value_name("DIR")
                .requires("encode")
                .help("The run or weights whose DVAE makes the codes [default: none]"),
        )
        .args(flags::dataset_arguments())
        .mut_arg("prepared", |prepared| prepared.visible_alias("out"))
        .mut_arg("split-long", |split| split.visible_alias("split"))
}

fn import() -> Command {
    Command::new("import")
        .about("Read public XTTS-v2 files into our safetensors layout")
        .long_about(
            "Read public XTTS-v2 files into our safetensors layout: model.pth, best_model.pth or \
             checkpoint_STEP.pth with config.json beside it, and dvae.pth, mel_stats.pth, \
             vocab.json and speakers_xtts.pth if they are there. Nothing in the files is executed; \
             what is not imported is listed.",
        )
        .arg(
            Arg::new("from")
                .value_name("DIR|FILE")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("Folder of the files, or the file of weights"),
        )
        .arg(out())
}

fn export() -> Command {
    Command::new("export")
        .about("Write weights back as public XTTS-v2 files")
        .arg(
            Arg::new("from")
                .value_name("DIR")
                .required(true)
                .value_parser(value_parser!(PathBuf))
                .help("A run (its newest checkpoint), one of its checkpoints, or imported weights"),
        )
        .arg(out())
}

fn out() -> Arg {
    Arg::new("out")
        .long("out")
        .value_name("DIR")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("Folder to create; it must not exist, or must be empty")
}

fn config() -> Command {
    let file = || Arg::new("file").value_name("FILE");
    Command::new("config")
        .about("Show, check, describe or start a configuration")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("show")
                .about("Print every value in force and where it came from")
                .args(flags::arguments()),
        )
        .subcommand(
            Command::new("validate")
                .about("Check a configuration as `train` would, without data or devices")
                .arg(
                    file()
                        .conflicts_with("config")
                        .help("The YAML file; the same as --config"),
                )
                .args(flags::arguments()),
        )
        .subcommand(Command::new("schema").about("Print the JSON Schema of a configuration file"))
        .subcommand(
            Command::new("presets")
                .about("List the named sets of values: GPU profiles, levels, model sizes"),
        )
        .subcommand(
            Command::new("new")
                .about("Write a commented configuration file to start from")
                .arg(
                    file()
                        .default_value("myxtts.yaml")
                        .help("Where to write it; `-` prints it"),
                )
                .arg(
                    Arg::new("force")
                        .long("force")
                        .action(ArgAction::SetTrue)
                        .help("Replace the file if it exists"),
                ),
        )
}
