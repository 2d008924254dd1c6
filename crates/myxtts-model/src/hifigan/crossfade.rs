//! Chunks of a stream, faded into each other.
//!
//! While codes are generated, all latents so far are decoded again and again;
//! each waveform begins like the one before it but for its end, which had no
//! future to hear. So the last `overlap` samples are held back and faded into
//! their next version.

use myxtts_audio::units::Samples;

/// What becomes of the end of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The reference's: the held-back tail is never heard, and a last chunk
    /// shorter than the overlap follows without a fade.
    Compat,
    /// Everything is heard, faded.
    Fixed,
}

/// Cross-fades the waveforms of a stream.
#[derive(Clone, Debug)]
pub struct CrossFade {
    overlap: usize,
    ending: Ending,
    /// Where the next sample to emit is.
    emitted: usize,
    /// What followed there in the waveform before.
    tail: Option<Vec<f32>>,
    /// What `finish` has to emit.
    rest: Vec<f32>,
}

impl CrossFade {
    /// At the start of a stream.
    pub fn new(overlap: Samples, ending: Ending) -> Self {
        Self {
            overlap: overlap.0,
            ending,
            emitted: 0,
            tail: None,
            rest: vec![],
        }
    }

    /// Takes the waveform of all latents so far; gives what can be played now.
    pub fn push(&mut self, wave: &[f32]) -> Vec<f32> {
        let mut fresh = wave.get(self.emitted..).unwrap_or_default().to_vec();
        let ready = fresh.len().saturating_sub(self.overlap);
        let tail = self.tail.take();
        if tail.is_some() && ready < self.overlap {
            return match self.ending {
                Ending::Compat => {
                    self.emitted = wave.len().saturating_sub(self.overlap);
                    fresh
                }
                Ending::Fixed => {
                    fade(&mut fresh, tail.as_deref());
                    self.tail = tail;
                    self.rest = fresh;
                    vec![]
                }
            };
        }
        fade(&mut fresh, tail.as_deref());
        self.rest = fresh.split_off(ready);
        self.emitted += ready;
        let held = wave.len().saturating_sub(self.overlap);
        self.tail = wave.get(held..).map(<[f32]>::to_vec);
        fresh
    }

    /// Ends the stream; gives what is left to play.
    pub fn finish(self) -> Vec<f32> {
        match self.ending {
            Ending::Compat => vec![],
            Ending::Fixed => self.rest,
        }
    }
}

/// Fades from `tail` into `wave` over the length of the tail.
fn fade(wave: &mut [f32], tail: Option<&[f32]>) {
    let Some(tail) = tail else { return };
    let last = tail.len().saturating_sub(1).max(1) as f32;
    for (index, (new, old)) in wave.iter_mut().zip(tail).enumerate() {
        let share = index as f32 / last;
        *new = old * (1.0 - share) + *new * share;
    }
}
