//! How much of an epoch is padding.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::time::{Duration, Instant};

use myxtts_data::generated_corpus::generate;
use myxtts_data::prepare::{Manifest, Request, Settings, prepare, unwatched};
use myxtts_data::sample_corpus::unpack;
use myxtts_data::schedule::{
    BucketShape, ClipLength, Schedule, bucket_of, choose_buckets, padding_percent,
};
use myxtts_data::units::{Codes, Tokens};
use myxtts_text::{CleanOptions, Training, Vocabulary, clean_with};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// Lengths of a dataset as training counts them, with a vocabulary of its texts.
fn lengths_of(dataset: &Path) -> Vec<ClipLength> {
    let out = dataset.join("prepared");
    let request = Request {
        dataset: dataset.to_owned(),
        out: out.clone(),
        vocabulary: None,
        next: vec![],
        workers: NonZeroUsize::new(2).unwrap(),
        settings: Settings {
            held_out_fraction: 0.0,
            ..Settings::default()
        },
    };
    prepare(&request, &mut unwatched).unwrap();
    let mut clips = vec![];
    let mut languages = BTreeSet::new();
    for clip in Manifest::open(&out).unwrap().map(Result::unwrap) {
        let language = clip.language.parse().unwrap();
        let text = clean_with(&clip.text, &language, &CleanOptions::default()).text;
        languages.insert(language.clone());
        clips.push((text, language, clip.samples));
    }
    let training = Training {
        languages: languages.into_iter().collect(),
        ..Training::default()
    };
    let texts = clips.iter().map(|(text, ..)| text.clone());
    let vocabulary = Vocabulary::train(texts, &training).unwrap();
    let lengths = clips.iter().map(|(text, language, samples)| ClipLength {
        text: Tokens(vocabulary.encode(text, language).unwrap().len() as u32),
        audio: Codes::of(*samples),
    });
    lengths.collect()
}

/// Padding of an epoch with eight buckets, and of the buckets alone.
fn padding(lengths: &[ClipLength], replicas: u32) -> [f64; 2] {
    let shapes = choose_buckets(lengths, 8);
    assert!(shapes.len() <= 8, "{shapes:?}");
    let schedule = Schedule::new(lengths, &shapes, 8, replicas, 0).unwrap();
    let found = [
        schedule.padding_percent(lengths),
        padding_percent(lengths, &shapes),
    ];
    println!(
        "{} clips, {replicas} replicas: {:.2} % padding, {:.2} % without empty rows",
        lengths.len(),
        found[0],
        found[1]
    );
    found
}

/// Every set of at most `count` shapes that end where clips do: the slow reference.
fn every_set(clips: &[ClipLength], count: usize) -> Vec<Vec<BucketShape>> {
    let texts: BTreeSet<Tokens> = clips.iter().map(|clip| clip.text).collect();
    let audios: BTreeSet<Codes> = clips.iter().map(|clip| clip.audio).collect();
    let corners = texts.iter().flat_map(|text| {
        audios.iter().map(|audio| BucketShape {
            text: *text,
            audio: *audio,
        })
    });
    let mut sets: Vec<Vec<BucketShape>> = vec![vec![]];
    for corner in corners {
        let smaller = sets.iter().filter(|set| set.len() < count);
        let larger: Vec<_> = smaller.map(|set| [&set[..], &[corner]].concat()).collect();
        sets.extend(larger);
    }
    sets
}

/// Padded positions, where every clip has a shape that holds it.
fn cost(clips: &[ClipLength], shapes: &[BucketShape]) -> Option<u64> {
    let cost = |clip: &ClipLength| Some(shapes[bucket_of(shapes, *clip)?].cost());
    clips.iter().map(cost).sum()
}

fn chain(shapes: &[BucketShape]) -> bool {
    let mut sorted = shapes.to_vec();
    sorted.sort_by_key(|shape| (shape.text, shape.audio));
    sorted.is_sorted_by_key(|shape| shape.audio)
}

/// What an epoch costs when clips stay in their bucket, and its rows are those
/// of its largest batch or up to a fifth less.
fn cost_without_moves(
    clips: &[ClipLength],
    shapes: &[BucketShape],
    batch: u64,
    replicas: u64,
) -> u64 {
    let budget = batch * shapes.iter().map(BucketShape::cost).max().unwrap();
    let bucket = |(at, shape): (usize, &BucketShape)| {
        let count = clips
            .iter()
            .filter(|clip| bucket_of(shapes, **clip) == Some(at))
            .count() as u64;
        let most = (budget / shape.cost()).max(1);
        let rows = (most - most / 5..=most).map(|rows| count.next_multiple_of(rows * replicas));
        rows.min().unwrap() * shape.cost()
    };
    shapes.iter().enumerate().map(bucket).sum()
}

fn clips(most: usize) -> impl Strategy<Value = Vec<ClipLength>> {
    let clip = (1_u32..40, 4_u32..60).prop_map(|(text, audio)| ClipLength {
        text: Tokens(text),
        audio: Codes(audio),
    });
    prop::collection::vec(clip, 1..most)
}

/// Of the shapes that are found, of the best of all sets, and of the best chain.
fn costs(clips: &[ClipLength], count: usize) -> [u64; 3] {
    let found = choose_buckets(clips, count);
    assert!(found.len() <= count);
    let sets = every_set(clips, count);
    let least = |sets: &mut dyn Iterator<Item = &Vec<BucketShape>>| {
        sets.filter_map(|set| cost(clips, set)).min().unwrap()
    };
    [
        cost(clips, &found).unwrap(),
        least(&mut sets.iter()),
        least(&mut sets.iter().filter(|set| chain(set))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(128) })]

    #[test]
    fn the_search_is_as_good_as_every_chain(clips in clips(6), count in 1_usize..4) {
        let [found, all, chains] = costs(&clips, count);
        prop_assert!(all <= found && found <= chains, "{} {} {}", found, all, chains);
    }

    #[test]
    fn moving_leftovers_never_pads_more(
        clips in clips(300), buckets in 1_usize..10, batch in 1_u32..20, replicas in 1_u32..5,
    ) {
        let shapes = choose_buckets(&clips, buckets);
        let schedule = Schedule::new(&clips, &shapes, batch, replicas, 0).unwrap();
        let real: u64 = clips.iter().map(|clip| u64::from(clip.text.0 + clip.audio.0)).sum();
        let padded = cost_without_moves(&clips, &shapes, batch.into(), replicas.into());
        let without = 100.0 * (padded - real) as f64 / padded as f64;
        let found = schedule.padding_percent(&clips);
        prop_assert!(found <= without + 1e-9, "{} and {}", found, without);
    }
}

/// One shape is replaced at a time, so the search can miss a set in which no
/// shape holds all clips; a few clips whose texts do not follow their audio
/// are its worst case. How far off it is was counted on these cases, which
/// are the same in every run.
#[test]
fn the_search_is_close_to_every_set() {
    let mut runner = TestRunner::deterministic();
    let case = (clips(6), 1_usize..4);
    let excess: Vec<f64> = (0..300)
        .map(|_| {
            let (clips, count) = case.new_tree(&mut runner).unwrap().current();
            let [found, all, _] = costs(&clips, count);
            found as f64 / all as f64 - 1.0
        })
        .collect();
    let mean = excess.iter().sum::<f64>() / excess.len() as f64;
    let worst = excess.into_iter().fold(0.0, f64::max);
    assert!(mean < 0.001 && worst < 0.1, "{mean} {worst}");
}

/// However many clips and whether or not text follows audio; the bound allows
/// for a busy machine.
#[test]
fn a_hundred_thousand_clips_are_searched_quickly() {
    let clip = |follows: u32| {
        move |i: u64| {
            let random = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
            let audio = (random % 499) as u32 + 4;
            let spread = (random / 499 % 397) as u32;
            ClipLength {
                text: Tokens((follows * audio + (4 - follows) * spread) / 4 + 1),
                audio: Codes(audio),
            }
        }
    };
    for (follows, buckets) in [(3, 8), (0, 8), (3, 64), (0, 64)] {
        let lengths: Vec<ClipLength> = (0..100_000).map(clip(follows)).collect();
        let begin = Instant::now();
        let shapes = choose_buckets(&lengths, buckets);
        let chosen = begin.elapsed();
        Schedule::new(&lengths, &shapes, 8, 2, 0).unwrap();
        let scheduled = begin.elapsed() - chosen;
        let padding = padding_percent(&lengths, &shapes);
        println!("{buckets} buckets ({padding:.1} %) in {chosen:.0?}, schedule in {scheduled:.0?}");
        assert!(chosen + scheduled < Duration::from_secs(60));
    }
}

/// The corpus of `bench pipeline`. With eight shapes 8.14 % is the least that
/// 3000 runs of another search found, so 8.2 leaves no slack.
#[test]
fn the_corpus_of_the_bench() {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path(), 1200).unwrap();
    let lengths = lengths_of(folder.path());
    for (replicas, most) in [(1, 8.7), (2, 9.2), (4, 9.4)] {
        let [epoch, buckets] = padding(&lengths, replicas);
        assert!(buckets < 8.2 && epoch < most, "{buckets} {epoch}");
    }
}

#[test]
fn the_sample_corpus() {
    let folder = tempfile::tempdir().unwrap();
    unpack(folder.path()).unwrap();
    let lengths = lengths_of(folder.path());
    for (replicas, most) in [(1, 7.0), (2, 10.0), (4, 16.0)] {
        let [epoch, buckets] = padding(&lengths, replicas);
        assert!(buckets < 5.5 && epoch < most, "{buckets} {epoch}");
    }
}
