//! `myxtts config`

use std::io::ErrorKind;
use std::path::Path;

use clap::ArgMatches;
use myxtts::machine::this_machine;
use myxtts::settings::{self, Keys, Layer, PresetGroup, in_declared_order};
use myxtts::{Config, NewFile, Settings, report};
use serde_json::{Map, Value, json};

use crate::config;
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("show", matches)) => show(matches, output),
        Some(("validate", matches)) => validate(matches, output),
        Some(("schema", _)) => output.document(config::keys().schema()),
        Some(("presets", _)) => list_presets(output),
        Some(("new", matches)) => new(matches, output),
        _ => Err(Failure::Usage("no subcommand was given".into())),
    }
}

fn show(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let (keys, machine) = (config::keys(), this_machine()?);
    let settings = config::load(&super::given(matches)?, &machine)?;
    output.result(
        &shown_document(&keys, &settings),
        shown_text(&keys, &settings),
    )
}

fn shown_document(keys: &Keys, settings: &Settings<Config>) -> Value {
    let mut document = Map::new();
    for (path, setting) in in_declared_order(keys, settings) {
        let mut entry = json!({ "value": setting.value, "origin": setting.origin.to_string() });
        if let Some(alias) = &setting.alias {
            entry["alias"] = json!(alias);
        }
        document.insert(path.to_owned(), entry);
    }
    Value::Object(document)
}

fn shown_text(keys: &Keys, settings: &Settings<Config>) -> String {
    let rows: Vec<[String; 3]> = in_declared_order(keys, settings)
        .map(|(path, setting)| {
            let value = match keys.get(path) {
                Some(key) => key.show(&setting.value),
                None => setting.value.to_string(),
            };
            let origin = match &setting.alias {
                Some(alias) if keys.get(path).is_some() => {
                    format!("{} (as {alias})", setting.origin)
                }
                Some(_) => format!("{} (always on)", setting.origin),
                None => setting.origin.to_string(),
            };
            [path.to_owned(), value, origin]
        })
        .collect();
    table(&rows)
}

/// Checks a file as [`settings::validate`] does.
fn validate(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let mut given = super::given(matches)?;
    let named = matches.get_one::<String>("file").map(Into::into);
    given.file = named.or(given.file);
    let count = settings::validate(&config::keys(), &given)?;
    let noun = if count == 1 { "key" } else { "keys" };
    let file = given.file.map(|file| file.display().to_string());
    let name = file.as_deref().unwrap_or("flags and environment");
    output.result(
        &json!({ "file": file, "valid": true, "keys": count }),
        format!("{name}: valid, {count} {noun} set"),
    )
}

/// Returns the heading of the presets that `key` chooses between.
fn title(key: &str) -> &'static str {
    match key {
        "gpu_profile" => "GPU profiles (--gpu-profile)",
        "optimization_level" => "Optimization levels (--optimization-level)",
        _ => "Model sizes (--model-size)",
    }
}

fn list_presets(output: &Output) -> Result<(), Failure> {
    let values = |layer: &Layer| -> Map<String, Value> {
        layer
            .iter()
            .map(|(key, setting)| (key.to_owned(), setting.value.clone()))
            .collect()
    };
    let mut document = Map::new();
    let mut text = String::new();
    for PresetGroup { key, sets } in settings::presets() {
        text.push_str(&format!("{}\n", title(key)));
        let mut group = Map::new();
        for set in sets {
            let (name, purpose, values) = (set.name, set.purpose, values(&set.values));
            let colon = if purpose.is_empty() { "" } else { ": " };
            text.push_str(&format!("  {name}{colon}{purpose}\n"));
            for (key, value) in &values {
                text.push_str(&format!(
                    "    {key}: {}\n",
                    value.to_string().trim_matches('"')
                ));
            }
            group.insert(name.to_owned(), Value::Object(values));
        }
        document.insert(key.to_owned(), Value::Object(group));
    }
    output.result(&document, text)
}

fn new(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let file = matches
        .get_one::<String>("file")
        .map_or("myxtts.yaml", String::as_str);
    let template = config::keys().template();
    if file == "-" {
        return output.result(&json!({ "template": template }), &template);
    }
    write_new(Path::new(file), &template, matches.get_flag("force"))?;
    output.result(
        &json!({ "file": file }),
        format!("{file} written; every key is commented out and shows its default"),
    )
}

/// Writes the file completely or not at all.
fn write_new(path: &Path, text: &str, replace: bool) -> Result<(), Failure> {
    let write = || -> std::io::Result<()> {
        let file = NewFile::beside(path)?;
        match replace {
            true => file.keep(text.as_bytes()),
            false => file.keep_new(text.as_bytes()),
        }
    };
    write().map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => Failure::Usage(report!(
            "{} already exists", path.display();
            fix: "give another name, or --force to replace it"
        )),
        _ => Failure::Job(report!("cannot write {}: {why}", path.display())),
    })
}

/// Lays out rows in columns wide enough for their cells.
fn table(rows: &[[String; 3]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let (first, second) = (width(0), width(1));
    let line =
        |[key, value, origin]: &[String; 3]| format!("{key:first$}  {value:second$}  {origin}\n");
    rows.iter().map(line).collect()
}
