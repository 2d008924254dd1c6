//! Checks how recordings are heard.

use myxtts_audio::MelSpec;
use myxtts_audio::units::{Samples, Seconds};
use serde_json::json;

use super::rules::{RATES, fault};
use crate::card::ModelCard;
use crate::error::InferError;

/// The longest conditioning segment: ten times what the release was trained with.
const LONGEST_SEGMENT: Seconds = Seconds(60.0);

/// Checks the rates, mels and segments that turn a recording into input.
pub(super) fn check(card: &ModelCard) -> Result<(), InferError> {
    let rate = card.audio.sample_rate;
    if !RATES.contains(&rate.hz()) {
        let needed = format!("{} to {} Hz is needed", RATES.start(), RATES.end());
        return fault("audio.sample_rate", rate.hz(), needed);
    }
    // Training uses these front ends and no others, and so must speaking.
    check_mel("codes_mel", &card.codes_mel, &MelSpec::DVAE)?;
    check_mel(
        "conditioning_mel",
        &card.conditioning_mel,
        &MelSpec::CONDITIONING,
    )?;
    for (field, found, mel) in [
        (
            "audio.sample_rate",
            rate.hz() as usize,
            card.codes_mel.sample_rate.hz() as usize,
        ),
        ("dvae.channels", card.dvae.channels, card.codes_mel.bands),
        (
            "gpt.mel_bands",
            card.gpt.mel_bands,
            card.conditioning_mel.bands,
        ),
    ] {
        if found != mel {
            return fault(field, found, format!("the mels of XTTS have {mel}"));
        }
    }
    let segment = card.conditioning;
    let least = card.conditioning_mel.shortest();
    let most = Samples::in_time(LONGEST_SEGMENT, rate);
    if segment.max < least || segment.max > most {
        let needed = format!("{} to {} samples are needed", least.0, most.0);
        return fault("conditioning.max", segment.max.0, needed);
    }
    if segment.min.0 == 0 || segment.min > segment.max {
        let needed = format!("1 to conditioning.max = {} is needed", segment.max.0);
        return fault("conditioning.min", segment.min.0, needed);
    }
    Ok(())
}

/// Returns an error for the first constant that is not the one of XTTS.
fn check_mel(name: &str, spec: &MelSpec, needed: &MelSpec) -> Result<(), InferError> {
    // JSON cannot represent a number that is not finite.
    if let (Some(amount), None) = (spec.pre_emphasis, needed.pre_emphasis) {
        return fault(&format!("{name}.pre_emphasis"), amount, "XTTS has none");
    }
    let [found, needed] = [spec, needed].map(|spec| json!(spec));
    let fields = needed.as_object().into_iter().flatten();
    for (field, needed) in fields {
        let found = &found[field];
        if found != needed {
            let needed = format!("XTTS has {needed}");
            return fault(&format!("{name}.{field}"), found, needed);
        }
    }
    Ok(())
}
