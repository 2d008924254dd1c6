//! `kill -9` at any instant leaves the checkpoints before intact.

use std::io::{BufRead, BufReader};
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::Duration;

use myxtts_run::checkpoint::{AsyncSaver, Best, Content, Retention, Snapshot, Store, Swept};
use myxtts_run::units::Step;

use crate::again;

fn open(folder: &Path) -> (Store, Swept) {
    let retention = Retention {
        keep_last: NonZeroUsize::new(2).unwrap(),
        keep_every: None,
    };
    Store::open(folder, retention).unwrap()
}

/// The other process: saves without end, from where the last one came to.
#[test]
fn save_loop() {
    let Some(folder) = again::folder() else {
        return;
    };
    let (mut store, _) = open(&folder);
    let mut step = store.latest().unwrap().map_or(0, |latest| latest.step().0);
    if step > 0 {
        store.resume_from(Step(step)).unwrap();
    }
    let mut saver = AsyncSaver::start(store).unwrap();
    loop {
        step += 1;
        let contents = (0..4_u8).map(|file| {
            let bytes = vec![file ^ step as u8; 20_000 + step as usize];
            Content::bytes(format!("part/{file}.bin"), bytes)
        });
        let contents = contents.collect();
        let value = 1.0 / step as f64;
        let best = (step % 5 == 0).then(|| Best {
            metric: "loss".into(),
            value,
        });
        let snapshot = Snapshot {
            step: Step(step),
            contents,
            best,
            ..Snapshot::default()
        };
        if let Some(saved) = saver.save(snapshot).unwrap().previous {
            println!("\nsaved {}", saved.step);
        }
    }
}

#[test]
fn killed_at_any_instant_the_last_checkpoint_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (mut reached, mut swept_any) = (Step(0), false);
    // A plain generator: the instants differ, the test is the same each time.
    let mut random = 12_345_u64;
    for kill in 0..40 {
        let mut child = again::start("kill::save_loop", folder.path());
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        // Open until the kill: the child would stop by itself on a closed pipe.
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        if kill % 4 != 0 {
            // Most kills fall into a loop that is under way, however busy the
            // machine; the others, into starting up.
            assert!(lines.any(|line| line.unwrap().starts_with("saved")));
        }
        std::thread::sleep(Duration::from_micros((random >> 33) % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();

        let (store, swept) = open(folder.path());
        swept_any |= !swept.removed.is_empty();
        if let Some(latest) = store.latest().unwrap() {
            latest.verify().unwrap();
            assert!(
                latest.step() >= reached,
                "kill {kill}: {} after {reached}",
                latest.step()
            );
            reached = latest.step();
        } else {
            assert_eq!(reached, Step(0), "kill {kill}: the checkpoints are gone");
        }
        if let Some((best, _)) = store.best().unwrap() {
            best.verify().unwrap();
        }
    }
    assert!(
        reached > Step(20),
        "only {reached} steps: the kills came before the saves"
    );
    assert!(swept_any, "no kill fell into a save");
}
