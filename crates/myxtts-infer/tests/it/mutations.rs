//! Every field of a model's description, made wrong in every usual way.
//!
//! A description is a file that people edit and strangers write. Whatever it
//! says, loading ends in a model that speaks or in an error that names the
//! field: no panic, and no memory for sizes that the weights do not have.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use burn::tensor::Device;
use myxtts_infer::{ModelCard, SpeakOptions, Synthesizer, WeightsSummary};
use myxtts_model::generate::SamplingConfig;
use myxtts_weights::{ModelWeights, XttsConfig, write_ours};
use serde_json::{Value, json};

use crate::tiny::{Tiny, options, recording};

/// The values a field is set to; `None` takes it away.
fn wrong_values() -> Vec<Option<Value>> {
    vec![
        Some(json!(0)),
        Some(json!(1)),
        Some(json!(3)),
        Some(json!(-1)),
        Some(json!(1_000_000)),
        Some(json!(u32::MAX)),
        Some(json!(u64::MAX)),
        Some(json!(1e300)),
        Some(json!("x")),
        Some(json!([])),
        Some(json!({})),
        Some(json!(null)),
        Some(json!(true)),
        None,
    ]
}

/// Paths to every field, objects and lists themselves included.
fn paths(value: &Value, above: &str, found: &mut Vec<String>) {
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            let path = format!("{above}/{name}");
            found.push(path.clone());
            paths(value, &path, found);
        }
    }
}

fn changed(document: &Value, path: &str, value: Option<Value>) -> Value {
    let mut document = document.clone();
    let (above, name) = path.rsplit_once('/').unwrap();
    let fields = document
        .pointer_mut(above)
        .unwrap()
        .as_object_mut()
        .unwrap();
    match value {
        Some(value) => fields.insert(name.to_owned(), value),
        None => fields.remove(name),
    };
    document
}

/// What became of one description.
enum Became {
    Spoke,
    Refused(String),
    Panicked,
}

/// Everything a person does with weights: describe, load, hear, speak.
fn tried(folder: &Path) -> Became {
    let used = catch_unwind(AssertUnwindSafe(|| {
        WeightsSummary::of(folder)?;
        let mut synthesizer = Synthesizer::open(folder, &Device::flex())?;
        let voice = synthesizer.voice(&[recording(30_000)])?;
        let drawn = synthesizer.card().sampling();
        let sampling = SamplingConfig {
            max_codes: Some(2),
            ..drawn.with_seed(1, synthesizer.card().quirks)
        };
        let options = SpeakOptions {
            vocoder: synthesizer.vocoder(None)?,
            ..options("en", sampling)
        };
        synthesizer.speak("Hello.", &voice, &options)
    }));
    match used {
        Ok(Ok(_)) => Became::Spoke,
        Ok(Err(error)) => Became::Refused(error.to_string()),
        Err(_) => Became::Panicked,
    }
}

/// Changes every field below `part` of the description, and gives the refusals
/// that do not name it.
fn unnamed(checkpoint: &ModelWeights, part: &str) -> (usize, usize, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let weights = folder.path().join("weights");
    write_ours(&weights, checkpoint).unwrap();
    let described: Value =
        serde_json::from_slice(&fs::read(weights.join("config.json")).unwrap()).unwrap();
    assert!(matches!(tried(&weights), Became::Spoke));
    let mut fields = vec![];
    paths(described.pointer(part).unwrap(), part, &mut fields);
    let (mut spoke, mut count, mut faults) = (0, 0, vec![]);
    for path in &fields {
        for value in wrong_values() {
            count += 1;
            let document = changed(&described, path, value.clone());
            fs::write(weights.join("config.json"), document.to_string()).unwrap();
            let name = path.rsplit('/').next().unwrap();
            match tried(&weights) {
                Became::Spoke => spoke += 1,
                Became::Refused(words) if words.contains(name) => {}
                Became::Refused(words) => {
                    faults.push(format!("{path} = {value:?} is not named: {words}"));
                }
                Became::Panicked => faults.push(format!("{path} = {value:?} panics")),
            }
        }
    }
    (count, spoke, faults)
}

#[test]
fn a_card_loads_truthfully_or_is_refused_by_the_name_of_its_field() {
    let mut tiny = Tiny::new(&["en"], 30);
    tiny.card.sampling = Some(tiny.card.sampling());
    let checkpoint = tiny.with_decoder();
    let (count, spoke, faults) = unnamed(&checkpoint, "/model");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 900, "{count}");
    // Most values are wrong: loading almost anything would be no check.
    assert!(spoke * 8 < count, "{spoke} of {count} spoke");
}

#[test]
fn public_configurations_load_truthfully_or_are_refused_by_the_name_of_the_field() {
    let mut tiny = Tiny::new(&["en"], 30);
    let mut checkpoint = tiny.with_decoder();
    // Public files: no card, and heads of the perceiver as released.
    checkpoint.model = None;
    checkpoint.config.languages = vec!["en".to_owned()];
    let (count, spoke, faults) = unnamed(&checkpoint, "/xtts");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 400, "{count}");
    assert!(spoke * 2 < count, "{spoke} of {count} spoke");
}

#[test]
fn the_rest_of_a_description_is_checked_too() {
    let checkpoint = Tiny::new(&["en"], 30).checkpoint();
    let (_, _, faults) = unnamed(&checkpoint, "/sizes");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let (_, _, faults) = unnamed(&checkpoint, "");
    let panics = faults.iter().filter(|fault| fault.ends_with("panics"));
    assert_eq!(panics.count(), 0, "{}", faults.join("\n"));
}

/// Another divisor of the channels has the same tensors and another sound.
#[test]
fn heads_that_fit_and_are_not_the_models_are_refused() {
    let mut checkpoint = Tiny::new(&["en"], 30).checkpoint();
    let card = checkpoint.model.as_mut().unwrap();
    assert_eq!(card["gpt"]["heads"], 2);
    card["gpt"]["heads"] = json!(4);
    let error = ModelCard::of(&checkpoint).unwrap_err().to_string();
    assert!(error.contains("`gpt.heads` is 4"), "{error}");
    assert!(error.contains("xtts.model_args.gpt_n_heads"), "{error}");
}

/// The text of a public `config.json`, as `import` reads it.
#[test]
fn a_public_file_is_refused_by_the_name_of_its_field() {
    let described = serde_json::to_value(XttsConfig::default()).unwrap();
    let mut fields = vec![];
    paths(&described, "", &mut fields);
    for path in fields {
        for value in wrong_values() {
            let text = changed(&described, &path, value.clone()).to_string();
            let name = path.rsplit('/').next().unwrap();
            if let Err(fault) = XttsConfig::from_json(&text) {
                let words = fault.to_string();
                assert!(words.contains(name), "{path} = {value:?}: {words}");
            }
        }
    }
}
