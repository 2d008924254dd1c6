//! The mel front ends against the reference implementation's own numbers.

use myxtts_audio::MelSpec;
use myxtts_model::mel::{DeviceMel, Transform};

use super::Cases;
use crate::fixtures::{MEL, Part, values};

pub fn mel_front_ends(cases: Cases) {
    for (set, device) in cases(Part::Codec) {
        let file = set.tensors("fx_mel");
        let gpt = set.tensors("fx_gpt");
        let stats = file.values("mel_norms");
        let bands = stats.len();
        let dvae = MelSpec {
            bands,
            ..MelSpec::DVAE
        };
        let conditioning = MelSpec {
            bands,
            ..MelSpec::CONDITIONING
        };
        for transform in [Transform::Fft, Transform::Matrix] {
            let compare = |name: &str, spec, wave, reference: Vec<f32>| {
                let mel = DeviceMel::by(transform, spec, Some(&stats), &device).unwrap();
                let ours = values(mel.forward(wave).unwrap());
                set.absolute(&format!("{name} {transform:?}"), &ours, &reference, MEL);
            };
            let wave = || file.on("wav_22k", &device);
            compare("mel_dvae", dvae, wave(), file.values("mel_dvae"));
            compare("mel_cond", conditioning, wave(), file.values("mel_cond"));
            let padded = gpt.on("cond_wav", &device);
            compare("cond_mels", conditioning, padded, gpt.values("cond_mels"));
        }
    }
}
