//! `myxtts config`

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use clap::ArgMatches;
use myxtts_config::{Keys, Settings};
use myxtts_device::presets;
use serde_json::{Map, Value, json};

use crate::config::{self, Config, Given, ModelSize, OptimizationLevel};
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    match matches.subcommand() {
        Some(("show", matches)) => show(matches, output),
        Some(("validate", matches)) => validate(matches, output),
        Some(("schema", _)) => output.document(config::keys().schema()),
        Some(("presets", _)) => list_presets(output),
        Some(("new", matches)) => new(matches, output),
        _ => Err(Failure::Usage("no subcommand was given".to_owned())),
    }
}

fn show(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let keys = config::keys();
    let machine = super::machine()?;
    let settings = config::load(&keys, &super::given(matches)?, || machine).map_err(Failure::usage)?;
    output.result(&shown_document(&keys, &settings), shown_text(&keys, &settings))
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

fn in_declared_order<'a>(
    keys: &'a Keys,
    settings: &'a Settings<Config>,
) -> impl Iterator<Item = (&'a str, &'a myxtts_config::Setting)> {
    let layer = settings.layer();
    let declared = keys.iter().map(|key| key.path.as_str());
    let others = layer.iter().map(|(path, _)| path).filter(|path| keys.get(path).is_none());
    declared.chain(others).filter_map(|path| Some((path, layer.get(path)?)))
}

fn validate(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let file = matches.get_one::<String>("file").map_or("", String::as_str);
    let given = Given { file: Some(file.into()), ..Given::default() };
    let layer = config::user_layer(&config::keys(), &given).map_err(Failure::usage)?;
    let count = layer.iter().count();
    let noun = if count == 1 { "key" } else { "keys" };
    output.result(
        &json!({ "file": file, "valid": true, "keys": count }),
        format!("{file}: valid, {count} {noun} set"),
    )
}

fn list_presets(output: &Output) -> Result<(), Failure> {
    let profiles = presets().map(|preset| ("gpu_profile", preset.name, preset.cards, preset.layer()));
    let levels = OptimizationLevel::ALL
        .map(|level| ("optimization_level", level.name(), "training.optimization_level", level.layer()));
    let sizes = ModelSize::ALL.map(|size| ("model_size", size.name(), "model.size", size.layer()));
    let mut document = Map::new();
    let mut text = String::new();
    let mut heading = "";
    for (kind, name, cards, layer) in profiles.into_iter().chain(levels).chain(sizes) {
        let values: Map<String, Value> =
            layer.iter().map(|(key, setting)| (key.to_owned(), setting.value.clone())).collect();
        if kind != heading {
            let title = match kind {
                "gpu_profile" => "GPU profiles (--gpu-profile)",
                "optimization_level" => "Optimisation levels (--optimization-level)",
                _ => "Model sizes (--model-size)",
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{title}");
            heading = kind;
        }
        match kind {
            "gpu_profile" => writeln!(text, "  {name}: {cards}"),
            _ => writeln!(text, "  {name}"),
        }
        .unwrap_or_default();
        for (key, value) in &values {
            let _ = writeln!(text, "    {key}: {}", value.to_string().trim_matches('"'));
        }
        if let Value::Object(group) =
            document.entry(kind).or_insert_with(|| Value::Object(Map::new()))
        {
            group.insert(name.to_owned(), Value::Object(values));
        }
    }
    output.result(&document, text)
}

fn new(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let file = matches.get_one::<String>("file").map_or("myxtts.yaml", String::as_str);
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

fn write_new(path: &Path, text: &str, replace: bool) -> Result<(), Failure> {
    let mut options = OpenOptions::new();
    options.write(true);
    if replace {
        options.create(true).truncate(true);
    } else {
        options.create_new(true);
    }
    let written = options.open(path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => Failure::Usage(format!(
            "{} exists already\n  fix:   give another name, or --force to replace it",
            path.display()
        )),
        _ => Failure::Job(format!("cannot write {}: {why}", path.display())),
    })
}

/// Columns wide enough for their cells.
fn table(rows: &[[String; 3]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    let mut text = String::new();
    for [key, value, origin] in rows {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{key:first$}  {value:second$}  {origin}");
    }
    text
}
