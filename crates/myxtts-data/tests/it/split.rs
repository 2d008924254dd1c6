//! Seeded, stable and fair to every speaker.

use std::collections::BTreeSet;

use myxtts_data::split::{Candidate, held_out};

fn names(count: usize) -> Vec<String> {
    (0..count)
        .map(|i| format!("wavs/clip_{i:05}.wav"))
        .collect()
}

/// The names held out, every third clip by `bob`, the rest by `ann`.
fn chosen(names: &[String], fraction: f64, most: usize, seed: u64) -> BTreeSet<String> {
    let speaker = |name: &String| {
        let number: usize = name[10..15].parse().unwrap();
        if number.is_multiple_of(3) {
            "bob"
        } else {
            "ann"
        }
    };
    let clips: Vec<Candidate<'_>> = names
        .iter()
        .map(|name| Candidate {
            name,
            speaker: Some(speaker(name)),
        })
        .collect();
    let held = held_out(&clips, fraction, most, seed);
    names
        .iter()
        .zip(held)
        .filter(|(_, held)| *held)
        .map(|(name, _)| name.clone())
        .collect()
}

#[test]
fn every_speaker_is_heard_in_proportion() {
    let held = chosen(&names(900), 0.05, 256, 1);
    let bob = held
        .iter()
        .filter(|name| name[10..15].parse::<usize>().unwrap() % 3 == 0)
        .count();
    assert_eq!((held.len(), bob), (45, 15));
}

#[test]
fn the_order_of_the_metadata_does_not_matter_and_the_seed_does() {
    let mut shuffled = names(500);
    shuffled.reverse();
    assert_eq!(
        chosen(&names(500), 0.1, 256, 1),
        chosen(&shuffled, 0.1, 256, 1)
    );
    assert_ne!(
        chosen(&names(500), 0.1, 256, 1),
        chosen(&names(500), 0.1, 256, 2)
    );
}

#[test]
fn more_recordings_leave_the_set_nearly_as_it_was() {
    let before = chosen(&names(1000), 0.05, 1000, 7);
    let after = chosen(&names(1100), 0.05, 1000, 7);
    let kept = before.intersection(&after).count();
    assert!(
        kept * 100 >= before.len() * 80,
        "{kept} of {} stayed",
        before.len()
    );
}

#[test]
fn few_clips_are_all_trained_on_and_no_speaker_is_emptied() {
    assert!(chosen(&names(12), 0.5, 256, 1).len() < 12);
    let solo: Vec<Candidate<'_>> = vec![
        Candidate {
            name: "a",
            speaker: None
        };
        1
    ];
    assert_eq!(held_out(&solo, 1.0, 256, 1), [false]);
    let many = names(40);
    let clips: Vec<Candidate<'_>> = many
        .iter()
        .map(|name| Candidate {
            name,
            speaker: None,
        })
        .collect();
    assert_eq!(
        held_out(&clips, 1.0, 256, 1)
            .iter()
            .filter(|held| !**held)
            .count(),
        1
    );
    assert!(held_out(&clips, 0.0, 256, 1).iter().all(|held| !held));
}

#[test]
fn a_bound_on_the_whole_thins_speakers_alike() {
    let held = chosen(&names(900), 0.1, 10, 1);
    let bob = held
        .iter()
        .filter(|name| name[10..15].parse::<usize>().unwrap() % 3 == 0)
        .count();
    assert_eq!((held.len(), bob), (10, 5));
}
