//! The reference pages, checked against the code they describe.
//!
//! `UPDATE_DOCS=1 cargo test --release reference` writes them anew.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::cli::flags::{FLAGS, Takes};
use crate::config::keys;

fn flags_page() -> String {
    let mut page = String::from(
        "# Training flags\n\n\
         Taken by `myxtts train`, `myxtts plan` and `myxtts config show`; `myxtts prepare` takes \
         those that concern a dataset (see [dataset](dataset.md)). Each flag sets the key \
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
                "YAML file; layers: built-in defaults, preset, file, environment MYXTTS_*, flags",
            ),
            row(
                "--set KEY=VALUE",
                "any",
                "set any key, for example data.language=fa; may be repeated",
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
         Written in a YAML file under their sections, in the environment as \
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
        "\n## Older names\n\nKeys of older files keep working as what they meant; `config show` \
         names the one that was used. Several names of one key in one file must agree.\n\n\
         | older name | means |\n|---|---|\n",
    );
    for alias in keys.aliases() {
        use myxtts_config::Meaning;
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
    flag_rows("synthesize", &mut page);
    page
}

/// Words by hand, and below them the flags.
fn serve_page() -> String {
    let page = std::fs::read_to_string(docs("serve.md")).unwrap();
    let (words, _) = page.split_once("## Flags\n").unwrap();
    let mut page = format!("{words}## Flags\n\n| flag | meaning |\n|---|---|\n");
    flag_rows("serve", &mut page);
    page
}

fn flag_rows(command: &str, page: &mut String) {
    let cli = crate::cli::command();
    for argument in cli.find_subcommand(command).unwrap().get_arguments() {
        let takes = match argument.get_action().takes_values() {
            true => argument.get_value_names().unwrap_or_default(),
            false => &[],
        };
        let takes: String = takes.iter().map(|name| format!(" {name}")).collect();
        let takes = takes.replace('|', "\\|");
        let long = argument.get_long().unwrap();
        let help = argument.get_help().unwrap();
        let default = argument.get_default_values().first();
        let default = default
            .filter(|_| argument.get_action().takes_values())
            .map_or(String::new(), |it| format!(" [default: {}]", it.display()));
        writeln!(page, "| `--{long}{takes}` | {help}{default} |").unwrap();
    }
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
fn the_page_on_serving_is_current() {
    check("serve.md", &serve_page());
}
