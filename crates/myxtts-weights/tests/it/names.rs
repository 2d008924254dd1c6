//! The names of every generation of files, and what becomes of them.

use myxtts_weights::keys::{self, Part};

#[test]
fn names_become_canonical_or_are_said_to_be_ignored() {
    let names = [
        "model.xtts.gpt.gpt.h.0.attn.c_attn.bias",
        "model.gpt.mel_head.bias",
        "model.gpt.gpt.h.0.attn.bias",
        "model.gpt.gpt.h.0.attn.masked_bias",
        "model.gpt.gpt.wte.weight",
        "model.gpt.gpt_inference.lm_head.0.weight",
        "model.hifigan_decoder.waveform_decoder.ups.0.weight_g",
        "model.hifigan_decoder.waveform_decoder.ups.0.weight_v",
        "model.hifigan_decoder.waveform_decoder.ups.1.parametrizations.weight.original0",
        "model.hifigan_decoder.speaker_encoder.bn1.weight",
        "model.xtts.mel_stats",
        "model.mel_stats.0",
        "model.dvae.codebook.embed",
        "model.torch_mel_spectrogram_dvae.mel_stft.mel_scale.fb",
        "model.torch_mel_spectrogram_style_encoder.mel_norms",
        "model.discriminator.conv.weight",
        "optimizer.state.0.exp_avg",
    ];
    let (taken, ignored) = keys::sort(names);
    assert_eq!(taken.len() + ignored.len(), names.len());
    let taken = taken
        .iter()
        .map(|taken| format!("{} -> {:?} {}", taken.raw, taken.part, taken.name));
    let ignored = ignored
        .iter()
        .map(|ignored| format!("{} -> ignored: {}", ignored.name, ignored.reason));
    insta::assert_snapshot!(taken.chain(ignored).collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_bare_state_dict_needs_no_model_level() {
    let (taken, ignored) = keys::sort(["gpt.final_norm.weight", "xtts.mel_stats"]);
    assert!(ignored.is_empty());
    let parts: Vec<Part> = taken.iter().map(|taken| taken.part).collect();
    assert_eq!(parts, [Part::Gpt, Part::MelStats]);
}
