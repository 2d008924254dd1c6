//! `synthesize`, with a model too small to say anything sensible.

mod bad_input;
mod batch;
mod stdout;
mod voices;

use std::fs;
use std::path::Path;

use myxtts_audio::{Limits, decode, write_wav_pcm16};
use myxtts_infer::SamplingDefaults;
use myxtts_weights::write_ours;

use crate::support::{Run, run_in};
use crate::tiny::{Tiny, recording};

/// On the CPU, whatever the machine has.
fn synthesize(folder: &Path, arguments: &[&str]) -> Run {
    let fixed = ["synthesize", "--set", "training.backend=cpu"];
    run_in(folder, &[&fixed[..], arguments].concat(), &[])
}

/// A run with one checkpoint and two voices.
fn run_folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = folder.path().join("runs/first/checkpoints/step_000000100");
    Tiny::new(&["en"], 30).save(&checkpoint);
    fs::create_dir(checkpoint.join("voices")).unwrap();
    for (name, samples) in [("zoe", 40_000), ("anna", 30_000)] {
        let path = checkpoint.join("voices").join(name).with_extension("wav");
        write_wav_pcm16(&path, &recording(samples)).unwrap();
    }
    write_wav_pcm16(&folder.path().join("me.wav"), &recording(50_000)).unwrap();
    folder
}

#[test]
fn a_text_becomes_a_recording_and_a_seed_says_it_again() {
    let folder = run_folder();
    let path = folder.path();
    let run = synthesize(
        path,
        &["--text", "Hello there.", "--out", "a.wav", "--json"],
    );
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = run.json();
    let codes = report["codes"].as_u64().unwrap();
    assert!(codes > 0);
    assert_eq!(
        report["checkpoint"],
        "runs/first/checkpoints/step_000000100"
    );
    assert_eq!(
        report["voice"][0],
        "runs/first/checkpoints/step_000000100/voices/anna.wav"
    );
    assert_eq!(report["language"], "en");
    let sound = decode(&path.join("a.wav"), &Limits::default()).unwrap();
    assert_eq!(sound.waveform.samples.len() as u64, codes * 1024);
    assert_eq!(sound.waveform.rate.hz(), 22_050);

    let same = |out: &str, arguments: &[&str]| {
        let fixed = ["--text-file", "text.txt", "--out", out];
        let run = synthesize(path, &[&fixed[..], arguments].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        fs::read(path.join(out)).unwrap() == fs::read(path.join("a.wav")).unwrap()
    };
    fs::write(path.join("text.txt"), "Hello there.\n").unwrap();
    let given = [
        "--checkpoint",
        "runs/first",
        "--speaker",
        "anna",
        "--seed",
        "0",
    ];
    assert!(same("b.wav", &given));
    assert!(!same("c.wav", &["--seed", "1"]));
    assert!(!same("d.wav", &["--greedy"]));
    assert!(!same(
        "e.wav",
        &["--temperature", "9", "--top-k", "0", "--top-p", "1"]
    ));
    assert!(!same("f.wav", &["--repetition-penalty", "10"]));
    assert!(!same("g.wav", &["--top-k", "1"]));
    assert!(!same("h.wav", &["--top-p", "0.01"]));
    assert!(!same("i.wav", &["--speed", "2"]));
    assert!(!same("j.wav", &["--beams", "3"]));
    let bytes = |name: &str| fs::read(path.join(name)).unwrap();
    assert_ne!(bytes("j.wav"), bytes("d.wav"), "a search is not greedy");
}

/// Twice as fast is half as long, whatever makes the sound.
#[test]
fn speed_changes_the_length() {
    let folder = run_folder();
    let path = folder.path();
    write_ours(
        &path.join("decoder"),
        &Tiny::new(&["en"], 30).with_decoder(),
    )
    .unwrap();
    let seconds = |model: &str, speed: &str| {
        let fixed = ["--text", "Hello.", "--out", "a.wav", "--json", "--greedy"];
        let voice = ["--speaker-wav", "me.wav", "--checkpoint", model];
        let run = synthesize(path, &[&fixed[..], &voice, &["--speed", speed]].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.json()["seconds"].as_f64().unwrap()
    };
    for model in ["runs/first", "decoder"] {
        let usual = seconds(model, "1");
        for (speed, ratio) in [("2", 0.5), ("0.5", 2.0)] {
            let found = seconds(model, speed) / usual;
            assert!(
                (found / ratio - 1.0).abs() < 0.05,
                "{model} at {speed}: {found}"
            );
        }
    }
}

/// The model's own decoder speaks unless another is asked for, and it is said.
#[test]
fn the_vocoder_is_the_models_own_unless_asked() {
    let folder = run_folder();
    let path = folder.path();
    write_ours(
        &path.join("decoder"),
        &Tiny::new(&["en"], 30).with_decoder(),
    )
    .unwrap();
    let used = |arguments: &[&str]| {
        let fixed = ["--text", "Hello.", "--out", "a.wav", "--json", "--greedy"];
        let voice = ["--speaker-wav", "me.wav", "--checkpoint"];
        let run = synthesize(path, &[&fixed[..], &voice, arguments].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let report = run.json();
        format!("{} at {}", report["vocoder"], report["sample_rate"])
    };
    let messages = [
        used(&["runs/first"]),
        used(&["decoder"]),
        used(&["decoder", "--vocoder", "griffin-lim"]),
        used(&["decoder", "--vocoder", "hifigan"]),
    ];
    insta::assert_snapshot!(messages.join("\n"));
    let run = synthesize(
        path,
        &["--text", "Hello.", "--out", "a.wav", "--vocoder", "hifigan"],
    );
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    insta::assert_snapshot!("no_decoder", run.stderr);
}

/// What the card says is what is drawn with, until a flag says otherwise.
#[test]
fn a_model_draws_as_its_card_says() {
    let folder = run_folder();
    let path = folder.path();
    let mut strict = Tiny::new(&["en"], 30);
    strict.card.sampling = Some(SamplingDefaults {
        repetition_penalty: 10.0,
        temperature: 0.5,
        ..strict.card.sampling()
    });
    strict.save(&path.join("runs/strict/checkpoints/step_000000100"));
    let spoken = |run: &str, flags: &[&str]| {
        let fixed = ["--text", "Hello there.", "--out", "s.wav", "--json"];
        let voice = ["--speaker-wav", "me.wav", "--checkpoint", run];
        let run = synthesize(path, &[&fixed[..], &voice, flags].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let sampling = run.json()["sampling"].clone();
        (fs::read(path.join("s.wav")).unwrap(), sampling)
    };
    // A card without the field, of a model that was trained here.
    let (usual, sampling) = spoken("runs/first", &[]);
    assert_eq!(sampling["repetition_penalty"], 1.0);
    assert_eq!(sampling["temperature"], 0.75);
    let (strictly, sampling) = spoken("runs/strict", &[]);
    assert_eq!(sampling["repetition_penalty"], 10.0);
    assert_eq!(sampling["temperature"], 0.5);
    assert_ne!(usual, strictly);
    let flags = ["--repetition-penalty", "1", "--temperature", "0.75"];
    assert_eq!(usual, spoken("runs/strict", &flags).0);
}

/// A disk without room leaves the recording that was there.
#[cfg(unix)]
#[test]
fn a_recording_is_replaced_whole_or_not_at_all() {
    let folder = run_folder();
    let path = folder.path();
    let old = vec![7; 100_000];
    fs::write(path.join("a.wav"), &old).unwrap();
    let program = crate::support::command_in(path);
    let mut limited = std::process::Command::new("sh");
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let output = limited
        .current_dir(path)
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$@\"", "sh"])
        .arg(program.get_program())
        .args(["synthesize", "--set", "training.backend=cpu"])
        .args(["--text", "Hello there.", "--out", "a.wav"])
        .output()
        .unwrap();
    let words = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(words.contains("a.wav"), "{words}");
    assert_eq!(fs::read(path.join("a.wav")).unwrap(), old);
    let hidden = fs::read_dir(path).unwrap().flatten();
    let left = hidden.filter(|entry| entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(left.count(), 0, "something was left behind");
}

/// What can be known before the model is loaded is known before.
#[test]
fn outputs_and_texts_are_tried_first() {
    let folder = run_folder();
    let path = folder.path();
    let tried = |arguments: &[&str]| {
        // No such model: whatever is said first was looked at first.
        let run = synthesize(path, &[&["--checkpoint", "nowhere"], arguments].concat());
        assert_ne!(run.code, Some(0));
        run.stderr
    };
    fs::create_dir(path.join("taken.wav")).unwrap();
    fs::write(path.join("long.txt"), "a ".repeat(70_000)).unwrap();
    fs::write(path.join("bytes.txt"), [b'a', 0xff]).unwrap();
    let messages = [
        tried(&["--text", "Hello.", "--out", "none/a.wav"]),
        tried(&["--text", "Hello.", "--out", "taken.wav"]),
        tried(&["--text-file", "long.txt", "--out", "a.wav"]),
        tried(&["--text-file", "bytes.txt", "--out", "a.wav"]),
    ];
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn what_was_done_as_a_person_reads_it() {
    let folder = run_folder();
    let arguments = [
        "--text",
        "Hello, 7 ñ!",
        "--out",
        "a.wav",
        "--speaker-wav",
        "me.wav",
        "me.wav",
        "--greedy",
    ];
    let run = synthesize(folder.path(), &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let stable: Vec<&str> = run
        .stdout
        .lines()
        .filter(|line| !line.starts_with("  took:") && !line.starts_with("  device:"))
        .collect();
    insta::assert_snapshot!(stable.join("\n"));
}

#[test]
fn what_cannot_be_spoken_is_refused_with_the_fix() {
    let folder = run_folder();
    let path = folder.path();
    let empty = tempfile::tempdir().unwrap();
    let usual = ["--text", "Hello.", "--out", "a.wav"];
    let refused = |folder: &Path, arguments: &[&str]| {
        let run = synthesize(folder, arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.stderr);
        assert!(run.stdout.is_empty(), "{arguments:?}");
        run.stderr
    };
    let with = |arguments: &[&str]| refused(path, &[&usual[..], arguments].concat());
    write_wav_pcm16(&path.join("short.wav"), &recording(2_000)).unwrap();
    let mut silent = recording(30_000);
    silent.samples.fill(0.0);
    write_wav_pcm16(&path.join("silent.wav"), &silent).unwrap();
    let checkpoint = path.join("runs/first/checkpoints/step_000000100");
    let mut messages = vec![
        refused(empty.path(), &usual),
        with(&["--checkpoint", "nowhere"]),
        with(&["--best"]),
        with(&["--speaker", "bob"]),
        with(&["--speaker-wav", "missing.wav"]),
        with(&["--speaker-wav", "short.wav"]),
        with(&["--speaker-wav", "silent.wav"]),
        with(&["--language", "de"]),
        refused(path, &["--text", " ", "--out", "a.wav"]),
        refused(path, &["--text-file", "missing.txt", "--out", "a.wav"]),
        refused(path, &["--text", "Hello.", "--out", "a.mp3"]),
        refused(path, &["--out", "a.wav"]),
        refused(path, &["--text", "Hello."]),
        refused(path, &["--out-dir", "d"]),
        refused(path, &["--text", "Hello.", "--out", "a.wav", "--stream"]),
        refused(
            path,
            &["--text", "Hello.", "--out", "a.wav", "--format", "pcm"],
        ),
        refused(path, &["--save-voice", "a.wav"]),
    ];
    fs::remove_dir_all(checkpoint.join("voices")).unwrap();
    messages.push(with(&[]));
    let cramped = path.join("runs/second");
    Tiny::new(&["en", "fa"], 1).save(&cramped);
    messages.push(with(&[
        "--checkpoint",
        "runs/second",
        "--speaker-wav",
        "me.wav",
    ]));
    messages.push(with(&[
        "--checkpoint",
        "runs/second",
        "--speaker-wav",
        "me.wav",
        "--language",
        "en",
    ]));
    insta::assert_snapshot!(messages.join("\n"));
    assert!(!path.join("a.wav").exists());
    for arguments in [
        &["--out", "a.wav"][..],
        &["--text", "x", "--text-file", "y", "--out", "a.wav"],
        &["--text", "x"],
        &["--text", "x", "--out-dir", "d"],
        &["--text-file", "x", "--out-dir", "d", "--out", "a.wav"],
        &["--text", "x", "--out", "a.wav", "--format", "pcm"],
        &["--text", "x", "--out", "a.wav", "--stream"],
        &["--text", "x", "--stream", "--similarity"],
        &["--save-voice", "a.wav"],
        &["--list-voices", "--text", "x"],
    ] {
        refused(path, arguments);
    }
    for wrong in [
        &["--temperature", "0"][..],
        &["--top-p", "2"],
        &["--top-k", "-1"],
        &["--repetition-penalty", "0.5"],
        &["--greedy", "--temperature", "1"],
        &["--greedy", "--seed", "1"],
        &["--speaker", "anna", "--speaker-wav", "me.wav"],
        &["--speaker", "anna", "--voice", "a.voice"],
        &["--language", "english"],
        &["--speed", "0.1"],
        &["--beams", "1"],
        &["--beams", "2", "--seed", "1"],
        &["--length-penalty", "2"],
        &["--vocoder", "wavenet"],
    ] {
        with(wrong);
    }
}

#[test]
fn a_damaged_checkpoint_is_a_failed_job() {
    let folder = run_folder();
    let weights = "runs/first/checkpoints/step_000000100/dvae.safetensors";
    fs::write(folder.path().join(weights), "damaged").unwrap();
    let run = synthesize(folder.path(), &["--text", "Hello.", "--out", "a.wav"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(run.stderr.contains("dvae.safetensors"), "{}", run.stderr);
}
