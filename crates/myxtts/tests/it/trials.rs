//! Trainings that are killed or asked to stop at random instants, and then resumed:
//! what they wrote in the end is what an undisturbed one writes, bit for bit. CI makes a few; `tools/kill-and-resume` makes as many as it is told.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use myxtts_base::{GAMMA, finalize};
use myxtts_run::metrics::{self, Line, MEASURED};
use myxtts_testkit::SharedFolder;

use crate::support::{command_in, few_clips};

/// A few steps of each stage, with a checkpoint every other step and
/// validations between.
const TRAINING: [&str; 20] = [
    "train",
    "--max-steps",
    "4",
    "--batch-size",
    "4",
    "--num-workers",
    "2",
    "--buckets",
    "2",
    "--set",
    "data.conditioning_min=0.5",
    "--set",
    "data.conditioning_max=1",
    "--set",
    "training.sample_count=0",
    "--set",
    "training.checkpoint_every=2",
    "--set",
    "training.validate_every=3",
    "--json",
];

/// Longer than any training here takes on a busy machine: a hang.
const HANG: Duration = Duration::from_secs(300);

fn trials(otherwise: u64) -> u64 {
    let asked = std::env::var("MYXTTS_TRIALS").ok();
    asked.map_or(otherwise, |runs| runs.parse().expect("a number of runs"))
}

/// A number that looks random, the same in every run.
fn noise(seed: u64) -> u64 {
    finalize(seed.wrapping_add(1).wrapping_mul(GAMMA))
}

/// A dataset, what an undisturbed training of it wrote, and how long it took.
struct Bench {
    folder: SharedFolder,
    /// Whether a decoder is trained too, which takes longer than all the rest.
    all_stages: bool,
    expected: Written,
    took: Duration,
}

/// What a training leaves behind, without the times it took.
#[derive(PartialEq)]
struct Written {
    /// Lines of `metrics.jsonl`.
    numbers: Vec<String>,
    /// Files of tensors in the newest checkpoint.
    tensors: BTreeMap<String, Vec<u8>>,
}

/// One with DVAE and GPT, and one with a decoder besides. Both tests need them,
/// one after the other: an undisturbed training takes as long as several others.
static BENCHES: LazyLock<Mutex<[Bench; 2]>> =
    LazyLock::new(|| Mutex::new([false, true].map(Bench::new)));

fn both() -> MutexGuard<'static, [Bench; 2]> {
    // Whoever failed left folders of its own names only.
    BENCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bench {
    fn new(all_stages: bool) -> Self {
        let folder = SharedFolder::new(env!("CARGO_TARGET_TMPDIR"), "trials");
        few_clips(&folder.path().join("clips"), 24);
        let mut bench = Self {
            folder,
            all_stages,
            expected: Written {
                numbers: vec![],
                tensors: BTreeMap::new(),
            },
            took: Duration::ZERO,
        };
        // The first prepares the dataset; the second is as long as all others.
        for name in ["first", "undisturbed"] {
            bench.forget_codes();
            let begin = Instant::now();
            let status = wait(bench.start(name), HANG);
            assert!(status.success(), "{status}\n{}", bench.log(name));
            bench.took = begin.elapsed();
        }
        bench.expected = bench.written("undisturbed");
        assert!(bench.expected == bench.written("first"), "not repeatable");
        bench.remove("first");
        bench
    }

    fn run(&self, name: &str) -> PathBuf {
        self.folder.path().join("runs").join(name)
    }

    fn start(&self, name: &str) -> Child {
        let stages = match self.all_stages {
            true => "all",
            false => "dvae,gpt",
        };
        command_in(self.folder.path())
            .args(TRAINING)
            .args(["--train-data", "clips", "--stage", stages])
            .arg("--checkpoint-dir")
            .arg(self.run(name))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }

    /// Codes are kept beside the dataset; without them a training writes some,
    /// and may be killed there too.
    fn forget_codes(&self) {
        let cache = self.folder.path().join("clips/myxtts/cache");
        if cache.exists() {
            std::fs::remove_dir_all(cache).unwrap();
        }
    }

    fn remove(&self, name: &str) {
        if self.run(name).exists() {
            std::fs::remove_dir_all(self.run(name)).unwrap();
        }
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.run(name).join("train.log")).unwrap_or_default()
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let lines = metrics::read(&self.run(name).join("metrics.jsonl"));
        // What is measured differs between equal runs, and lines of nothing else.
        let line = |line: &Line| {
            let computed = line.names().filter(|name| !MEASURED.contains(name));
            let fields: Vec<String> = computed
                .filter_map(|name| Some(format!("{name} {}", line.text(name)?)))
                .collect();
            (fields.len() > 2).then(|| fields.join(" "))
        };
        lines.unwrap_or_default().iter().filter_map(line).collect()
    }

    fn written(&self, name: &str) -> Written {
        let checkpoint = newest(&self.run(name)).expect("a checkpoint");
        let files = std::fs::read_dir(checkpoint).unwrap();
        let tensors = files
            .map(|file| file.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "safetensors"))
            .map(|path| (file_name(&path), std::fs::read(path).unwrap()));
        Written {
            tensors: tensors.collect(),
            numbers: self.lines(name),
        }
    }

    /// Where a training was when it ended.
    fn place(&self, name: &str) -> String {
        let run = self.run(name);
        let entries = std::fs::read_dir(run.join("checkpoints"));
        let is_writing = entries
            .into_iter()
            .flatten()
            .any(|entry| file_name(&entry.unwrap().path()).starts_with(".tmp-"));
        let lines = self.lines(name);
        let last = lines.last().map_or("", String::as_str);
        let stage = match last {
            "" => return "before the first step".to_owned(),
            last if last.contains("dvae") => "DVAE",
            last if last.contains("decoder") => "decoder",
            _ => "GPT",
        };
        match is_writing {
            true => format!("{stage}, inside a checkpoint's writing"),
            false => format!("{stage}, between checkpoints"),
        }
    }

    /// Goes on until the end, and compares.
    fn finish(&self, name: &str) {
        let status = wait(self.start(name), HANG);
        assert!(status.success(), "{status}\n{}", self.log(name));
        let written = self.written(name);
        assert_eq!(written.numbers, self.expected.numbers, "{}", self.log(name));
        for (file, bytes) in &self.expected.tensors {
            assert!(written.tensors.get(file) == Some(bytes), "{name}: {file}");
        }
    }

    /// An instant of a training, counted from its start.
    fn instant(&self, seed: u64) -> Duration {
        let part = (noise(seed) % 10_000) as f64 / 10_000.0;
        self.took.mul_f64(part)
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

fn newest(run: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(run.join("checkpoints")).ok()?;
    let folders = entries.map(|entry| entry.unwrap().path());
    let mut steps: Vec<PathBuf> = folders
        .filter(|path| file_name(path).starts_with("step_"))
        .collect();
    steps.sort();
    steps.pop()
}

/// Lets a training run so long; whether it has not ended before.
fn run_for(child: &mut Child, time: Duration) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < time {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Waits for a training's end; a training that does not end is a failure.
fn wait(mut child: Child, at_most: Duration) -> ExitStatus {
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begin.elapsed() > at_most {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("no end after {at_most:?}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn send(child: &Child, signal: &str) {
    let id = child.id().to_string();
    let sent = Command::new("kill").args(["-s", signal, &id]).status();
    assert!(sent.unwrap().success());
}

/// How often each thing happened, as the record has it.
#[derive(Default)]
struct Tally(BTreeMap<String, u64>);

impl Tally {
    fn count(&mut self, what: impl Into<String>) {
        *self.0.entry(what.into()).or_default() += 1;
    }

    fn print(&self, headline: &str) {
        let mut text = format!("\n{headline}\n");
        for (what, times) in &self.0 {
            let _ = writeln!(text, "{times:>6}  {what}");
        }
        eprintln!("{text}");
    }
}

/// What is compared.
fn undisturbed(benches: &[Bench]) -> String {
    let of = |bench: &Bench| {
        let lines = bench.expected.numbers.len();
        format!("{:.1} s, {lines} lines", bench.took.as_secs_f64())
    };
    let all: Vec<String> = benches.iter().map(of).collect();
    format!("undisturbed: {}", all.join(" and "))
}

/// SIGKILL at random instants, once or twice in a training.
#[test]
fn killed_anywhere_a_training_resumes_exactly() {
    let benches = both();
    let runs = trials(4);
    let mut tally = Tally::default();
    for run in 0..runs {
        let bench = &benches[usize::from(run % 10 == 3)];
        bench.forget_codes();
        for kill in 0..1 + noise(run) % 2 {
            let mut child = bench.start("killed");
            if run_for(&mut child, bench.instant(run << 8 | kill)) {
                child.kill().unwrap();
            }
            let place = match child.wait().unwrap().success() {
                true => "after the end".to_owned(),
                false => bench.place("killed"),
            };
            tally.count(place);
        }
        bench.finish("killed");
        bench.remove("killed");
        eprintln!("{} of {runs} resumed exactly", run + 1);
    }
    tally.print(&format!(
        "{runs} killed trainings resumed exactly; {}. Kills:",
        undisturbed(&*benches)
    ));
}

/// SIGINT, SIGTERM or SIGHUP at random instants; every fifth training gets a second.
#[test]
fn asked_to_stop_anywhere_a_training_resumes_exactly() {
    let benches = both();
    let runs = trials(4);
    let mut tally = Tally::default();
    let mut longest = Duration::ZERO;
    for run in 0..runs {
        let bench = &benches[usize::from(run % 10 == 3)];
        bench.forget_codes();
        let (signal, number) = match run % 3 {
            0 => ("INT", 2),
            1 => ("TERM", 15),
            _ => ("HUP", 1),
        };
        let mut child = bench.start("asked");
        let insists = run % 5 == 4;
        let runs_on = run_for(&mut child, bench.instant(run));
        let begin = Instant::now();
        if runs_on {
            send(&child, signal);
        }
        if runs_on && insists {
            std::thread::sleep(Duration::from_millis(20));
            send(&child, signal);
        }
        let status = wait(child, if insists { HANG / 10 } else { HANG });
        let word = if insists { "twice" } else { "once" };
        match (status.code(), status.signal()) {
            (Some(0), None) => tally.count("after the end"),
            // Nothing to save yet: the system's own way to end a program.
            (None, Some(died)) if died == number => {
                assert!(newest(&bench.run("asked")).is_none());
                tally.count("before the run: the signal ends the program");
            }
            (Some(code), None) => {
                assert_eq!(code, 128 + number, "{}", bench.log("asked"));
                if !insists {
                    longest = longest.max(begin.elapsed());
                    // Before the first step there is nothing to save.
                    let last = bench.lines("asked").last().map(|line| {
                        let step = line.split([':', ' ']).nth(1).unwrap();
                        format!("step_{step:0>9}")
                    });
                    let saved = newest(&bench.run("asked")).map(|saved| file_name(&saved));
                    assert_eq!(saved, last);
                }
                tally.count(format!("{signal} {word}: code {code}"));
            }
            _ => panic!("{status}"),
        }
        bench.finish("asked");
        bench.remove("asked");
        eprintln!("{} of {runs} resumed exactly", run + 1);
    }
    tally.print(&format!(
        "{runs} trainings asked to stop resumed exactly; {}; a stop took at most {:.1} s. Ends:",
        undisturbed(&*benches),
        longest.as_secs_f64(),
    ));
}
