//! Codes come back as they were kept, and only for what made them.

use std::sync::Arc;

use myxtts_data::cache::FeatureCache;
use myxtts_data::codes::{CodesCache, CodesSource};
use myxtts_data::host_stage::{HostFeed, PreparedBatch, Segments};
use myxtts_data::schedule::{Schedule, choose_buckets};
use myxtts_data::units::Codes;
use myxtts_pipeline::Ticket;

use crate::host_stage::{lengths, stage};

fn schedule() -> Arc<Schedule> {
    let shapes = choose_buckets(lengths(), 2);
    Arc::new(Schedule::new(lengths(), &shapes, 2, 1, 3).unwrap())
}

/// The first batch of the schedule, with codes where the cache has them.
fn first(codes: Option<Arc<CodesCache>>) -> PreparedBatch {
    let feed = HostFeed::new(stage(Segments::Fixed), schedule(), codes).unwrap();
    feed.prepare(Ticket { step: 0, lane: 0 }, None).unwrap()
}

fn contents() -> Vec<Option<[u8; 32]>> {
    let hashes = (1..).take(lengths().len()).map(|clip| Some([clip; 32]));
    hashes.collect()
}

/// What each place of a batch holds: `code` where a row has codes, else zero.
fn places(filled: &PreparedBatch, code: impl Fn(usize, u32) -> i32) -> Vec<i32> {
    let rows = filled.batch.wave_lengths().iter().enumerate();
    rows.flat_map(|(row, length)| {
        let own = Codes::of(*length).0;
        let code = &code;
        (0..filled.batch.shape().audio.0).map(move |place| match place < own {
            true => code(row, place),
            false => 0,
        })
    })
    .collect()
}

#[test]
fn codes_come_back_for_their_source_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (CodesSource::new([1; 32]), CodesSource::new([2; 32]));
    let on_disk = |source| {
        let cache = FeatureCache::open(folder.path()).unwrap();
        Arc::new(CodesCache::on_disk(contents(), source, cache))
    };
    let in_memory = Arc::new(CodesCache::in_memory(contents(), one));
    for cache in [in_memory, on_disk(one)] {
        let before = first(Some(Arc::clone(&cache)));
        assert_eq!(before.codes_bm(), None);
        let all = cache.missing(&schedule()).unwrap();
        assert_eq!(all, lengths().len());
        let made: Vec<i64> = (1..).take(places(&before, |_, _| 1).len()).collect();
        cache.write(&before.batch, &made).unwrap();
        let after = first(Some(Arc::clone(&cache)));
        let columns = before.batch.shape().audio.0;
        let expected = places(&before, |row, place| {
            i32::try_from(row).unwrap() * i32::try_from(columns).unwrap()
                + i32::try_from(place).unwrap()
                + 1
        });
        assert_eq!(after.codes_bm(), Some(&expected[..]));
        let clips = before.batch.clips().iter().flatten().count();
        assert_eq!(cache.missing(&schedule()).unwrap(), all - clips);
    }
    assert!(first(Some(on_disk(one))).codes_bm().is_some());
    assert_eq!(first(Some(on_disk(other))).codes_bm(), None);
}

#[test]
fn a_clip_without_a_hash_is_not_kept() {
    let nameless = vec![None; lengths().len()];
    let cache = Arc::new(CodesCache::in_memory(nameless, CodesSource::new([1; 32])));
    let batch = first(None).batch;
    let made = vec![1; batch.rows() * batch.shape().audio.0 as usize];
    cache.write(&batch, &made).unwrap();
    assert_eq!(first(Some(cache)).codes_bm(), None);
}

#[test]
fn another_source_is_noticed_once() {
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (CodesSource::new([1; 32]), CodesSource::new([2; 32]));
    let replaced = [one, one, other, other, one].map(|s| s.replaces(folder.path()).unwrap());
    assert_eq!(replaced, [false, false, true, false, true]);
}

/// Measurements of before and after are of the same codes: those of SplitMix64.
#[test]
fn drawn_codes_are_a_function_of_clip_and_place() {
    fn split_mix(state: u64) -> u64 {
        let mut z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    let source = CodesSource::new([1; 32]);
    let cache = Arc::new(CodesCache::drawn(contents(), source, 512));
    let filled = first(Some(cache));
    let clips = filled.batch.clips();
    let expected = places(&filled, |row, place| {
        let clip = u64::from(clips[row].unwrap().0);
        i32::try_from(split_mix((clip << 32) + u64::from(place)) % 512).unwrap()
    });
    assert_eq!(filled.codes_bm(), Some(&expected[..]));
}
