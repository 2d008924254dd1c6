//! No device, no driver, no permission, no dataset, a configuration with errors, a run
//! folder half written or of an older version: what `doctor`, `profile`, `tune` and
//! `monitor` say then, and the code they end with.

use std::fs;
use std::path::Path;

use crate::support::{Run, few_clips, run_in};

/// What went wrong, in words, without a trace of a panic.
fn words(run: &Run, folder: &Path) -> String {
    let words = format!("{}{}", run.stdout, run.stderr);
    assert!(!words.contains("panicked"), "{words}");
    words.replace(&folder.display().to_string(), "FOLDER")
}

/// What `profile` and `tune` cannot measure they refuse with the code and the words of
/// `train`, and leave nothing behind.
#[test]
fn what_cannot_be_trained_is_not_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("wrong.yaml"), "data:\n  batch_sise: 4\n").unwrap();
    fs::create_dir(path.join("empty")).unwrap();
    let before = fs::read_dir(path).unwrap().count();
    let mut told = String::new();
    for (arguments, code) in [
        (&["--train-data=nowhere"][..], 2),
        (&["--train-data=empty", "--language=en"], 2),
        (&["--config=wrong.yaml"], 2),
        (&["--config=absent.yaml"], 2),
        (&["--data-gpu=0", "--model-gpu=1"], 2),
    ] {
        let train = run_in(path, &[&["train"], arguments].concat(), &[]);
        let error = |run: &Run| {
            let words = words(run, path);
            words
                .find("error: ")
                .map_or(words.clone(), |at| words[at..].to_owned())
        };
        told.push_str(&format!("{}\n{}\n", arguments.join(" "), error(&train)));
        for command in [&["profile"][..], &["profile", "--compare"], &["tune"]] {
            let run = run_in(path, &[command, arguments].concat(), &[]);
            assert_eq!(
                run.code,
                Some(code),
                "{command:?} {arguments:?}\n{}",
                run.stderr
            );
            assert_eq!(
                run.code, train.code,
                "{command:?} {arguments:?}\n{}",
                run.stderr
            );
            assert_eq!(error(&run), error(&train), "{command:?} {arguments:?}");
        }
    }
    insta::assert_snapshot!(told);
    // The cache folder is the only thing that may be new.
    assert!(fs::read_dir(path).unwrap().count() <= before + 1);
}

/// A machine whose Vulkan loader finds no driver.
#[test]
fn without_a_driver() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    few_clips(&path.join("clips"), 4);
    let none = [
        ("VK_DRIVER_FILES", "/nonexistent.json"),
        ("VK_ICD_FILENAMES", "/nonexistent.json"),
        ("MYXTTS_SOFTWARE_GPUS", "2"),
    ];
    let asked = ["--train-data=clips", "--set=training.backend=wgpu"];
    let mut told = String::new();
    for (command, code) in [
        (&["doctor", "--quick"][..], 1),
        (&["profile"], 2),
        (&["profile", "--compare"], 2),
        (&["tune"], 2),
    ] {
        let run = run_in(path, &[command, &asked].concat(), &none);
        let words = words(&run, path);
        assert_eq!(run.code, Some(code), "{command:?}\n{words}");
        if command != ["doctor", "--quick"] {
            told.push_str(&format!("{}\n{words}\n", command.join(" ")));
        } else {
            assert!(words.contains("[problem]  configuration:"), "{words}");
            assert!(words.contains("wgpu: no Vulkan adapter"), "{words}");
        }
    }
    insta::assert_snapshot!(told);
    let run = run_in(path, &["monitor", "--once"], &none);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        words(&run, path).contains("wgpu: no Vulkan adapter"),
        "{}",
        run.stdout
    );
}

/// A run of an older version, and one that was ended in the middle of a line: shown as
/// far as they go.
#[test]
fn a_run_that_is_old_or_half_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let file = |run: &str, name: &str, text: &str| {
        fs::create_dir_all(path.join("runs").join(run)).unwrap();
        fs::write(path.join("runs").join(run).join(name), text).unwrap();
    };
    let step = |step: u32| {
        format!("{{\"step\":{step},\"wall_time\":{step}.0,\"stage\":\"gpt\",\"loss\":2.5}}\n")
    };
    file(
        "old",
        "metrics.jsonl",
        &(1..=30).map(step).collect::<String>(),
    );
    file(
        "old",
        "config.yaml",
        "data:\n  batch_size: 4\n  a_key_of_then: 1\n",
    );
    file(
        "half",
        "metrics.jsonl",
        &format!("{}{{\"step\":2,\"wall", step(1)),
    );
    file("half", "plan.json", "{\"strategy\": \"cpu\", \"work");
    file("half", "findings.json", "{\"at_step\": 1, \"verd");
    file("half", "devices.jsonl", "\u{0}\u{0}\u{0}");
    file("half", "run.lock", "");
    for run in ["old", "half"] {
        let at = format!("runs/{run}");
        for arguments in [
            &["doctor", "--run", &at][..],
            &["doctor", "--run", &at, "--lang", "fa"],
            &["monitor", "--once", &at],
        ] {
            let done = run_in(path, arguments, &[("MYXTTS_SOFTWARE_GPUS", "1")]);
            let words = words(&done, path);
            assert_eq!(done.code, Some(0), "{arguments:?}\n{words}");
            assert!(words.contains(&at), "{words}");
        }
        let json = run_in(path, &["doctor", "--run", &at, "--json"], &[]).json();
        assert_eq!(json["sections"].as_array().unwrap().len(), 8);
        assert_eq!(json["findings"].as_array().unwrap().len(), 0, "{json}");
        let json = run_in(path, &["monitor", "--json", &at], &[]).json();
        let step = if run == "old" { 30 } else { 1 };
        assert_eq!(json["run"]["step"], step, "{json}");
    }
}

/// Another user than the one whose files they are.
#[cfg(unix)]
#[test]
fn without_permission() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::os::unix::process::CommandExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let mode = |name: &str, mode| {
        fs::set_permissions(path.join(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    few_clips(&path.join("clips"), 4);
    fs::create_dir_all(path.join("run")).unwrap();
    fs::write(path.join("run/metrics.jsonl"), "").unwrap();
    fs::write(path.join("mine.yaml"), "data:\n  batch_size: 2\n").unwrap();
    for name in ["cache", "open", "closed"] {
        fs::create_dir(path.join(name)).unwrap();
        mode(name, 0o777);
    }
    few_clips(&path.join("open/clips"), 4);
    mode("", 0o755);
    for name in ["clips", "run", "closed", "mine.yaml"] {
        mode(name, 0o000);
    }
    // Root may do anything; the program is where another user may start it.
    let mut program = std::path::PathBuf::from(env!("CARGO_BIN_EXE_myxtts"));
    let is_root = fs::metadata(path).unwrap().uid() == 0;
    if is_root {
        fs::copy(&program, path.join("program")).unwrap();
        program = path.join("program");
    }
    let mut told = String::new();
    for (arguments, code) in [
        (&["doctor", "--quick", "--train-data=clips"][..], 1),
        (&["doctor", "--quick", "--config=mine.yaml"], 1),
        (&["doctor", "--run=run"], 1),
        (&["profile", "--train-data=clips"], 2),
        (&["profile", "--compare", "--train-data=clips"], 2),
        (&["profile", "--config=mine.yaml"], 2),
        (
            &[
                "profile",
                "--train-data=open/clips",
                "--trace=closed/trace.json",
            ],
            2,
        ),
        (&["tune", "--train-data=clips", "--out=open/tuned.yaml"], 2),
        (
            &["tune", "--train-data=open/clips", "--out=closed/tuned.yaml"],
            2,
        ),
        (&["monitor", "--once", "run"], 1),
    ] {
        let mut command = std::process::Command::new(&program);
        command
            .args(arguments)
            .current_dir(path)
            .env("XDG_CACHE_HOME", path.join("cache"))
            .env("TMPDIR", path.join("open"))
            .env("NO_COLOR", "1");
        if is_root {
            command.uid(65_534).gid(65_534);
        }
        let output = command.output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let run = Run {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        let words = words(&run, path);
        assert_eq!(run.code, Some(code), "{arguments:?}\n{words}");
        // That a dataset's own folder is not written to is a notice, with a name of its own.
        let is_it =
            |line: &&str| line.contains("ermission denied") && !line.contains("is not writable");
        let line = words.lines().find(is_it);
        let line = line.unwrap_or_else(|| panic!("{arguments:?}\n{words}"));
        told.push_str(&format!("{}\n  {}\n", arguments.join(" "), line.trim()));
    }
    for name in ["clips", "run", "closed", "mine.yaml"] {
        mode(name, 0o755);
    }
    insta::assert_snapshot!(told);
    assert_eq!(fs::read_dir(path.join("closed")).unwrap().count(), 0);
    let left = fs::read_dir(path.join("open")).unwrap().count();
    assert_eq!(left, 1, "a temporary file is left behind");
}
