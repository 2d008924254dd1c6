//! What was measured, for people and for programs.

use std::fmt;

use serde::Serialize;

use super::MAIN;
use crate::frame::{or_dash, times};

/// What was measured for one size.
#[derive(Clone, Debug, Serialize)]
pub struct SynthReport {
    pub(super) size: &'static str,
    pub(super) rounds: usize,
    pub(super) threads: usize,
    /// Seconds of work per second of audio.
    pub(super) rtf: f64,
    /// Seconds from the text's tokens to the first samples of a stream, for the first text of a
    /// voice.
    pub(super) first_audio_s: f64,
    /// The number of these first samples.
    pub(super) first_audio_samples: usize,
    /// The same for every later text of the voice: what was computed for the voice is kept,
    /// which the reference does not do.
    pub(super) later_first_audio_s: f64,
    /// Seconds for sentences of each length.
    pub(super) seconds: Vec<Length>,
    pub(super) peak_rss_bytes: Option<u64>,
    /// Our time for a sentence of 200 codes over the reference's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ratio_to_reference: Option<f64>,
    /// Our time to the first audio over the reference's, for the first text of a voice.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) first_audio_ratio: Option<f64>,
    /// Our time for a later text over the reference's, which is the same for each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) later_first_audio_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reference: Option<Reference>,
}

/// What was measured of the reference.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Reference {
    pub(super) first_audio_s: f64,
    pub(super) first_audio_samples: usize,
    pub(super) peak_rss_bytes: u64,
    /// The number of greedy codes that are the same on both sides, from the first on.
    pub(super) same_codes: usize,
    pub(super) threads: u64,
    pub(super) torch: String,
    pub(super) coqui_tts: String,
}

/// Sentences of one length, with the median of the rounds.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Length {
    pub(super) codes: usize,
    pub(super) seconds: f64,
    /// The part of these seconds that the codes took.
    pub(super) codes_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reference_s: Option<f64>,
}

impl fmt::Display for SynthReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}, {} threads, median of {}: {:.3} s per second of audio\n",
            self.size, self.threads, self.rounds, self.rtf
        )?;
        writeln!(
            f,
            "{:<12} {:>9} {:>9} {:>11} {:>7}",
            "", "s", "of codes", "reference", "ratio"
        )?;
        for length in &self.seconds {
            let name = format!("{} codes", length.codes);
            let theirs = length.reference_s;
            writeln!(
                f,
                "{name:<12} {:>9.3} {:>9.3} {:>11} {:>7}",
                length.seconds,
                length.codes_s,
                or_dash(theirs.map(|theirs| format!("{theirs:.3}"))),
                times(theirs.map(|theirs| length.seconds / theirs)),
            )?;
        }
        let reference = self.reference.as_ref();
        for (name, seconds, ratio) in [
            ("first audio", self.first_audio_s, self.first_audio_ratio),
            (
                "later texts",
                self.later_first_audio_s,
                self.later_first_audio_ratio,
            ),
        ] {
            writeln!(
                f,
                "{name:<12} {seconds:>9.3} {:>9} {:>11} {:>7}",
                "",
                or_dash(reference.map(|reference| format!("{:.3}", reference.first_audio_s))),
                times(ratio),
            )?;
        }
        let megabytes = |bytes: u64| bytes / 1_000_000;
        writeln!(
            f,
            "{:<12} {:>9} {:>9} {:>11}",
            "peak MB",
            or_dash(self.peak_rss_bytes.map(megabytes)),
            "",
            or_dash(reference.map(|reference| megabytes(reference.peak_rss_bytes))),
        )?;
        if let Some(reference) = reference {
            writeln!(
                f,
                "\n{} of {MAIN} greedy codes are the reference's (coqui-tts {}, torch {})",
                reference.same_codes, reference.coqui_tts, reference.torch
            )?;
        }
        Ok(())
    }
}
