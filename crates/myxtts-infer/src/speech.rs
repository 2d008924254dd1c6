//! The result of speaking a text.

use myxtts_audio::units::Frames;
use myxtts_audio::{Mel, Waveform};

use crate::speaking::Said;

/// The audio of a text, and how it was made.
#[derive(Clone, Debug)]
pub struct Speech {
    /// The audio, with a short silence between the pieces of a long text.
    pub waveform: Waveform,
    /// The DVAE's mel of the codes, if Griffin-Lim spoke.
    pub mel: Option<Mel>,
    /// The codes that were generated, without STOP.
    pub codes: Vec<u32>,
    /// Whether the model ended every piece with STOP.
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

/// Joins two mels with the same bands one after the other in time.
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

/// Repeats the last frame: frames are centred on their hops, so n hops of audio have n + 1
/// frames, and codes give n.
pub(crate) fn with_last_frame_twice(mel: &Mel) -> Mel {
    let values = mel.rows().flat_map(|row| row.iter().chain(row.last()));
    Mel {
        bands: mel.bands,
        frames: Frames(mel.frames.0 + 1),
        values: values.copied().collect(),
    }
}
