//! `evaluate`, with a model too small to say anything sensible.

use std::fs;
use std::path::Path;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Waveform, write_wav_pcm16};
use myxtts_weights::write_ours;
use serde_json::Value;

use crate::support::{Run, few_clips, run_in};
use crate::tiny::{Tiny, recording};

/// On the CPU, whatever the machine has.
fn evaluate(folder: &Path, arguments: &[&str]) -> Run {
    let fixed = ["evaluate", "--set", "training.backend=cpu"];
    run_in(folder, &[&fixed[..], arguments].concat(), &[])
}

/// Weights with a waveform decoder and a voice, two sentences with recordings,
/// one at another rate, and one without.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mut tiny = Tiny::new(&["en"], 30);
    let checkpoint = tiny.with_decoder();
    write_ours(&path.join("weights"), &checkpoint).unwrap();
    fs::create_dir(path.join("weights/voices")).unwrap();
    write_wav_pcm16(&path.join("weights/voices/anna.wav"), &recording(30_000)).unwrap();
    write_wav_pcm16(&path.join("one.wav"), &recording(30_000)).unwrap();
    let other_rate = Waveform {
        rate: SampleRate::SPEAKER,
        ..recording(20_000)
    };
    write_wav_pcm16(&path.join("two.wav"), &other_rate).unwrap();
    let lines = [
        r#"{"id": "one", "text": "Hello there.", "recording": "one.wav", "speaker": "anna"}"#,
        r#"{"id": "two", "text": "The fox jumps.", "recording": "two.wav", "language": "en"}"#,
        r#"{"text": "Why?"}"#,
    ];
    fs::write(path.join("list.jsonl"), lines.join("\n")).unwrap();
    fs::write(path.join("list.txt"), "Hello there.\n\nThe fox jumps.\n").unwrap();
    folder
}

/// A report without what differs from run to run and from machine to machine.
fn stable(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let is_time = ["took_s", "real_time_factor", "first_audio_s", "device"];
                let is_score = field.is_f64() && !["temperature", "top_p"].contains(&name.as_str());
                if is_time.contains(&name.as_str()) && !field.is_null() {
                    *field = "measured".into();
                } else if is_score {
                    *field = "a number".into();
                }
                if name != "meanings" {
                    stable(field);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(stable),
        _ => {}
    }
}

const MODEL: [&str; 2] = ["--checkpoint", "weights"];

fn report(folder: &Path, arguments: &[&str]) -> Value {
    let run = evaluate(folder, &[&MODEL[..], arguments, &["--json"]].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.json()
}

#[test]
fn the_report_as_a_program_reads_it() {
    let folder = folder();
    let mut report = report(folder.path(), &["--sentences", "list.jsonl"]);
    let condition = &report["conditions"][0];
    assert_eq!(condition["summary"]["scored"], 2);
    let one = &condition["outcomes"][0];
    assert!(one["mel_cepstral_distortion_db"].as_f64().unwrap() > 1.0);
    assert!(one["own_voice_similarity"].as_f64().unwrap() <= 1.0);
    assert!(one["first_audio_s"].as_f64().unwrap() > 0.0);
    assert!(condition["outcomes"][2]["mel_cepstral_distortion_db"].is_null());
    assert!(report["sampling"]["temperature"].is_number());
    report["sampling"] = "as the card says".into();
    stable(&mut report);
    insta::assert_snapshot!(serde_json::to_string_pretty(&report).unwrap());
}

/// The table, with measured numbers as `#`.
#[test]
fn the_report_as_a_person_reads_it() {
    let folder = folder();
    let path = folder.path();
    let table = |arguments: &[&str]| {
        let run = evaluate(path, &[&MODEL[..], arguments].concat());
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let mut shown = String::new();
        for line in run
            .stdout
            .lines()
            .filter(|line| !line.starts_with("device:"))
        {
            let mut in_number = false;
            let is_fixed = line.starts_with("sentences") || line.starts_with("sampling");
            for c in line.chars() {
                let is_number = !is_fixed && (c.is_ascii_digit() || (in_number && c == '.'));
                if !is_number {
                    shown.push(c);
                } else if !in_number {
                    shown.push('#');
                }
                in_number = is_number;
            }
            shown.push('\n');
        }
        // Numbers of other lengths shift what follows them.
        let squeezed = shown
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        squeezed.collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!("spoken", table(&["--sentences", "list.jsonl", "--greedy"]));
    insta::assert_snapshot!(
        "text_alone",
        table(&["--sentences", "list.txt", "--limit", "1"])
    );
    insta::assert_snapshot!("copied", table(&["--sentences", "list.jsonl", "--copy"]));
}

/// A copy by each vocoder, and nothing that copies do not have.
#[test]
fn copies_compare_the_vocoders() {
    let folder = folder();
    let report = report(folder.path(), &["--sentences", "list.jsonl", "--copy"]);
    let conditions = report["conditions"].as_array().unwrap();
    let names: Vec<&str> = conditions
        .iter()
        .map(|one| one["vocoder"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["griffin-lim", "hifigan"]);
    for condition in conditions {
        assert_eq!(condition["summary"]["scored"], 2, "{condition}");
        assert!(condition["summary"]["stop_rate"].is_null());
        assert!(condition["summary"]["first_audio_s"].is_null());
        // As long as the recording, whatever is in it, to a code and the edges.
        let seconds = condition["outcomes"][0]["seconds"].as_f64().unwrap();
        assert!((seconds - 30_000.0 / 22_050.0).abs() < 0.12, "{seconds}");
    }
    assert!(report["sampling"].is_null());
    let one = [
        "--sentences",
        "list.jsonl",
        "--copy",
        "--vocoder",
        "griffin-lim",
    ];
    assert_eq!(
        self::report(folder.path(), &one)["conditions"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn a_seed_gives_the_same_speech_again() {
    let folder = folder();
    let spoken = |seed: &str| {
        let report = report(
            folder.path(),
            &["--sentences", "list.jsonl", "--limit", "1", "--seed", seed],
        );
        report["conditions"][0]["outcomes"][0]["mel_cepstral_distortion_db"].clone()
    };
    assert_eq!(spoken("1"), spoken("1"));
    assert_ne!(spoken("1"), spoken("2"));
}

#[cfg(unix)]
#[test]
fn a_recogniser_is_asked_about_speech_and_recordings() {
    let folder = folder();
    let arguments = ["--sentences", "list.jsonl", "--limit", "2", "--recogniser"];
    let heard = report(
        folder.path(),
        &[&arguments[..], &["echo hello there {wav}"]].concat(),
    );
    let conditions = heard["conditions"].as_array().unwrap();
    let names: Vec<&str> = conditions
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["spoken", "the recordings"]);
    let outcome = &conditions[0]["outcomes"][0];
    assert!(
        outcome["transcript"]
            .as_str()
            .unwrap()
            .starts_with("hello there /")
    );
    assert_eq!(outcome["words"]["length"], 2);
    let right = report(
        folder.path(),
        &[&arguments[..], &["sh -c 'echo Hello, THERE!' {wav}"]].concat(),
    );
    let summary = &right["conditions"][0]["summary"];
    // The first sentence is right, of the second all three words are wrong.
    assert_eq!(summary["word_error_rate"], 3.0 / 5.0);
    assert_eq!(summary["heard"], 2);
}

/// What a recogniser does wrong is in the report, and in the exit code.
#[cfg(unix)]
#[test]
fn a_recogniser_that_fails_is_not_hidden() {
    let folder = folder();
    let run = |recogniser: &str, more: &[&str]| {
        let fixed = [
            "--checkpoint",
            "weights",
            "--sentences",
            "list.txt",
            "--recogniser",
            recogniser,
        ];
        evaluate(folder.path(), &[&fixed[..], more].concat())
    };
    let failing = run("sh -c 'echo out of memory >&2; exit 3' {wav}", &[]);
    assert_eq!(failing.code, Some(1));
    assert!(
        failing
            .stdout
            .contains("no transcript: it ended with exit status: 3: out of memory")
    );
    let hanging = run(
        "sh -c 'exec sleep 60' {wav}",
        &["--recogniser-timeout", "1", "--limit", "1"],
    );
    assert_eq!(hanging.code, Some(1));
    assert!(
        hanging
            .stdout
            .contains("it had not finished after 1 s and was stopped")
    );
    let missing = run("no-such-recogniser {wav}", &[]);
    assert_eq!(missing.code, Some(2));
    let unplaced = run("listen", &[]);
    assert_eq!(unplaced.code, Some(2));
    insta::assert_snapshot!(
        [failing, missing, unplaced]
            .map(|run| run.stderr)
            .join("\n")
    );
}

#[test]
fn the_page_holds_pictures_and_sound_and_nothing_from_elsewhere() {
    let folder = folder();
    let path = folder.path();
    let nasty =
        r#"{"id": "<b>", "text": "Hello <script>alert(1)</script>", "recording": "one.wav"}"#;
    fs::write(path.join("nasty.jsonl"), nasty).unwrap();
    for (list, sounds) in [("list.jsonl", 5), ("nasty.jsonl", 2)] {
        let report = report(path, &["--sentences", list, "--page", "page"]);
        assert_eq!(report["page"], "page/index.html");
        let page = fs::read_to_string(path.join("page/index.html")).unwrap();
        assert!(!page.contains("<script"), "{list}");
        let addresses = page
            .split("src=\"")
            .skip(1)
            .map(|rest| rest.split('"').next().unwrap());
        let (mut pictures, mut files) = (0, 0);
        for address in addresses {
            if address.starts_with("data:image/png;base64,iVBORw0KGgo") {
                pictures += 1;
            } else {
                let sound = fs::read(path.join("page").join(address)).unwrap();
                assert!(sound.starts_with(b"RIFF"));
                files += 1;
            }
        }
        assert_eq!((pictures, files), (sounds, sounds), "{list}");
        let elsewhere = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!elsewhere.contains("http"), "{list}");
        assert!(page.contains("class=\"path\"") && page.contains("class=\"recording\""));
    }
}

#[test]
fn silence_and_damage_are_told_with_their_sentences() {
    let folder = folder();
    let path = folder.path();
    let mut silent = recording(30_000);
    silent.samples.fill(0.0);
    write_wav_pcm16(&path.join("silent.wav"), &silent).unwrap();
    fs::write(path.join("damaged.wav"), "RIFF and no more").unwrap();
    let line =
        |recording: &str| format!(r#"{{"text": "Hello there.", "recording": "{recording}"}}"#);
    let lines = ["silent.wav", "damaged.wav", "one.wav"].map(line);
    fs::write(path.join("odd.jsonl"), lines.join("\n")).unwrap();
    let report = report(path, &["--sentences", "odd.jsonl"]);
    let outcomes = &report["conditions"][0]["outcomes"];
    let told = [0, 1, 2].map(|index: usize| outcomes[index]["unscored"].to_string());
    insta::assert_snapshot!(told.join("\n"));
    assert_eq!(report["conditions"][0]["summary"]["scored"], 1);
    // A copy of silence cannot be made, and that is a failure.
    let run = evaluate(
        path,
        &[
            "--checkpoint",
            "weights",
            "--sentences",
            "odd.jsonl",
            "--copy",
        ],
    );
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stdout
            .contains("no audio: its recording has no voice in it"),
        "{}",
        run.stdout
    );
}

#[test]
fn what_cannot_be_evaluated_is_refused_with_the_fix() {
    let folder = folder();
    let path = folder.path();
    let write = |name: &str, text: &str| fs::write(path.join(name), text).unwrap();
    write("empty.txt", "\n \n");
    write(
        "broken.jsonl",
        "{\"text\": \"Hello.\"}\n{\"sentence\": 7}\n",
    );
    write(
        "gone.jsonl",
        "{\"text\": \"Hello.\", \"recording\": \"gone.wav\"}\n",
    );
    write(
        "tongue.jsonl",
        "{\"text\": \"Hello.\", \"language\": \"??\"}\n",
    );
    write("long.txt", &"a ".repeat(20_000));
    write("file", "");
    fs::create_dir(path.join("nothing")).unwrap();
    let refused = |arguments: &[&str]| {
        let run = evaluate(path, &[&MODEL[..], arguments].concat());
        assert_ne!(run.code, Some(0), "{arguments:?}: {}", run.stdout);
        assert!(run.stdout.is_empty(), "{arguments:?}");
        run.stderr
    };
    let list = |name: &'static str| refused(&["--sentences", name]);
    let messages = [
        refused(&[]),
        list("missing.txt"),
        list("empty.txt"),
        list("broken.jsonl"),
        list("gone.jsonl"),
        list("tongue.jsonl"),
        list("long.txt"),
        refused(&["--dataset", "nothing"]),
        refused(&["--sentences", "list.txt", "--copy"]),
        refused(&["--sentences", "list.txt", "--page", "file/below"]),
        refused(&["--sentences", "list.txt", "--speaker", "bob"]),
    ];
    for (message, words) in messages.iter().zip([
        "which sentences?",
        "the sentences cannot be read",
        "there is nothing to evaluate",
        "line 2 of the sentences cannot be used",
        "gone.wav is not there",
        "line 1 of the sentences cannot be used",
        "at most 16384 are read",
        "nothing",
        "there is nothing to copy",
        "the page cannot be written",
        "there is no voice `bob`",
    ]) {
        assert!(message.starts_with("error: "), "{message}");
        assert!(message.contains(words), "{words}: {message}");
    }
    for wrong in [
        &["--limit", "0"][..],
        &["--vocoder", "phone"],
        &["--recogniser-timeout", "5"],
        &["--sentences", "a", "--dataset", "b"],
    ] {
        refused(wrong);
    }
}

/// Sentences that the model cannot say do not hide those that it can.
#[test]
fn what_cannot_be_said_is_told_with_its_sentence() {
    let folder = folder();
    let lines = [
        r#"{"text": "Hello.", "language": "de"}"#,
        r#"{"text": " "}"#,
        r#"{"text": "Hello."}"#,
    ];
    fs::write(folder.path().join("odd.jsonl"), lines.join("\n")).unwrap();
    let arguments = [&MODEL[..], &["--sentences", "odd.jsonl", "--json"]].concat();
    let run = evaluate(folder.path(), &arguments);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr.contains("2 clips could not be made"),
        "{}",
        run.stderr
    );
    let condition = run.json()["conditions"][0].clone();
    assert_eq!(condition["summary"]["failed"], 2);
    let failed = [0, 1, 2].map(|index: usize| condition["outcomes"][index]["failed"].to_string());
    assert!(failed[0].contains("language"), "{failed:?}");
    assert!(failed[1].contains("there is nothing to say"), "{failed:?}");
    assert_eq!(failed[2], "null");
}

/// Without a list: what the run was validated on, prepared as it was.
#[test]
fn a_run_gives_the_clips_it_was_validated_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    few_clips(&path.join("data"), 24);
    Tiny::new(&["en"], 200).save(&path.join("runs/first/checkpoints/step_000000100"));
    let config = "data:\n  train_data: data\n  language: en\n";
    fs::write(path.join("runs/first/config.yaml"), config).unwrap();
    let run = evaluate(path, &["--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let report = run.json();
    let manifest = fs::read_to_string(path.join("data/myxtts/manifest.jsonl")).unwrap();
    let clips = manifest
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let held_out = clips.filter(|clip| clip["split"] == "validation");
    let held_out: Vec<Value> = held_out.map(|clip| clip["id"].clone()).collect();
    let outcomes = report["conditions"][0]["outcomes"].as_array().unwrap();
    let spoken: Vec<Value> = outcomes.iter().map(|one| one["id"].clone()).collect();
    assert!(!held_out.is_empty());
    assert_eq!(spoken, held_out);
    assert_eq!(
        report["voice"],
        format!("that of its own recording ({})", held_out.len())
    );
    assert_eq!(report["conditions"][0]["summary"]["scored"], held_out.len());
    // Its dataset is gone: that is said, with what to do.
    fs::rename(path.join("data"), path.join("elsewhere")).unwrap();
    let run = evaluate(path, &[]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("the validation clips of the run cannot be found")
    );
    assert!(
        run.stderr
            .contains("fix:   name a list with --sentences FILE")
    );
}

/// A dataset's own validation part, and all of it where there is none.
#[test]
fn a_dataset_gives_its_held_out_clips() {
    let folder = folder();
    let path = folder.path();
    let dataset = path.join("dataset");
    fs::create_dir_all(dataset.join("wavs")).unwrap();
    for name in ["a", "b", "c"] {
        let wav = dataset.join("wavs").join(name).with_extension("wav");
        write_wav_pcm16(&wav, &recording(30_000)).unwrap();
    }
    let clips = |expected: &[&str]| {
        let report = report(path, &["--dataset", "dataset"]);
        let outcomes = report["conditions"][0]["outcomes"]
            .as_array()
            .unwrap()
            .clone();
        let ids: Vec<&str> = outcomes
            .iter()
            .map(|one| one["id"].as_str().unwrap())
            .collect();
        assert_eq!(ids, expected);
        report["sentences"].as_str().unwrap().to_owned()
    };
    fs::write(
        dataset.join("metadata.csv"),
        "a|Hello.|Hello.\nb|Why?|Why?\n",
    )
    .unwrap();
    assert_eq!(
        clips(&["a", "b"]),
        "all clips, because none are held out, of dataset"
    );
    fs::remove_file(dataset.join("metadata.csv")).unwrap();
    fs::write(
        dataset.join("metadata_train.csv"),
        "a|Hello.|Hello.\nb|Why?|Why?\n",
    )
    .unwrap();
    fs::write(dataset.join("metadata_eval.csv"), "c|The fox.|The fox.\n").unwrap();
    assert_eq!(clips(&["c"]), "the validation clips of dataset");
    assert!(
        !dataset.join("myxtts").exists(),
        "nothing is written to a dataset"
    );
}
