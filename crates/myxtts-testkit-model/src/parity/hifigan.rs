//! The waveform decoder against the reference implementation's own numbers.

use burn::tensor::Device;
use myxtts_model::hifigan::{HifiganConfig, HifiganDecoder, at_speed};
use myxtts_model::init::Init;
use myxtts_model::params;

use super::Cases;
use crate::fixtures::{ACTIVATION, GRADIENT, Part, Set, WAVE, gradients, norm, values};

/// Single elements of a gradient, relative to the largest. Wider than for norms:
/// where a leaky ReLU's input is 0 but for rounding, its slope is either of two.
/// The reference in double precision differs from its own fixtures by 6e-3.
const GRADIENT_ELEMENT: f64 = 1e-2;

pub fn config(set: &Set) -> HifiganConfig {
    let size = |key: &str| set.size(&format!("/hifidec/config/{key}"));
    let rate = |key: &str| u32::try_from(size(key)).unwrap();
    let config = HifiganConfig {
        input_rate: rate("input_sample_rate"),
        output_rate: rate("output_sample_rate"),
        code_stride: size("ar_mel_length_compression"),
        latent_dim: size("decoder_input_dim"),
        speaker_dim: size("d_vector_dim"),
        channels: size("upsample_initial_channel_decoder"),
        ..HifiganConfig::released()
    };
    assert_eq!(config.hop(), size("output_hop_length"));
    config
}

pub fn decoder(set: &Set, device: &Device) -> HifiganDecoder {
    let new = HifiganDecoder::new(&Init::new(0, device), &config(set)).unwrap();
    params::load(new, &set.tensors("weights_hifidec").0, "").unwrap()
}

pub fn waveform_and_the_way_to_it(cases: Cases) {
    for (set, device) in cases(Part::Codec) {
        let file = set.tensors("fx_hifidec");
        let decoder = decoder(&set, &device);
        let latents = || file.on::<3>("latents", &device);
        let frames = decoder.frames(latents());
        assert_eq!(frames.dims()[2], set.size("/hifidec/z_frames"));
        set.relative("z", &values(frames.clone()), &file.values("z"), ACTIVATION);
        let generator = &decoder.waveform_decoder;
        let before = values(generator.conv_pre.forward(frames));
        set.relative("conv_pre", &before, &file.values("conv_pre"), ACTIVATION);
        let speaker = || file.on::<3>("g", &device);
        let wave = decoder.forward(latents(), speaker());
        assert_eq!(wave.dims(), [1, 1, set.size("/hifidec/samples")]);
        set.absolute("wav", &values(wave), &file.values("wav"), WAVE);
        let folded = decoder.folded().forward(latents(), speaker());
        set.absolute("wav, folded", &values(folded), &file.values("wav"), WAVE);
        let faster = values(at_speed(latents(), 1.3));
        let name = "latents_speed1.3";
        set.relative(name, &faster, &file.values(name), ACTIVATION);
    }
}

/// The first stage before its speaker: `up0` is what the transposed convolution gives.
pub fn first_stage(cases: Cases) {
    use burn::tensor::activation::leaky_relu;
    for (set, device) in cases(Part::Codec) {
        let file = set.tensors("fx_hifidec");
        let generator = decoder(&set, &device).waveform_decoder;
        let frames = file.on::<2>("z", &device).unsqueeze::<3>();
        let speaker = generator.cond_layer.forward(file.on("g", &device));
        let x = generator.conv_pre.forward(frames) + speaker;
        let up = generator.ups[0].forward(leaky_relu(x, 0.1));
        set.relative("up0", &values(up), &file.values("up0"), ACTIVATION);
    }
}

pub fn gradients_reach_length_and_direction(cases: Cases) {
    for (set, device) in cases(Part::Codec) {
        let device = device.autodiff();
        let file = set.tensors("fx_hifidec");
        let decoder = decoder(&set, &device);
        let wave = decoder.forward(file.on("latents", &device), file.on("g", &device));
        let found = gradients(&decoder, &wave.square().mean().backward());
        let full = |short: &str| {
            let (layer, last) = short.rsplit_once('.').unwrap();
            let nested = if last.starts_with("original") {
                ".parametrizations.weight"
            } else {
                ""
            };
            format!("waveform_decoder.{layer}{nested}.{last}")
        };
        for name in file.0.keys().filter(|name| name.starts_with("grad_msq.")) {
            let ours = &found[&full(name.strip_prefix("grad_msq.").unwrap())];
            let reference = file.values(name);
            set.relative(name, ours, &reference, GRADIENT_ELEMENT);
            set.scalar(&format!("|{name}|"), norm(ours), norm(&reference), GRADIENT);
        }
        assert_eq!(
            found.len(),
            params::names(&decoder).len(),
            "every parameter has one"
        );
    }
}
