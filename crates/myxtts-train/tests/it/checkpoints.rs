//! What a run keeps of itself: averaged weights where an average is kept, in
//! little memory, told when it fails, and nothing lost by resuming.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use burn::tensor::Device;
use myxtts_infer::Modules;
use myxtts_model::gpt::GptConfig;
use myxtts_model::params::state_dict;
use myxtts_run::observer::Silent;
use myxtts_run::signals::StopRequest;
use myxtts_train::TrainError;
use myxtts_train::config::{Resume, StageWord, Stages};
use myxtts_train::placement::Placement;
use myxtts_train::session::{Finished, TrainRequest, run};
use myxtts_weights::{Tensor, TensorMap, read_ours, read_public, read_safetensors, write_public};

use crate::mini;

pub(crate) fn train(job: &TrainRequest) -> Result<Finished, TrainError> {
    let here = Placement::on(&Device::flex());
    run(
        job,
        &here,
        StopRequest::install().unwrap(),
        Arc::new(Silent),
    )
}

/// A job of `steps` a stage, with a checkpoint every so many.
pub(crate) fn job(folder: &Path, steps: u64, every: u64) -> TrainRequest {
    let mut job = mini::job(folder);
    let run = &mut job.config.training.run;
    (run.epochs, run.max_steps) = (10_000, Some(steps));
    (run.checkpoint_every, run.keep_checkpoints) = (every, 100);
    job
}

/// The same job at a step of its run.
pub(crate) fn resumed(job: &TrainRequest, step: u64) -> TrainRequest {
    let mut job = job.clone();
    job.config.training.run.resume = Resume::Step(step);
    job
}

pub(crate) fn checkpoint(run: &Path, step: u64) -> PathBuf {
    run.join(format!("checkpoints/step_{step:09}"))
}

fn kept(run: &Path) -> Vec<String> {
    let folders = fs::read_dir(run.join("checkpoints")).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.starts_with("step_")).collect();
    names.sort();
    names
}

/// `old * keep + new * (1 - keep)`, as the average is defined over ten steps.
fn moved(old: &Tensor, new: &Tensor, decay: f32) -> Vec<f32> {
    let keep = (0..10).fold(1.0_f32, |keep, _| keep * decay);
    let pairs = old.to_f32().into_iter().zip(new.to_f32());
    pairs
        .map(|(old, new)| old * keep + new * (1.0 - keep))
        .collect()
}

#[test]
fn an_average_is_what_speaks_and_is_exported() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path(), 20, 10);
    let decay = 0.9_f32;
    job.config.training.optimizer.ema_decay = f64::from(decay);
    train(&job).unwrap();
    let stored = |step: u64, name: &str| {
        read_safetensors(&checkpoint(&job.folder(), step).join(name)).unwrap()
    };
    // The DVAE's stage is steps 1 to 20, the GPT's 21 to 40.
    let [old, new] = [30, 40].map(|step| stored(step, "gpt.safetensors"));
    let raw = stored(40, "raw.safetensors");
    assert_eq!(old.len(), raw.len());
    let mut apart = 0;
    for (name, raw) in raw.iter() {
        let name = format!("gpt.{name}");
        let average = new.get(&name).unwrap();
        let expected = moved(old.get(&name).unwrap(), raw, decay);
        assert_eq!(average.to_f32(), expected, "{name}");
        apart += usize::from(average != raw);
    }
    assert!(
        apart > raw.len() / 2,
        "{apart} of {} tensors differ",
        raw.len()
    );
    let [old, new] = [10, 20].map(|step| stored(step, "dvae.safetensors"));
    let raw = stored(20, "raw.safetensors");
    for (name, raw) in raw.iter() {
        let expected = moved(old.get(name).unwrap(), raw, decay);
        assert_eq!(new.get(name).unwrap().to_f32(), expected, "{name}");
    }
    // The stages after the DVAE's use the one that the model will speak with.
    assert_eq!(stored(40, "dvae.safetensors"), new);

    // What synthesis loads, and what the public files get.
    let mut ours = read_ours(&checkpoint(&job.folder(), 40)).unwrap();
    let average = stored(40, "gpt.safetensors");
    let modules = Modules::load(&ours, &Device::flex()).unwrap();
    for (name, data) in state_dict(&modules.gpt).unwrap() {
        let values: Vec<f32> = data.iter().collect();
        let average = average.get(&format!("gpt.{name}")).unwrap();
        assert_eq!(average.to_f32(), values, "{name}");
    }
    // Public files have a vocoder, and nothing here reads it.
    let vocoder = Tensor::from_f32(vec![1], &[0.0]).unwrap();
    ours.hifigan_decoder = TensorMap::from_iter([("hifigan_decoder.waveform", vocoder)]);
    let public = folder.path().join("public");
    write_public(&public, &ours).unwrap();
    assert_eq!(read_public(&public).unwrap().gpt, average);
}

#[test]
fn a_run_with_an_average_is_resumed_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let mut whole = job(folder.path(), 14, 7);
    whole.config.training.optimizer.ema_decay = 0.9;
    train(&whole).unwrap();
    let parts = mini::kept_in(&folder.path().join("parts"), &whole);
    train(&parts).unwrap();
    for step in [21, 7] {
        train(&resumed(&parts, step)).unwrap();
    }
    for name in ["gpt", "raw", "dvae", "optimizer"] {
        let file = |run: &Path| {
            let path = checkpoint(run, 28).join(format!("{name}.safetensors"));
            fs::read(path).unwrap()
        };
        assert!(file(&whole.folder()) == file(&parts.folder()), "{name}");
    }
}

#[test]
fn resuming_an_earlier_step_deletes_nothing_before_its_first_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), 4, 1);
    train(&job).unwrap();
    assert_eq!(kept(&job.folder()).len(), 8);
    let log = || fs::read_to_string(job.folder().join("train.log")).unwrap();
    let again = resumed(&job, 6);
    // Recordings that are gone end it before a step is taken.
    let [wavs, away] = ["dataset/wavs", "away"].map(|name| folder.path().join(name));
    fs::rename(&wavs, &away).unwrap();
    train(&again).unwrap_err();
    assert_eq!(kept(&job.folder()).len(), 8);
    let said = "later checkpoints are deleted once the first new one is written: 7, 8; stop before \
                that to keep them";
    assert!(log().contains(said), "{}", log());

    fs::rename(&away, &wavs).unwrap();
    let mut longer = again;
    longer.config.training.run.checkpoint_every = 0;
    longer.config.training.run.max_steps = Some(5);
    train(&longer).unwrap();
    let names = kept(&job.folder());
    assert_eq!(names.last().unwrap(), "step_000000009");
    assert_eq!(names.len(), 7, "{names:?}");
}

#[test]
fn a_changed_dataset_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), 2, 0);
    train(&job).unwrap();
    let first = fs::read(folder.path().join("dataset/metadata.csv")).unwrap();
    let rows = |count: usize, word: &str| {
        let row = |clip| format!("clip{clip}|Seven {word}.|Seven {word}.\n");
        let rows: String = (0..count).map(row).collect();
        mini::prepare_rows(folder.path(), &rows);
        train(&job)
    };
    let said = |result: Result<Finished, TrainError>| match result {
        Err(TrainError::Usage(said)) => said.to_string(),
        other => panic!("{other:?}"),
    };
    let messages = [said(rows(3, "lamps")), said(rows(8, "lamps"))];
    insta::assert_snapshot!(messages.join("\n\n"));
    // Prepared again from the first rows and elsewhere, it is the same dataset.
    let (dataset, moved) = (folder.path().join("dataset"), folder.path().join("moved"));
    fs::write(dataset.join("metadata.csv"), first).unwrap();
    fs::rename(dataset, &moved).unwrap();
    mini::prepare_from(folder.path(), &moved);
    train(&job).unwrap();
}

#[test]
fn a_damaged_checkpoint_names_a_whole_one() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path(), 2, 1);
    train(&job).unwrap();
    let damaged = checkpoint(&job.folder(), 4).join("gpt.safetensors");
    let bytes = fs::read(&damaged).unwrap();
    fs::write(&damaged, &bytes[..bytes.len() / 2]).unwrap();
    let said = train(&job).unwrap_err().to_string();
    let said = said.replace(folder.path().to_str().unwrap(), "FOLDER");
    let number = bytes.len().to_string();
    let said = said.replace(&number, "WHOLE");
    let said = said.replace(&(bytes.len() / 2).to_string(), "HALF");
    insta::assert_snapshot!(said);
    assert_eq!(train(&resumed(&job, 3)).unwrap().steps, 4);
}

/// The folder is spoilt while the run takes its first steps, and the save that
/// notices is followed by another two hundred steps later.
#[test]
fn a_save_that_fails_beside_the_training_stops_it_soon() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path(), 600, 200);
    job.config.training.run.stage = Stages::One(StageWord::Dvae);
    let over = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            let metrics = job.folder().join("metrics.jsonl");
            let begun = || fs::metadata(&metrics).is_ok_and(|file| file.len() > 0);
            while !begun() && !over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(2));
            }
            let _ = fs::create_dir_all(job.folder().join("checkpoints/last.json/taken"));
        });
        let result = train(&job);
        over.store(true, Ordering::Relaxed);
        result
    });
    let said = result.unwrap_err().to_string();
    assert!(said.contains("checkpoints/last.json"), "{said}");
    let steps = mini::losses(&job.folder()).len();
    assert!((200..400).contains(&steps), "told after {steps} steps");
    let log = fs::read_to_string(job.folder().join("train.log")).unwrap();
    assert!(log.contains("writing an emergency checkpoint"), "{log}");
}

/// Most memory this process has held, in KiB.
#[cfg(target_os = "linux")]
fn memory_peak() -> u64 {
    myxtts_base::process::peak_memory().unwrap() / 1024
}

const MEASURED: &str = "MYXTTS_TEST_MEASURED_RUN";

/// A child of the test below: its peak is its own.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "a child of another test"]
fn a_run_that_is_measured() {
    let folder = PathBuf::from(std::env::var_os(MEASURED).unwrap());
    let mut job = job(&folder, 12, 10);
    job.sizes.gpt = GptConfig {
        layers: 8,
        channels: 512,
        heads: 8,
        ..job.sizes.gpt
    };
    job.dataset.validation = Some(job.dataset.folder.clone());
    job.config.training.run.validate_every = 10;
    let over = AtomicBool::new(false);
    let peak_after = |losses: usize| {
        while mini::losses_so_far(&job.folder()).len() < losses && !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(1));
        }
        memory_peak()
    };
    let [steps, all] = std::thread::scope(|scope| {
        // Twelve steps of the DVAE and nine of the GPT, and then those of step 23:
        // a validation and a checkpoint are between them. The end is not looked at:
        // it speaks, which takes another copy of the GPT's blocks, and whether the
        // allocator finds room for that among what steps gave back is luck.
        let watch = scope.spawn(|| [21, 23].map(peak_after));
        train(&job).unwrap();
        over.store(true, Ordering::Relaxed);
        watch.join().unwrap()
    });
    println!("PEAKS {steps} {all}");
}

/// On the CPU the weights, their moments and every copy of them are host
/// memory. Validation and a checkpoint need a tenth more than steps did, at
/// most.
#[cfg(target_os = "linux")]
#[test]
fn validation_and_checkpoints_take_a_tenth_of_memory_more() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "checkpoints::a_run_that_is_measured"])
        .args(["--ignored", "--nocapture"])
        .env(MEASURED, folder.path())
        // In several arenas what one thread gave back is not what another gets: on
        // a busy machine a step then held from 536 to 604 MB.
        .env("MALLOC_ARENA_MAX", "1")
        .output()
        .unwrap();
    let words = String::from_utf8(child.stdout).unwrap();
    let peaks = words.lines().find_map(|line| line.strip_prefix("PEAKS "));
    let peaks = peaks.unwrap_or_else(|| {
        let errors = String::from_utf8_lossy(&child.stderr);
        panic!("{words}\n{errors}")
    });
    let (steps, all) = peaks.split_once(' ').unwrap();
    let [steps, all] = [steps, all].map(|peak| peak.parse::<f64>().unwrap() / 1024.0);
    let log = fs::read_to_string(folder.path().join("run/train.log")).unwrap();
    assert!(log.contains("checkpoint of step 22 written"), "{log}");
    println!("steps {steps:.0} MiB, with validation and checkpoints {all:.0} MiB");
    assert!(
        all <= 1.1 * steps,
        "{steps:.0} MiB for steps, {all:.0} MiB in all"
    );
}
