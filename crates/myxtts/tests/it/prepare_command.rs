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
            let name = format!("wavs/{}.ogg", line.split('|').next().unwrap());
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
        !desk.path("voice/myxtts/cache").exists(),
        "recordings are not kept a second time"
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
    assert!(desk.path("elsewhere/audio/slt_000.flac").is_file());
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

/// The command that a report ends with, as a shell hears it, given to
/// `config show` in place of a training.
fn pasted(desk: &Desk, report: &str) -> String {
    let (_, next) = report.rsplit_once("Next\n  ").unwrap();
    let program = env!("CARGO_BIN_EXE_myxtts");
    let shown = std::process::Command::new("sh")
        .current_dir(desk.0.path())
        .arg("-c")
        .arg(format!(
            "myxtts() {{ shift; {program} config show \"$@\"; }}; {next}"
        ))
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success(), "{next}\n{words}");
    String::from_utf8(shown.stdout).unwrap()
}

#[test]
fn the_next_command_is_of_the_same_settings() {
    let desk = Desk::new(12, 0);
    fs::rename(desk.path("voice"), desk.path("my 'own' voice")).unwrap();
    let run = desk.prepare(&[
        "my 'own' voice",
        "--max-mel-frames",
        "900",
        "--out",
        "else where",
        "--set",
        "data.trim_silence=false",
    ]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let shown = pasted(&desk, &run.stdout);
    for (key, value) in [
        ("data.train_data", "my 'own' voice"),
        ("data.prepared", "else where"),
        ("data.max_mel_frames", "900"),
        ("data.trim_silence", "false"),
        ("data.language", "en"),
    ] {
        let line = shown.lines().find(|line| line.contains(key)).unwrap();
        assert!(line.contains(value), "{line}");
    }
}

#[test]
fn a_speaker_is_not_what_is_said() {
    let desk = Desk::new(12, 0);
    let lines = fs::read_to_string(desk.path("voice/metadata.csv")).unwrap();
    let first_text = lines.split('|').nth(1).unwrap();
    let three: Vec<String> = lines
        .lines()
        .map(|line| {
            let fields: Vec<&str> = line.split('|').collect();
            format!("{}|{}|{}", fields[0], fields[1], fields[3])
        })
        .collect();
    fs::write(desk.path("voice/metadata.csv"), three.join("\n")).unwrap();
    let report = desk.prepare(&["voice", "--json"]).json();
    assert_eq!(
        report["tables"][0]["columns"],
        serde_json::json!(["id", "text", "speaker"])
    );
    assert_eq!(report["speakers"][0]["speaker"], "slt");
    assert_eq!(report["rows"][0]["cleaned"], first_text.to_lowercase());
    assert_eq!(report["rows"].as_array().unwrap().len(), 3);
    let report = desk
        .prepare(&["voice", "--json", "--columns", "id,text,-"])
        .json();
    assert_eq!(report["speakers"][0]["speaker"], serde_json::Value::Null);
    let wrong = desk.prepare(&["voice", "--columns", "id,words"]);
    assert_eq!(wrong.code, Some(2), "{}", wrong.stderr);
}

#[test]
fn a_language_that_the_letters_contradict_is_refused() {
    let desk = Desk::new(4, 0);
    let lines = fs::read_to_string(desk.path("voice/metadata.csv")).unwrap();
    let ids = lines.lines().map(|line| line.split('|').next().unwrap());
    let persian: Vec<String> = ids
        .map(|id| format!("{id}|زمین از برف پوشیده بود."))
        .collect();
    fs::write(desk.path("voice/metadata.csv"), persian.join("\n")).unwrap();
    let wrong = desk.prepare(&["voice", "--language", "en"]);
    assert_eq!(wrong.code, Some(2));
    assert!(
        wrong.stderr.contains("fix:   --language fa"),
        "{}",
        wrong.stderr
    );
    let report = desk.prepare(&["voice", "--json"]).json();
    assert_eq!(report["language"], "fa");
}

#[test]
fn what_is_too_long_says_what_keeps_it() {
    let desk = Desk::new(12, 0);
    let short = desk.prepare(&["voice", "--max-mel-frames", "200"]);
    assert!(
        short.stdout.contains("keeps all of them"),
        "{}",
        short.stdout
    );
    let report = desk
        .prepare(&["voice", "--max-mel-frames", "200", "--json"])
        .json();
    let limit = &report["limits"][0];
    assert_eq!(
        (&limit["flag"], &limit["clips"]),
        (&"--max-mel-frames".into(), &report["quarantined"])
    );
    let raised = limit["raise_to"].to_string();
    let report = desk
        .prepare(&["voice", "--max-mel-frames", &raised, "--json"])
        .json();
    assert_eq!(report["kept"], 12);
}

#[cfg(unix)]
#[test]
fn a_dataset_that_may_not_be_written_to_is_prepared_in_the_cache() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let desk = Desk::new(12, 0);
    let mode = |name: &str, mode| {
        fs::set_permissions(desk.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    fs::create_dir(desk.path("cache")).unwrap();
    mode("", 0o755);
    mode("cache", 0o777);
    mode("voice", 0o555);
    // Root may write everywhere; the program is where another user may start it.
    let mut program = std::path::PathBuf::from(env!("CARGO_BIN_EXE_myxtts"));
    let is_root = fs::metadata(desk.path("voice")).unwrap().uid() == 0;
    if is_root {
        let copy = desk.path("program");
        fs::copy(&program, &copy).unwrap();
        program = copy;
    }
    let mut command = std::process::Command::new(program);
    command
        .args(["prepare", "voice"])
        .current_dir(desk.0.path())
        .env("XDG_CACHE_HOME", desk.path("cache"));
    if is_root {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().unwrap();
    mode("voice", 0o755);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    assert!(stderr.contains("voice/myxtts is not writable"), "{stderr}");
    assert!(!desk.path("voice/myxtts").exists());
    let prepared = fs::read_dir(desk.path("cache/myxtts/prepared")).unwrap();
    let folders: Vec<_> = prepared.map(|folder| folder.unwrap().path()).collect();
    assert_eq!(folders.len(), 1);
    let manifest = fs::read_to_string(folders[0].join("manifest.jsonl")).unwrap();
    assert_eq!(manifest.lines().count(), 12);
    assert!(
        manifest.contains("/voice/wavs/slt_000.ogg"),
        "recordings are found from there"
    );
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
    assert_eq!(run.json()["total"], 640);
    assert!(
        desk.path("cache/myxtts/sample-corpus/myxtts/manifest.jsonl")
            .is_file()
    );
}
