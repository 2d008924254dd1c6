//! `prepare` as a person runs it; what it finds is tested with the library.

use std::fs;
use std::path::Path;

use crate::support::{Run, run_in};

/// `myxtts prepare ARGUMENTS` in a folder that has the first clips of the
/// sample corpus as `voice/`, a broken one, and a cache folder of its own.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new(good: usize, broken: usize) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../myxtts-data/corpus");
        fs::create_dir_all(desk.path("voice/wavs")).unwrap();
        let metadata = fs::read_to_string(corpus.join("metadata.csv")).unwrap();
        let mut lines: Vec<String> = metadata.lines().take(good).map(str::to_owned).collect();
        for line in &lines {
            let name = format!("wavs/{}.flac", line.split('|').next().unwrap());
            fs::copy(corpus.join(&name), desk.path("voice").join(&name)).unwrap();
        }
        for n in 0..broken {
            lines.push(format!("broken_{n}|some text|some text|slt"));
            fs::write(desk.path(&format!("voice/wavs/broken_{n}.wav")), b"").unwrap();
        }
        fs::write(desk.path("voice/metadata.csv"), lines.join("\n")).unwrap();
        desk
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn prepare(&self, arguments: &[&str]) -> Run {
        let cache = self.path("cache");
        let variables = [("XDG_CACHE_HOME", cache.to_str().unwrap())];
        run_in(
            self.0.path(),
            &[&["prepare"], arguments].concat(),
            &variables,
        )
    }
}

#[test]
fn a_good_folder_is_done() {
    let desk = Desk::new(12, 0);
    let run = desk.prepare(&["voice", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(
        run.stderr, "",
        "nothing but the result where nobody watches"
    );
    let report = run.json();
    for key in [
        "total",
        "kept",
        "quarantined",
        "reasons",
        "hours",
        "padding",
        "buckets",
    ] {
        assert!(!report[key].is_null(), "{key}");
    }
    assert_eq!(
        (&report["total"], &report["kept"]),
        (&12.into(), &12.into())
    );
    assert_eq!(report["error"], serde_json::Value::Null);
    assert_eq!(report["padding"].as_object().unwrap().len(), 4);
    for file in [
        "manifest.jsonl",
        "quarantine.jsonl",
        "report.json",
        "report.txt",
    ] {
        assert!(desk.path("voice/myxtts").join(file).is_file(), "{file}");
    }
    assert!(
        desk.path("voice/myxtts/cache").is_dir(),
        "data.cache is disk"
    );

    let run = desk.prepare(&[
        "voice",
        "--out",
        "elsewhere",
        "--cache",
        "none",
        "--convert",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(!desk.path("elsewhere/cache").exists());
    assert!(desk.path("elsewhere/audio/slt_00.flac").is_file());
    assert_eq!(
        fs::read_to_string(desk.path("elsewhere/report.txt")).unwrap(),
        run.stdout,
        "what is printed is what is written"
    );
}

#[test]
fn too_many_bad_clips_are_a_failure_with_the_report() {
    let desk = Desk::new(12, 1);
    let run = desk.prepare(&["voice", "--json"]);
    assert_eq!(run.code, Some(1));
    let report = run.json();
    assert_eq!(report["reasons"]["empty"], 1);
    assert!(
        report["error"]
            .as_str()
            .unwrap()
            .contains("max_bad_fraction")
    );
    insta::assert_snapshot!(run.stderr);
    let run = desk.prepare(&["voice", "--set", "data.max_bad_fraction=0.1"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);

    let run = Desk::new(0, 3).prepare(&["voice", "--set", "data.max_bad_fraction=1"]);
    assert_eq!(run.code, Some(1));
    insta::assert_snapshot!("nothing_is_left", run.stderr);
}

#[test]
fn flags_and_files_reach_it() {
    let desk = Desk::new(12, 0);
    fs::write(
        desk.path("c.yaml"),
        "data:\n  train_data: voice\n  buckets: 3\n",
    )
    .unwrap();
    let run = desk.prepare(&["--config", "c.yaml", "--max-mel-frames", "200", "--json"]);
    let report = run.json();
    assert_eq!(report["dataset"], "voice");
    assert!(report["buckets"].as_array().unwrap().len() <= 3);
    assert!(report["reasons"]["too_long"].as_u64().unwrap() > 0);
    assert_eq!(report["bad"], 0);

    let wrong = desk.prepare(&["voice", "--train-data", "voice"]);
    assert_eq!(wrong.code, Some(2));
    let wrong = desk.prepare(&["voice", "--batch-size", "3"]);
    assert_eq!(wrong.code, Some(2), "a flag without an effect is not taken");
    let wrong = desk.prepare(&["voice", "--set", "data.language=english"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("is not a language tag"),
        "{}",
        wrong.stderr
    );
    let wrong = desk.prepare(&["nowhere"]);
    assert_eq!(wrong.code, Some(2));
    let wrong = desk.prepare(&["voice", "--vocab", "nowhere.json"]);
    assert_eq!(wrong.code, Some(2));
    let wrong = desk.prepare(&["voice", "--out", "voice"]);
    assert_eq!(wrong.code, Some(2));
}

#[test]
fn the_vocabulary_is_counted_in_its_tokens() {
    let desk = Desk::new(12, 0);
    let vocabulary =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../myxtts-text/tests/data/trained_vocab.json");
    let run = desk.prepare(&["voice", "--json", "--vocab", vocabulary.to_str().unwrap()]);
    let report = run.json();
    assert_eq!(report["text_unit"], "tokens");
    assert!(report["coverage"]["characters"].as_u64().unwrap() > 100);
}

#[test]
fn without_a_dataset_it_is_the_sample_corpus() {
    let desk = Desk::new(0, 0);
    let run = desk.prepare(&["--json", "--cache", "none"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.json()["total"], 112);
    assert!(
        desk.path("cache/myxtts/sample-corpus/myxtts/manifest.jsonl")
            .is_file()
    );
}
