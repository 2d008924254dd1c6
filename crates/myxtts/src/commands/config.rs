//! `myxtts config`

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::Path;

use clap::ArgMatches;
use myxtts::internal::config::in_declared_order;
use myxtts_base::{Report, report};
use myxtts_config::units::Megabytes;
use myxtts_config::{Keys, Layer, Settings};
use myxtts_device::discover::host;
use myxtts_device::{Machine, PlanRequest, plan, presets};
use myxtts_model::ModelSize;
use myxtts_train::config::{OptimizationLevel, size_layer};
use serde_json::{Map, Value, json};

use crate::config::{self, Config, Init};
use crate::new_file::NewFile;
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
    let keys = config::keys();
    let machine = super::machine()?;
    let settings =
        config::load(&keys, &super::given(matches)?, || machine).map_err(Failure::usage)?;
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

/// Returns what a person chose, and these edits, as a file that reproduces it. An edit without a
/// value undoes a choice.
pub(super) fn chosen_yaml(
    keys: &Keys,
    settings: &Settings<Config>,
    edits: &[(String, Option<Value>)],
) -> String {
    let edit = |path: &str| edits.iter().find(|(edited, _)| edited == path);
    let value = |path: &str| match (edit(path), settings.layer().get(path)) {
        (Some((_, value)), _) => value.clone(),
        (None, Some(setting)) if setting.origin.is_chosen() => Some(setting.value.clone()),
        (None, _) => None,
    };
    let mut text = String::new();
    let mut section = "";
    for key in keys.iter() {
        let Some(value) = value(&key.path).filter(|value| !value.is_null()) else {
            continue;
        };
        if key.section() != section {
            section = key.section();
            text.push_str(&format!("{section}:\n"));
        }
        text.push_str(&format!("  {}: {value}\n", key.name()));
    }
    text
}

/// Checks what `train` would check before it looks at data or devices. The plan is made for a
/// machine that has every GPU the configuration names: whether this one does is a question for
/// `plan`.
fn validate(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let mut given = super::given(matches)?;
    let named = matches.get_one::<String>("file").map(Into::into);
    given.file = named.or(given.file);
    let keys = config::keys();
    let layer = config::user_layer(&keys, &given).map_err(Failure::usage)?;
    let nothing = Machine::assume(host(), 0, Megabytes(0));
    // The weights of --init may be on another machine; the file is judged here.
    let settings =
        config::load_with(&keys, &given, || nothing, Init::IfThere).map_err(Failure::usage)?;
    let request = config::plan_request(&settings);
    plan(&request, &machine_with_all(&request)).map_err(|why| {
        Failure::Usage(Report::of(&why).why(
            "no device was queried: these are imaginary GPUs; `myxtts plan` looks at this machine",
        ))
    })?;
    let count = layer.iter().count();
    let noun = if count == 1 { "key" } else { "keys" };
    let file = given.file.map(|file| file.display().to_string());
    let name = file.as_deref().unwrap_or("flags and environment");
    output.result(
        &json!({ "file": file, "valid": true, "keys": count }),
        format!("{name}: valid, {count} {noun} set"),
    )
}

/// Returns a machine with the GPUs that a configuration names, and a few more.
fn machine_with_all(request: &PlanRequest) -> Machine {
    const SOME: u32 = 4;
    const PLENTY: Megabytes = Megabytes(1 << 20);
    let PlanRequest {
        strategy, pipeline, ..
    } = request;
    let mut ids: BTreeSet<u32> = (0..SOME).collect();
    ids.extend(strategy.visible_gpus.iter().flatten());
    ids.extend(pipeline.data_gpu);
    ids.extend(pipeline.model_gpu);
    let count = u32::try_from(ids.len()).unwrap_or(u32::MAX);
    let mut machine = Machine::assume(host(), count, PLENTY);
    let gpus = machine
        .backends
        .iter_mut()
        .flat_map(|report| &mut report.gpus);
    for (gpu, id) in gpus.zip(ids) {
        gpu.id = id;
    }
    machine
}

/// The named sets of values that one key chooses between.
struct PresetGroup {
    key: &'static str,
    title: &'static str,
    /// The name, purpose and values of each set.
    sets: Vec<(&'static str, &'static str, Layer)>,
}

fn preset_groups() -> [PresetGroup; 3] {
    let profiles = presets().map(|preset| (preset.name, preset.cards, preset.layer()));
    let levels = OptimizationLevel::ALL.map(|level| (level.name(), "", level.layer()));
    let sizes = ModelSize::ALL.map(|size| (size.name(), "", size_layer(size)));
    [
        PresetGroup {
            key: "gpu_profile",
            title: "GPU profiles (--gpu-profile)",
            sets: profiles.into(),
        },
        PresetGroup {
            key: "optimization_level",
            title: "Optimization levels (--optimization-level)",
            sets: levels.into(),
        },
        PresetGroup {
            key: "model_size",
            title: "Model sizes (--model-size)",
            sets: sizes.into(),
        },
    ]
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
    for PresetGroup { key, title, sets } in preset_groups() {
        text.push_str(&format!("{title}\n"));
        let mut group = Map::new();
        for (name, purpose, layer) in sets {
            let values = values(&layer);
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
