//! The speaker encoder against the reference implementation's own numbers.

use burn::tensor::Device;
use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{Compression, MelSpec};
use myxtts_model::init::Init;
use myxtts_model::mel::{DeviceMel, Transform};
use myxtts_model::params;
use myxtts_model::speaker::{SpeakerConfig, SpeakerEncoder, unit_length};
use serde_json::Value;

use super::Cases;
use crate::fixtures::{ACTIVATION, MEL, Part, Set, values};

pub fn encoder(set: &Set, device: &Device) -> SpeakerEncoder {
    let four = |key: &str| -> [usize; 4] {
        let list = set.manifest["spk"]["config"][key].as_array().unwrap();
        let sizes: Vec<usize> = list
            .iter()
            .map(|x| usize::try_from(x.as_u64().unwrap()).unwrap())
            .collect();
        sizes.try_into().unwrap()
    };
    let config = SpeakerConfig {
        bands: set.size("/spk/config/input_dim"),
        embedding_dim: set.size("/spk/config/proj_dim"),
        blocks: four("layers"),
        filters: four("num_filters"),
    };
    let new = SpeakerEncoder::new(&Init::new(0, device), &config).unwrap();
    params::load(new, &set.tensors("weights_spk").0, "").unwrap()
}

pub fn spec(set: &Set) -> MelSpec {
    let audio = &set.manifest["spk"]["config"]["audio_config"];
    let whole = |key: &str| usize::try_from(audio[key].as_u64().unwrap()).unwrap();
    let hz = u32::try_from(whole("sample_rate")).unwrap();
    MelSpec {
        sample_rate: SampleRate::new(hz).unwrap(),
        n_fft: Samples(whole("fft_size")),
        win_length: Samples(whole("win_length")),
        hop: Samples(whole("hop_length")),
        bands: whole("num_mels"),
        pre_emphasis: audio
            .get("preemphasis")
            .and_then(Value::as_f64)
            .map(|x| x as f32),
        ..MelSpec::SPEAKER
    }
}

pub fn mel_and_embedding(cases: Cases) {
    for (set, device) in cases(Part::Codec) {
        let file = set.tensors("fx_spk");
        let wave = || file.on::<2>("wav_16k", &device);
        for transform in [Transform::Fft, Transform::Matrix] {
            // The fixture stops before the logarithm.
            let power = MelSpec {
                compression: Compression::Power,
                instance_norm: false,
                ..spec(&set)
            };
            let power = DeviceMel::by(transform, power, None, &device).unwrap();
            let ours = values(power.forward(wave()).unwrap());
            set.absolute(
                &format!("mel {transform:?}"),
                &ours,
                &file.values("mel"),
                MEL,
            );
        }
        let encoder = encoder(&set, &device);
        let front_end = DeviceMel::new(spec(&set), None, &device).unwrap();
        let raw = encoder.forward(front_end.forward(wave()).unwrap());
        set.relative(
            "emb_raw",
            &values(raw.clone()),
            &file.values("emb_raw"),
            ACTIVATION,
        );
        let unit = values(unit_length(raw));
        set.relative("emb_l2", &unit, &file.values("emb_l2"), ACTIVATION);
        let embedded = values(encoder.embed(&front_end, wave()).unwrap());
        set.relative("embed", &embedded, &unit, ACTIVATION);
    }
}
