use myxtts_audio::units::Samples;
use myxtts_model::hifigan::{CrossFade, Ending};
use proptest::prelude::*;

use crate::fixtures::Set;

#[test]
fn chunks_are_the_references() {
    for set in Set::all() {
        let file = set.tensors("fx_stream");
        let mut fade = CrossFade::new(Samples(128), Ending::Compat);
        for index in 0..file.0.len() / 2 {
            let chunk = fade.push(&file.values(&format!("in{index}")));
            let name = format!("chunk{index}");
            set.absolute(&name, &chunk, &file.values(&name), 1e-6);
        }
        assert!(fade.finish().is_empty());
    }
}

proptest! {
    /// However long the chunks, a stream of one growing wave is that wave, to its end.
    #[test]
    fn nothing_is_lost_or_repeated(steps in prop::collection::vec(1_usize..400, 1..12)) {
        let total: usize = steps.iter().sum();
        let wave: Vec<f32> = (0..total).map(|i| (i as f32 * 0.37).sin()).collect();
        let mut fade = CrossFade::new(Samples(100), Ending::Fixed);
        let (mut heard, mut length) = (vec![], 0);
        for step in steps {
            length += step;
            heard.extend(fade.push(&wave[..length]));
        }
        heard.extend(fade.finish());
        prop_assert_eq!(heard.len(), wave.len());
        for (a, b) in heard.iter().zip(&wave) {
            prop_assert!((a - b).abs() < 1e-6);
        }
    }
}

/// Where the old and the new waveform differ, no step is larger than the fade makes it.
#[test]
fn versions_are_faded_into_each_other() {
    let mut fade = CrossFade::new(Samples(10), Ending::Fixed);
    let mut heard = fade.push(&[0.0; 30]);
    heard.extend(fade.push(&[1.0; 60]));
    heard.extend(fade.push(&[0.0; 65]));
    heard.extend(fade.finish());
    assert_eq!(heard.len(), 65);
    let largest = heard
        .windows(2)
        .map(|pair| (pair[1] - pair[0]).abs())
        .fold(0.0, f32::max);
    assert!(largest < 0.12, "{largest}");
}
