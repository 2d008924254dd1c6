//! Comparing two clips of the same words, frame by frame.

use myxtts_audio::units::Decibels;

use crate::align::{Alignment, align};
use crate::analysis::{Analysis, ScoreError};
use crate::units::{Cents, Hertz};

/// How far a clip is from a recording of the same words.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Which frames say the same, of the recording and of the clip.
    pub alignment: Alignment,
    /// Mel-cepstral distortion along the alignment.
    pub distortion: Decibels,
    /// Root mean square of the difference in pitch where both are voiced; `None`
    /// where they never are.
    pub pitch_error: Option<Cents>,
    /// The same difference in hertz.
    pub pitch_error_hz: Option<Hertz>,
    /// Share of the aligned pairs in which one frame is voiced and the other is
    /// not, from 0 to 1.
    pub voicing_error: f64,
}

/// Compares a clip with a recording.
pub fn compare(recording: &Analysis, clip: &Analysis) -> Result<Comparison, ScoreError> {
    let alignment = align(&recording.cepstra, &clip.cepstra)?;
    let mut cents = vec![];
    let mut hertz = vec![];
    let mut differ = 0_usize;
    for &(of_recording, of_clip) in &alignment.path {
        let pitch =
            |analysis: &Analysis, frame: usize| analysis.pitch.frames.get(frame).copied().flatten();
        match (pitch(recording, of_recording), pitch(clip, of_clip)) {
            (Some(wanted), Some(found)) => {
                cents.push(found.above(wanted).0);
                hertz.push(found.0 - wanted.0);
            }
            (None, None) => {}
            _ => differ += 1,
        }
    }
    Ok(Comparison {
        distortion: alignment.distortion,
        pitch_error: root_mean_square(&cents).map(Cents),
        pitch_error_hz: root_mean_square(&hertz).map(Hertz),
        voicing_error: differ as f64 / alignment.path.len().max(1) as f64,
        alignment,
    })
}

fn root_mean_square(values: &[f64]) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (!values.is_empty()).then(|| (squares / values.len() as f64).sqrt())
}
