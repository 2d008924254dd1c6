//! What the cache gives back is what loading would give.

use myxtts_audio::{AudioConfig, Limits, Loader, Normalize};
use myxtts_data::prepare::{Manifest, WaveformCache};
use proptest::prelude::*;

use super::support::Dataset;

fn normalize() -> impl Strategy<Value = Normalize> {
    prop_oneof![
        Just(Normalize::None),
        Just(Normalize::Peak),
        Just(Normalize::Loudness)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(8) })]

    #[test]
    fn a_hit_is_the_recomputation_bit_for_bit(
        trim_silence in any::<bool>(),
        normalize in normalize(),
        seconds in 0.6_f64..2.0,
    ) {
        let mut data = Dataset::new();
        data.clip("a", seconds, "one two three");
        data.clip("b", seconds / 1.1, "one two three");
        let audio = AudioConfig { trim_silence, normalize, ..AudioConfig::default() };
        let mut request = data.request();
        request.cache = true;
        request.settings.audio = audio.clone();
        data.prepare_as(&request).unwrap();

        let cache = WaveformCache::open(&request.out.join("cache"), &audio).unwrap();
        let other = AudioConfig { trim_silence: !trim_silence, ..audio.clone() };
        let other = WaveformCache::open(&request.out.join("cache"), &other).unwrap();
        let mut loader = Loader::new(audio, Limits::default());
        let mut manifest = Manifest::open(&request.out).unwrap();
        let mut seen = 0;
        while let Some(clip) = manifest.next() {
            let clip = clip.unwrap();
            let content = clip.content_hash().unwrap();
            let cached = cache.get(&content).expect("a hit");
            let loaded = loader.load(&manifest.audio(&clip)).unwrap().waveform;
            let bits = |samples: &[f32]| samples.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&cached.samples), bits(&loaded.samples));
            prop_assert_eq!(cached.rate, loaded.rate);
            prop_assert_eq!(cached.len(), clip.samples);
            prop_assert!(other.get(&content).is_none(), "another configuration misses");
            seen += 1;
        }
        prop_assert_eq!(seen, 2);
    }
}
