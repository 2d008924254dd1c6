//! The names of every known generation of XTTS files, brought to one.
//!
//! The canonical names are those of the public implementation's model today:
//! `gpt.*`, `hifigan_decoder.*` and `mel_stats`, weight norm spelled as
//! parametrizations; and for the DVAE the names inside `dvae.pth`.

use serde::Serialize;

/// The part of a model a tensor belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The autoregressive model, GPT.
    Gpt,
    /// The vocoder and the speaker encoder.
    HifiganDecoder,
    /// The DVAE, which discretises mel spectrograms; its names have no prefix.
    Dvae,
    /// The mean of each mel band.
    MelStats,
}

/// A tensor of a file that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ignored {
    /// Its name in the file.
    pub name: String,
    /// Why it was not taken.
    pub reason: &'static str,
}

/// A tensor that was taken over: its name in the file, its part and its canonical name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// The name in the file.
    pub raw: String,
    /// The part it belongs to.
    pub part: Part,
    /// The name we use.
    pub name: String,
}

const STATE: &str = "state of the training, not weights";
const MEL: &str = "computed from the sample rate, not learned";
const ALIAS: &str = "a second name for tensors that are also there under their own";
const MASK: &str = "the causal mask of older files, not learned";
const UNKNOWN: &str = "not part of XTTS";

/// Sorts the names of a file into those taken over and those that are not.
pub fn sort<'a>(names: impl IntoIterator<Item = &'a str>) -> (Vec<Taken>, Vec<Ignored>) {
    let names: Vec<&str> = names.into_iter().collect();
    // A trainer's checkpoint keeps the state dict under `model`, beside others.
    let nested = names.iter().any(|name| name.starts_with("model."));
    let mut taken = Vec::new();
    let mut ignored = Vec::new();
    for raw in names {
        let name = match raw.strip_prefix("model.") {
            None if nested => Err(STATE),
            inner => canonical(inner.unwrap_or(raw)),
        };
        let raw = raw.to_owned();
        match name {
            Ok((part, name)) => taken.push(Taken { raw, part, name }),
            Err(reason) => ignored.push(Ignored { name: raw, reason }),
        }
    }
    (taken, ignored)
}

/// Returns the part and canonical name of an entry of a state dict, or why it has none.
fn canonical(name: &str) -> Result<(Part, String), &'static str> {
    // The trainer wraps the model and calls it `xtts`.
    let name = name.strip_prefix("xtts.").unwrap_or(name);
    let (root, below) = name.split_once('.').unwrap_or((name, ""));
    match root {
        "mel_stats" if below.is_empty() => Ok((Part::MelStats, name.to_owned())),
        "dvae" => Ok((Part::Dvae, below.to_owned())),
        "gpt" if below.starts_with("gpt_inference.") || below == "gpt.wte.weight" => Err(ALIAS),
        "gpt" if is_mask(below) => Err(MASK),
        "gpt" => Ok((Part::Gpt, name.to_owned())),
        "hifigan_decoder" => Ok((Part::HifiganDecoder, weight_norm(name))),
        _ if root.starts_with("torch_mel_spectrogram_") => Err(MEL),
        _ => Err(UNKNOWN),
    }
}

/// Returns whether the name is a mask such as `gpt.h.N.attn.bias`; the bias of the
/// attention is `attn.c_attn.bias`.
fn is_mask(name: &str) -> bool {
    name.starts_with("gpt.h.")
        && (name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias"))
}

/// Renames the two factors of weight norm, which torch before 2.1 spelled
/// `weight_g` and `weight_v`.
fn weight_norm(name: &str) -> String {
    for (old, new) in [("weight_g", "original0"), ("weight_v", "original1")] {
        if let Some(module) = name
            .strip_suffix(old)
            .filter(|module| module.ends_with('.'))
        {
            return format!("{module}parametrizations.weight.{new}");
        }
    }
    name.to_owned()
}
