//! What was spoken.

use myxtts_audio::units::Frames;
use myxtts_audio::{Mel, Waveform};

use crate::speaking::Said;

/// A spoken text.
#[derive(Clone, Debug)]
pub struct Speech {
    /// The sound, with a short silence between the pieces of a long text.
    pub waveform: Waveform,
    /// What the DVAE made of the codes, where Griffin-Lim spoke.
    pub mel: Option<Mel>,
    /// The codes, without STOP.
    pub codes: Vec<u32>,
    /// Whether the model itself came to an end, in every piece.
    pub stopped: bool,
}

impl Speech {
    pub(crate) fn of(waveform: Waveform, said: Said) -> Self {
        Self {
            waveform,
            mel: said
                .mels
                .into_iter()
                .reduce(|all, next| beside(&all, &next)),
            codes: said.codes,
            stopped: said.unended == 0,
        }
    }
}

/// Two mels of the same bands, one after the other in time.
fn beside(first: &Mel, second: &Mel) -> Mel {
    let frames = first.frames.0 + second.frames.0;
    let mut values = Vec::with_capacity(first.bands * frames);
    for band in 0..first.bands {
        for mel in [first, second] {
            let length = mel.frames.0;
            let row = mel.values.get(band * length..(band + 1) * length);
            values.extend_from_slice(row.unwrap_or_default());
        }
    }
    Mel {
        bands: first.bands,
        frames: Frames(frames),
        values,
    }
}

/// The last frame once more: frames are centred on their hops, so that the
/// sound of n hops has n + 1 of them, and codes give n.
pub(crate) fn with_last_frame_twice(mel: &Mel) -> Mel {
    let values = mel.rows().flat_map(|row| row.iter().chain(row.last()));
    Mel {
        bands: mel.bands,
        frames: Frames(mel.frames.0 + 1),
        values: values.copied().collect(),
    }
}
