use std::collections::BTreeSet;
use std::fs;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;

use super::{AsyncSaver, Best, CheckpointError, Content, Retention, Snapshot, Store};
use crate::units::{Bytes, Step};

fn keep(last: usize, every: Option<u64>) -> Retention {
    Retention {
        keep_last: NonZeroUsize::new(last).unwrap(),
        keep_every: every.and_then(NonZeroU64::new),
    }
}

fn open(folder: &Path) -> Store {
    Store::open(folder, keep(3, None)).unwrap().0
}

fn snapshot(step: u64) -> Snapshot<'static> {
    Snapshot {
        step: Step(step),
        epoch: 2,
        schedule_position: 17,
        sections: [("rng".to_string(), json!({"seed": 7}))].into(),
        contents: vec![
            Content::bytes("model.safetensors", format!("weights {step}")),
            Content::writer("optimiser/moments.bin", Bytes(8000), move |out| {
                (0..1000).try_for_each(|n: u64| out.write_all(&(n * step).to_le_bytes()))
            }),
        ],
        best: None,
    }
}

fn best(step: u64, value: f64) -> Snapshot<'static> {
    Snapshot {
        best: Some(Best {
            metric: "val_loss".into(),
            value,
        }),
        ..snapshot(step)
    }
}

fn steps(store: &Store) -> Vec<u64> {
    store.steps().unwrap().iter().map(|step| step.0).collect()
}

#[test]
fn what_is_saved_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    assert!(store.latest().unwrap().is_none() && store.best().unwrap().is_none());
    let saved = store.save(best(10, 0.1)).unwrap();
    assert_eq!(saved.bytes, Bytes(10 + 8000));
    store.save(snapshot(20)).unwrap();

    let store = open(folder.path());
    let latest = store.latest().unwrap().unwrap();
    assert_eq!(latest.step(), Step(20));
    latest.verify().unwrap();
    assert_eq!(latest.load("model.safetensors").unwrap(), b"weights 20");
    let (checkpoint, why) = store.best().unwrap().unwrap();
    assert_eq!(
        (checkpoint.step(), why.value.to_bits()),
        (Step(10), 0.1_f64.to_bits())
    );
    let manifest = store.at(Step(10)).unwrap().manifest().clone();
    assert_eq!((manifest.epoch, manifest.schedule_position), (2, 17));
    assert_eq!(manifest.sections["rng"], json!({"seed": 7}));
    assert_eq!(
        fs::read_to_string(folder.path().join("last.json")).unwrap(),
        "{\"step\":20}\n"
    );
}

#[test]
fn the_manifest_is_readable() {
    let folder = tempfile::tempdir().unwrap();
    let saved = open(folder.path()).save(snapshot(10)).unwrap();
    insta::assert_snapshot!(fs::read_to_string(saved.folder.join("manifest.json")).unwrap());
}

/// Damages a fresh checkpoint and says what verification makes of it.
fn damaged(damage: impl Fn(&Path)) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let saved = store.save(snapshot(10)).unwrap();
    damage(&saved.folder);
    let verified = store.latest().and_then(|latest| {
        let latest = latest.unwrap();
        let verified = latest.verify();
        // Loading a file finds the same as verifying all of them.
        let loaded = latest
            .load("model.safetensors")
            .and(latest.load("optimiser/moments.bin"));
        assert_eq!(loaded.is_err(), verified.is_err());
        verified
    });
    let said = verified.unwrap_err().to_string();
    said.replace(folder.path().to_str().unwrap(), "CHECKPOINTS")
}

#[test]
fn damage_is_named() {
    let model = |folder: &Path| folder.join("model.safetensors");
    let manifest = |folder: &Path| folder.join("manifest.json");
    let edited = |folder: &Path, from: &str, to: &str| {
        let text = fs::read_to_string(manifest(folder)).unwrap();
        assert!(text.contains(from), "{text}");
        text.replace(from, to)
    };
    let edit = |folder: &Path, from: &str, to: &str| {
        fs::write(manifest(folder), edited(folder, from, to)).unwrap();
    };
    // With a hash that fits, as a program that is not ours might write it.
    let write = |folder: &Path, text: &str| {
        fs::write(manifest(folder), text).unwrap();
        let hash = blake3::hash(text.as_bytes()).to_hex().to_string();
        fs::write(folder.join("manifest.b3"), hash).unwrap();
    };
    let rewrite = |folder: &Path, from: &str, to: &str| write(folder, &edited(folder, from, to));
    let said = [
        damaged(|folder| fs::write(model(folder), "weigh").unwrap()),
        damaged(|folder| fs::write(model(folder), "weights 10 and more").unwrap()),
        damaged(|folder| fs::write(model(folder), "weightz 10").unwrap()),
        damaged(|folder| fs::remove_file(model(folder)).unwrap()),
        damaged(|folder| fs::remove_file(manifest(folder)).unwrap()),
        damaged(|folder| fs::remove_file(folder.join("manifest.b3")).unwrap()),
        // A step and a seed that nothing else would notice.
        damaged(|folder| edit(folder, "\"seed\": 7", "\"seed\": 8")),
        damaged(|folder| write(folder, "{\"schema\": 2, \"st")),
        damaged(|folder| rewrite(folder, "\"schema\": 2", "\"schema\": 9")),
        damaged(|folder| rewrite(folder, "\"schema\": 2", "\"version\": 2")),
        damaged(|folder| rewrite(folder, "model.safetensors", "../../../etc/passwd")),
    ];
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let names: [&[&str]; 6] = [
        &["../a"],
        &["/etc/a"],
        &["a\\b"],
        &["a", "A"],
        &["manifest.json"],
        &["a//b"],
    ];
    let said = names.map(|names| {
        let contents = names
            .iter()
            .map(|name| Content::bytes(*name, "x"))
            .collect();
        store
            .save(Snapshot {
                contents,
                ..snapshot(1)
            })
            .unwrap_err()
            .to_string()
    });
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_is_not_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let mut said = vec![store.at(Step(5)).unwrap_err().to_string()];
    store.save(best(10, 2.5)).unwrap();
    store.save(snapshot(20)).unwrap();
    said.push(store.at(Step(5)).unwrap_err().to_string());
    said.push(
        store
            .latest()
            .unwrap()
            .unwrap()
            .load("voice.bin")
            .unwrap_err()
            .to_string(),
    );
    fs::remove_dir_all(folder.path().join("step_000000010")).unwrap();
    said.push(store.best().unwrap_err().to_string());
    fs::write(folder.path().join("best.json"), "{").unwrap();
    said.push(store.best().unwrap_err().to_string());
    let said = said
        .join("\n")
        .replace(folder.path().to_str().unwrap(), "CHECKPOINTS");
    insta::assert_snapshot!(said);
}

#[test]
fn orphans_are_swept_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    open(folder.path()).save(snapshot(10)).unwrap();
    open(folder.path()).save(snapshot(20)).unwrap();
    fs::create_dir_all(place(".tmp-30-abc/sub")).unwrap();
    fs::write(place(".tmp-30-abc/sub/model"), "half").unwrap();
    fs::write(place(".tmp-pointer"), "{").unwrap();
    // Killed while 20 was being replaced, and after 10 had been.
    fs::rename(place("step_000000020"), place(".old-20-xyz")).unwrap();
    fs::create_dir(place(".old-10-xyz")).unwrap();
    fs::write(place("notes.txt"), "mine").unwrap();

    let (store, swept) = Store::open(folder.path(), keep(3, None)).unwrap();
    assert_eq!(steps(&store), [10, 20]);
    store.latest().unwrap().unwrap().verify().unwrap();
    assert!(place("notes.txt").exists());
    insta::assert_snapshot!(
        swept
            .to_string()
            .replace(folder.path().to_str().unwrap(), "CHECKPOINTS")
    );
    assert_eq!(
        Store::open(folder.path(), keep(3, None)).unwrap().1,
        super::Swept::default()
    );
}

#[test]
fn a_step_saved_again_replaces_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    store.save(snapshot(10)).unwrap();
    let contents = vec![Content::bytes("model.safetensors", "anew")];
    store
        .save(Snapshot {
            contents,
            ..snapshot(10)
        })
        .unwrap();
    let latest = store.latest().unwrap().unwrap();
    latest.verify().unwrap();
    assert_eq!(latest.load("model.safetensors").unwrap(), b"anew");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn retention_spares_best_resumed_and_newest() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), keep(1, Some(40))).unwrap().0;
    store.save(best(10, 1.0)).unwrap();
    store.save(snapshot(15)).unwrap();
    store.resume_from(Step(15)).unwrap();
    for step in [20, 30, 40, 50, 60] {
        store.save(snapshot(step)).unwrap();
    }
    assert_eq!(steps(&store), [10, 15, 40, 60]);
    assert_eq!(
        store.save(best(70, 0.5)).unwrap().deleted,
        [Step(10), Step(60)]
    );
    assert_eq!(steps(&store), [15, 40, 70]);
}

#[test]
fn resuming_an_earlier_step_drops_the_later_ones_with_the_first_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    store.save(snapshot(10)).unwrap();
    store.save(snapshot(20)).unwrap();
    store.save(best(30, 1.0)).unwrap();
    assert!(store.resume_from(Step(15)).is_err());
    assert_eq!(store.resume_from(Step(10)).unwrap(), [Step(20), Step(30)]);
    // Nothing is gone yet, and nothing goes with a save that fails.
    assert_eq!(steps(&store), [10, 20, 30]);
    let failing = Content::writer("a", Bytes(1), |_| Err(std::io::ErrorKind::Other.into()));
    let failing = Snapshot {
        contents: vec![failing],
        ..snapshot(12)
    };
    assert!(store.save(failing).is_err());
    assert_eq!(steps(&store), [10, 20, 30]);
    assert_eq!(store.best().unwrap().unwrap().0.step(), Step(30));

    let saved = store.save(snapshot(12)).unwrap();
    assert_eq!(saved.superseded, [Step(20), Step(30)]);
    assert_eq!(steps(&store), [10, 12]);
    assert!(store.best().unwrap().is_none());
    assert_eq!(
        fs::read_to_string(folder.path().join("last.json")).unwrap(),
        "{\"step\":12}\n"
    );
    assert_eq!(store.save(snapshot(20)).unwrap().superseded, []);
}

#[test]
fn a_step_made_again_takes_the_place_of_the_one_it_supersedes() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    for step in [10, 20, 30] {
        store.save(best(step, 1.0)).unwrap();
    }
    store.resume_from(Step(10)).unwrap();
    assert_eq!(store.save(best(20, 2.0)).unwrap().superseded, [Step(30)]);
    assert_eq!(steps(&store), [10, 20]);
    assert_eq!(store.best().unwrap().unwrap().0.step(), Step(20));
}

#[test]
fn a_damaged_checkpoint_names_those_that_are_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let said = |error: CheckpointError| {
        let said = error.beside_whole(folder.path()).to_string();
        said.replace(folder.path().to_str().unwrap(), "CHECKPOINTS")
    };
    let place = |step: u64, name: &str| folder.path().join(format!("step_{step:09}/{name}"));
    for step in [10, 20, 30] {
        store.save(snapshot(step)).unwrap();
    }
    fs::write(place(30, "model.safetensors"), "half").unwrap();
    let damaged = || store.latest().unwrap().unwrap().verify().unwrap_err();
    let mut messages = vec![said(damaged())];
    fs::remove_file(place(20, "manifest.json")).unwrap();
    messages.push(said(damaged()));
    fs::write(place(10, "optimiser/moments.bin"), "half").unwrap();
    messages.push(said(damaged()));
    // What is not damage is left alone.
    messages.push(said(store.at(Step(5)).unwrap_err()));
    insta::assert_snapshot!(messages.join("\n\n"));
}

/// Without a hash of the manifest, as the program wrote them before.
#[test]
fn checkpoints_of_the_first_schema_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut store = open(folder.path());
    let saved = store.save(snapshot(10)).unwrap();
    let manifest = saved.folder.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"schema\": 2", "\"schema\": 1")).unwrap();
    fs::remove_file(saved.folder.join("manifest.b3")).unwrap();
    let latest = store.latest().unwrap().unwrap();
    latest.verify().unwrap();
    assert_eq!(latest.manifest().schema, 1);
}

#[cfg(unix)]
#[test]
fn files_have_the_permissions_of_any_new_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let usual = folder.path().join("usual");
    fs::write(&usual, "x").unwrap();
    let checkpoints = folder.path().join("checkpoints");
    let saved = open(&checkpoints).save(best(10, 1.0)).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    for path in ["last.json", "best.json"].map(|name| checkpoints.join(name)) {
        assert_eq!(mode(&path), mode(&usual), "{}", path.display());
    }
    assert_eq!(mode(&saved.folder.join("manifest.b3")), mode(&usual));
}

/// A file made of pieces that nobody else holds, and one that describes it.
#[test]
fn files_are_made_while_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let weights = vec![3_u8; 1000];
    let make = || Snapshot {
        contents: vec![
            Content::writer("a.bin", Bytes(1000), |out| {
                weights.chunks(7).try_for_each(|piece| out.write_all(piece))
            }),
            Content::description("b.json", |files| {
                let [first] = files else {
                    return Err(std::io::Error::other("one file comes before"));
                };
                Ok(format!("{} {}", first.name, first.blake3).into_bytes())
            }),
        ],
        ..Snapshot::default()
    };
    let mut saver = AsyncSaver::start(open(folder.path())).unwrap();
    let (_, saved) = saver
        .save_now(Snapshot {
            step: Step(10),
            ..make()
        })
        .unwrap();
    assert_eq!(saved.step, Step(10));
    let described = format!("a.bin {}", blake3::hash(&weights).to_hex());
    let collected = Snapshot {
        step: Step(20),
        ..make()
    };
    assert_eq!(collected.bytes(), Bytes(1000));
    saver.save(collected.collected().unwrap()).unwrap();
    assert_eq!(saver.finish().unwrap().report.saves, 2);
    let store = open(folder.path());
    for step in [10, 20] {
        let checkpoint = store.at(Step(step)).unwrap();
        checkpoint.verify().unwrap();
        assert_eq!(checkpoint.load("a.bin").unwrap(), weights);
        assert_eq!(checkpoint.load("b.json").unwrap(), described.as_bytes());
    }
}

#[test]
fn a_failed_save_is_told_before_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut saver = AsyncSaver::start(open(folder.path())).unwrap();
    assert!(saver.poll().unwrap().is_none());
    saver.save(snapshot(10)).unwrap();
    let told = |saver: &mut AsyncSaver| {
        (0..500).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            saver.poll().transpose()
        })
    };
    assert_eq!(told(&mut saver).unwrap().unwrap().step, Step(10));
    saver
        .save_with(|| {
            Err(CheckpointError::Snapshot {
                reason: "the disk is full".into(),
            })
        })
        .unwrap();
    let error = told(&mut saver).unwrap().unwrap_err().to_string();
    assert!(error.contains("the disk is full"), "{error}");
    // Told once; the run may still try a last time, and that works.
    assert!(saver.poll().unwrap().is_none());
    saver.save_now(snapshot(30)).unwrap();
    assert!(saver.finish().unwrap().last.is_none());
}

proptest! {
    #[test]
    fn retention_never_takes_what_it_must_not(
        steps: BTreeSet<u16>,
        protected: BTreeSet<u16>,
        last in 1..6_usize,
        every in prop::option::of(1..50_u64),
    ) {
        let steps: BTreeSet<_> = steps.into_iter().map(|s| Step(s.into())).collect();
        let protected: BTreeSet<_> = protected.into_iter().map(|s| Step(s.into())).collect();
        let doomed = keep(last, every).doomed(&steps, &protected);
        let newest: Vec<_> = steps.iter().rev().take(last).collect();
        for step in &steps {
            let must_stay = protected.contains(step)
                || newest.contains(&step)
                || every.is_some_and(|every| step.0 % every == 0);
            prop_assert_eq!(doomed.contains(step), !must_stay);
        }
    }
}

#[test]
fn training_goes_on_while_a_checkpoint_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut saver = AsyncSaver::start(open(folder.path())).unwrap();
    let (release, gate) = channel::<()>();
    saver
        .save_with(move || {
            // Until the test lets go, this save is in flight.
            gate.recv().unwrap();
            Ok(snapshot(10))
        })
        .unwrap();
    // Reached although nothing is written yet: the first save did not wait.
    assert_eq!(saver.report().waited, Duration::ZERO);
    let releaser = std::thread::spawn(move || {
        // Long enough for the second save to have begun, on a busy machine too.
        std::thread::sleep(Duration::from_millis(500));
        release.send(()).unwrap();
    });
    let second = saver.save(snapshot(20)).unwrap();
    releaser.join().unwrap();
    assert!(second.waited > Duration::ZERO);
    assert_eq!(second.previous.unwrap().step, Step(10));
    let finished = saver.finish().unwrap();
    assert_eq!(finished.last.unwrap().step, Step(20));
    assert_eq!(finished.report.saves, 2);
    assert!(finished.report.waited >= second.waited && finished.report.writing > Duration::ZERO);
    assert_eq!(steps(&open(folder.path())), [10, 20]);
}

#[test]
fn errors_of_a_save_come_with_the_next_call() {
    let folder = tempfile::tempdir().unwrap();
    let fail = || {
        Err(CheckpointError::Snapshot {
            reason: "the device was lost".into(),
        })
    };
    let mut saver = AsyncSaver::start(open(folder.path())).unwrap();
    saver.save_with(fail).unwrap();
    let said = saver.save(snapshot(20)).unwrap_err().to_string();
    saver.save_with(fail).unwrap();
    assert_eq!(saver.finish().unwrap_err().to_string(), said);
    // The save that reported the error was written all the same.
    assert_eq!(steps(&open(folder.path())), [20]);

    let mut saver = AsyncSaver::start(open(folder.path())).unwrap();
    saver.save_with(|| panic!("a bug in the trainer")).unwrap();
    let gone = saver.finish().unwrap_err().to_string();

    let mut saver = AsyncSaver::start(open(folder.path())).unwrap();
    let full = || {
        Content::writer("a.bin", Bytes(1), |_| {
            Err(std::io::ErrorKind::StorageFull.into())
        })
    };
    saver
        .save(Snapshot {
            contents: vec![full()],
            ..snapshot(40)
        })
        .unwrap();
    let disk = saver.finish().unwrap_err().to_string();
    let disk = disk
        .split(".tmp-")
        .map(|part| part.split_once("/a.bin").map_or(part, |p| p.1));
    let disk = disk.collect::<Vec<_>>().join("(temporary)");
    insta::assert_snapshot!(
        [said, gone, disk]
            .join("\n")
            .replace(folder.path().to_str().unwrap(), "CHECKPOINTS")
    );
    assert_eq!(steps(&open(folder.path())), [20]);
}

#[test]
fn dropping_the_saver_finishes_the_save() {
    let folder = tempfile::tempdir().unwrap();
    let mut saver = AsyncSaver::start(open(folder.path())).unwrap();
    saver.save(snapshot(10)).unwrap();
    drop(saver);
    open(folder.path())
        .latest()
        .unwrap()
        .unwrap()
        .verify()
        .unwrap();
}
