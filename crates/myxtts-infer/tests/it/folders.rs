//! Weights in folders: round trips, and which folder is meant.

use std::fs;

use burn::tensor::{Device, TensorData};
use myxtts_infer::{ModelCard, Modules, Pick, Synthesizer, newest_run, resolve, voices};
use myxtts_model::generate::SamplingConfig;
use myxtts_model::params::{StateDict, state_dict};
use myxtts_weights::read_ours;

use crate::tiny::{Tiny, options, recording};

fn bytes(weights: &StateDict) -> Vec<(&String, &TensorData)> {
    weights.iter().collect()
}

#[test]
fn modules_to_files_to_modules_is_bit_equal() {
    let tiny = Tiny::new(&["en", "fa"], 30);
    let folder = tempfile::tempdir().unwrap();
    tiny.save(folder.path());
    let read = read_ours(folder.path()).unwrap();
    assert_eq!(read.notices, [""; 0]);
    assert_eq!(ModelCard::of(&read).unwrap(), tiny.card);
    let modules = Modules::load(&read, &Device::flex()).unwrap();
    assert_eq!(modules.card, tiny.card);
    assert_eq!(modules.mel_stats.as_ref(), Some(&tiny.stats));
    assert_eq!(modules.vocabulary.to_json(), tiny.vocabulary.to_json());
    let [before, after] = [&tiny.gpt, &modules.gpt].map(|gpt| state_dict(gpt).unwrap());
    assert_eq!(bytes(&before), bytes(&after));
    let dvaes = [&tiny.dvae, modules.dvae.as_ref().unwrap()];
    let [before, after] = dvaes.map(|dvae| state_dict(dvae).unwrap());
    assert_eq!(bytes(&before), bytes(&after));
}

#[test]
fn a_run_means_its_newest_checkpoint_or_its_best() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path();
    let tiny = Tiny::new(&["en"], 30);
    let checkpoints = runs.join("first/checkpoints");
    for step in ["step_000000900", "step_000001000"] {
        tiny.save(&checkpoints.join(step));
    }
    // Neither weights nor a step.
    fs::create_dir(checkpoints.join("step_000002000")).unwrap();
    tiny.save(&checkpoints.join(".tmp-3000-abc"));
    let run = runs.join("first");
    let newest = checkpoints.join("step_000001000");
    for asked in [&run, &checkpoints, &newest] {
        assert_eq!(resolve(asked, Pick::Newest).unwrap(), newest);
    }
    let said = |error: myxtts_infer::InferError| {
        let folder = folder.path().display().to_string();
        error.to_string().replace(&folder, "DIR")
    };
    let mut messages = vec![said(resolve(&run, Pick::Best).unwrap_err())];
    fs::write(checkpoints.join("best.json"), r#"{"step": 700}"#).unwrap();
    messages.push(said(resolve(&run, Pick::Best).unwrap_err()));
    messages.push(said(resolve(&runs.join("none"), Pick::Best).unwrap_err()));
    messages.push(said(resolve(runs, Pick::Newest).unwrap_err()));
    // A DVAE and no GPT: of a run that trains one next, and of one that does not.
    for (run, stage) in [("next", "\"all\""), ("its codes", "\"dvae\"")] {
        let checkpoint = runs.join(run).join("checkpoints/step_000000020");
        fs::create_dir_all(&checkpoint).unwrap();
        let manifest = format!(
            "{{\"sections\": {{\"config\": {{\"data\": {{\"train_data\": \"my clips\", \
             \"language\": \"fa\"}}, \"training\": {{\"name\": \"{run}\", \"stage\": \
             {stage}}}}}}}}}"
        );
        fs::write(checkpoint.join("manifest.json"), manifest).unwrap();
        messages.push(said(resolve(&runs.join(run), Pick::Newest).unwrap_err()));
    }
    insta::assert_snapshot!(messages.join("\n\n"));
    let best = r#"{"step": 900, "metric": "val_loss", "value": "2.5"}"#;
    fs::write(checkpoints.join("best.json"), best).unwrap();
    let older = checkpoints.join("step_000000900");
    assert_eq!(resolve(&run, Pick::Best).unwrap(), older);

    assert_eq!(newest_run(runs), Some(run.clone()));
    assert_eq!(newest_run(&runs.join("none")), None);
    tiny.save(&runs.join("default/checkpoints/step_000000001"));
    tiny.save(&checkpoints.join("step_000005000"));
    assert_eq!(newest_run(runs), Some(runs.join("default")));

    assert_eq!(voices(&older), []);
    fs::create_dir(older.join("voices")).unwrap();
    for name in ["b.wav", "a.wav", "notes.txt"] {
        fs::write(older.join("voices").join(name), "").unwrap();
    }
    let names: Vec<String> = voices(&older).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_model_from_a_folder_speaks_like_the_one_that_was_saved() {
    let tiny = Tiny::new(&["en"], 30);
    let folder = tempfile::tempdir().unwrap();
    tiny.save(&folder.path().join("checkpoints/step_000000007"));
    let speak = |mut synthesizer: Synthesizer| {
        let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
        let sampling = SamplingConfig {
            max_codes: Some(6),
            ..SamplingConfig::new(1)
        };
        let speech = synthesizer.speak("Hello.", &voice, &options("en", sampling));
        speech.unwrap().waveform
    };
    let opened = Synthesizer::open(folder.path(), &Device::flex()).unwrap();
    assert_eq!(opened.card(), &tiny.card);
    assert_eq!(speak(opened), speak(tiny.synthesizer()));
}
