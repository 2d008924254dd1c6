//! The reference pages, checked against the code they describe.
//!
//! `UPDATE_DOCS=1 cargo test --release reference` writes them again.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use myxtts::evaluate::MEANINGS;

use crate::cli::flags::{FLAGS, Takes};
use crate::config::keys;

fn flags_page() -> String {
    let mut page = String::from(
        "# Training flags\n\n\
         These flags are taken by `myxtts train`, `myxtts plan` and `myxtts config show`; `myxtts \
         prepare` takes those that concern a dataset (see [dataset](dataset.md)). Each flag sets the key \
         beside it; `--set KEY=VALUE` reaches every other key (see \
         [configuration](configuration.md)). Layers: built-in defaults, then preset, then file, \
         then environment `MYXTTS_*`, then flags.\n",
    );
    let mut group = |title: &str, rows: &[[String; 4]]| {
        write!(
            page,
            "\n## {title}\n\n| flag | default | key | meaning |\n|---|---|---|---|\n"
        )
        .unwrap();
        for [flag, default, key, meaning] in rows {
            writeln!(page, "| `{flag}` | {default} | {key} | {meaning} |").unwrap();
        }
    };
    let row = |flag: &str, key: &str, meaning: &str| {
        [
            flag.to_owned(),
            "none".to_owned(),
            key.to_owned(),
            meaning.to_owned(),
        ]
    };
    group(
        "Configuration",
        &[
            row(
                "--config FILE",
                "",
                "YAML file. Later layers win: built-in defaults, preset, file, environment MYXTTS_*, flags",
            ),
            row(
                "--set KEY=VALUE",
                "any",
                "Set any key, for example data.language=fa; may be repeated",
            ),
        ],
    );
    for (title, flags) in FLAGS {
        let rows: Vec<[String; 4]> = flags
            .iter()
            .map(|flag| {
                let takes = match flag.takes {
                    Takes::Value(name) => format!(" {}", name.replace('|', "\\|")),
                    Takes::MaybeValue(name, _) => format!(" [{}]", name.replace('|', "\\|")),
                    Takes::Switch(_) => String::new(),
                };
                [
                    format!("--{}{takes}", flag.long),
                    flag.default.to_owned(),
                    format!("`{}`", flag.key),
                    flag.meaning.to_owned(),
                ]
            })
            .collect();
        group(title, &rows);
    }
    page
}

fn configuration_page() -> String {
    let keys = keys();
    let mut page = String::from(
        "# Configuration keys\n\n\
         Keys are written in a YAML file under their sections, in the environment as \
         `MYXTTS_SECTION_KEY` (`data.batch_size` is `MYXTTS_DATA_BATCH_SIZE`), or on the command \
         line as `--set section.key=value`. An unknown key, a wrong type, a value out of range or \
         a key given twice is an error that names the file, the line, the column and the nearest \
         known key. `myxtts config show` prints the values in force and where each came from; \
         `myxtts config new` writes a commented file; `myxtts config schema` prints the JSON \
         Schema for an editor.\n",
    );
    for section in keys.sections() {
        write!(
            page,
            "\n## `{section}`\n\n| key | default | takes | meaning |\n|---|---|---|---|\n"
        )
        .unwrap();
        for key in keys.iter().filter(|key| key.section() == section) {
            let takes = match &key.unset {
                Some(word) => format!("{}, or `{word}`", key.kind.describe()),
                None => key.kind.describe(),
            };
            writeln!(
                page,
                "| `{}` | {} | {takes} | {} |",
                key.name(),
                key.show(&key.default),
                key.description
            )
            .unwrap();
        }
    }
    page.push_str(
        "\n## Older names\n\nKeys of older files keep working and mean what they meant; `config show` \
         names the one that was used. Several names of one key in one file must agree.\n\n\
         | older name | means |\n|---|---|\n",
    );
    for alias in keys.aliases() {
        use myxtts::settings::Meaning;
        let meaning = match alias.meaning {
            Meaning::Same(key) => format!("`{key}`"),
            Meaning::Not(key) => format!("the opposite of `{key}`"),
            Meaning::Words { key, yes, no } => {
                format!("`{key}`: `true` is `{yes}`, `false` is `{no}`")
            }
            Meaning::AlwaysOn { why } => format!("`false` is refused: {why}"),
        };
        writeln!(page, "| `{}` | {meaning} |", alias.name).unwrap();
    }
    page
}

fn synthesize_page() -> String {
    let mut page = String::from(include_str!("reference/speaking.md"));
    page.push_str("| flag | meaning |\n|---|---|\n");
    page.push_str(&flags_of("synthesize"));
    page
}

fn evaluate_page() -> String {
    let mut page = String::from(
        "# Evaluating\n\n\
         `myxtts evaluate` speaks a list of sentences with a model and measures the result. With no \
         arguments it takes the newest run and the clips that it was validated on.\n\n\
         - The sentences: a text file with one per line; JSON lines (`.jsonl`) with `text` and, if \
         known, `recording` (a path from the list's folder), `speaker`, `language` and `id`; \
         or a dataset (`--dataset`), of which the clips are taken that a preparation held out, else \
         those that it sets apart itself, else all. Nothing is written to the dataset.\n\
         - The voice: that of `--speaker-wav`, `--voice` or `--speaker`; without these, the stored voice \
         of the sentence's speaker, else that of its own recording, else the first one stored.\n\
         - Codes are sampled as the model's card says, with one seed for all: the same command measures \
         the same speech. Sentences are spoken one at a time, after one that is not timed.\n\
         - `--copy` speaks nothing. Recordings are turned into the model's own codes and back by each \
         vocoder it has: Griffin-Lim from the DVAE's mel, and the waveform decoder from the latents of \
         the GPT, which is given text and codes. This compares a decoder with Griffin-Lim, and bounds \
         what the model's speech can score.\n\
         - `--recogniser 'COMMAND {wav}'` runs a recogniser of yours for each clip, without a shell. \
         What it prints on stdout is the transcript. The recordings are recognised as well, because the \
         recogniser's own errors are in every figure: this shows how many there are. A recogniser that \
         cannot be started ends the command. If it fails, takes too long (`--recogniser-timeout`) or \
         prints something other than text, that is reported with the sentence, which has no part in the \
         rates, and the command exits with code 1.\n\
         - `--page DIR` writes `index.html` with the table, the mel of both clips, the alignment, both \
         pitch curves and players. Pictures are inside the page, audio files lie beside it, and nothing \
         is loaded from elsewhere.\n\
         - The table is for people; `--json` has every figure of every sentence, and what each means.\n\n\
         ## Scores\n\n\
         | name | meaning |\n|---|---|\n",
    );
    for (name, meaning) in MEANINGS {
        writeln!(page, "| `{name}` | {meaning} |").unwrap();
    }
    page.push_str(
        "\nClips are compared at 22,050 Hz without the silence around them, in frames 256 samples \
         apart; a clip's level changes nothing. Two clips that are too long to align exactly, about two \
         minutes each, have no scores and say so. [benchmarks/scores.md](../../benchmarks/scores.md) compares \
         each measure with a public package. Not measured: what listeners or models of listeners think.\n\n\
         ## Flags\n\n| flag | meaning |\n|---|---|\n",
    );
    page.push_str(&flags_of("evaluate"));
    page
}

/// Words by hand, and below them the flags.
fn serve_page() -> String {
    let page = std::fs::read_to_string(docs("serve.md")).unwrap();
    let (words, _) = page.split_once("## Flags\n").unwrap();
    let mut page = format!("{words}## Flags\n\n| flag | meaning |\n|---|---|\n");
    page.push_str(&flags_of("serve"));
    page
}

/// Words by hand, then flags and every finding from the code.
fn doctor_page() -> String {
    let page = std::fs::read_to_string(docs("doctor.md")).unwrap();
    let (words, _) = page.split_once("## Flags\n").unwrap();
    let mut page = format!("{words}## Flags\n\n| flag | meaning |\n|---|---|\n");
    let is_training = |row: &&str| {
        crate::cli::flags::all().any(|flag| {
            let long = format!("| `--{}", flag.long);
            row.strip_prefix(long.as_str())
                .is_some_and(|rest| rest.starts_with([' ', '`']))
        })
    };
    let own = flags_of("doctor");
    for row in own.lines().filter(|row| !is_training(row)) {
        writeln!(page, "{row}").unwrap();
    }
    page.push_str("\nThe flags of `myxtts train` say what to measure; see [flags](flags.md).\n");
    page.push_str("\n## Findings\n");
    for rule in myxtts::doctor::RULES {
        let texts = &rule.texts.en;
        let (code, title, meaning) = (rule.code, texts.title, texts.meaning);
        write!(page, "\n### {code}: {title}\n\n{meaning}\n").unwrap();
        let mut told: Vec<&str> = Vec::new();
        for form in texts.forms {
            if !told.contains(&form.fix) {
                told.push(form.fix);
                // A name in braces is a number of the report.
                let fix = form.fix.replace(['{', '}'], "*");
                write!(page, "\n- Fix: {fix}.\n").unwrap();
            }
        }
    }
    page
}

#[test]
fn the_page_on_the_doctor_is_current() {
    check("doctor.md", &doctor_page());
}

fn monitor_page() -> String {
    let page = std::fs::read_to_string(docs("monitor.md")).unwrap();
    let (words, _) = page.split_once("## Flags\n").unwrap();
    let mut page = format!("{words}## Flags\n\n| flag | meaning |\n|---|---|\n");
    page.push_str(&flags_of("monitor"));
    page
}

/// The flags of a command, a row each.
fn flags_of(name: &str) -> String {
    let mut rows = String::new();
    let command = crate::cli::command();
    for argument in command.find_subcommand(name).unwrap().get_arguments() {
        let takes = match argument.get_action().takes_values() {
            true => argument.get_value_names().unwrap_or_default(),
            false => &[],
        };
        let takes: String = takes.iter().map(|name| format!(" {name}")).collect();
        let takes = takes.replace('|', "\\|");
        let name = match argument.get_long() {
            Some(long) => format!("--{long}{takes}"),
            None => takes.trim_start().to_owned(),
        };
        let help = argument.get_help().unwrap();
        let default = argument.get_default_values().first();
        let default = default
            .filter(|_| argument.get_action().takes_values())
            .map_or(String::new(), |it| format!(" [default: {}]", it.display()));
        writeln!(rows, "| `{name}` | {help}{default} |").unwrap();
    }
    rows
}

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/reference")
        .join(name)
}

fn check(name: &str, expected: &str) {
    let path = docs(name);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "{name} is stale: UPDATE_DOCS=1 cargo test --release reference"
    );
}

#[test]
fn the_flags_page_is_current() {
    check("flags.md", &flags_page());
}

#[test]
fn the_configuration_page_is_current() {
    check("configuration.md", &configuration_page());
}

#[test]
fn the_page_on_speaking_is_current() {
    check("synthesize.md", &synthesize_page());
}

#[test]
fn the_page_on_evaluating_is_current() {
    check("evaluate.md", &evaluate_page());
}

#[test]
fn the_page_on_serving_is_current() {
    check("serve.md", &serve_page());
}

#[test]
fn the_page_on_watching_is_current() {
    check("monitor.md", &monitor_page());
}
