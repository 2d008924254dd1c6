//! Something to hear: WAVs in the run's folder, and their place in TensorBoard.

use myxtts_audio::{Mel, Waveform, wav_pcm16};
use myxtts_run::FileError;
use myxtts_run::tensorboard::{Histogram, Wav, mel_image};
use myxtts_run::units::Step;
use serde::Serialize;

use crate::error::TrainError;
use crate::session::recorder::{Desk, had_memory};

/// What was rendered of a step.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// What the clips are.
    pub(super) title: &'static str,
    /// To listen to.
    pub(super) clips: Vec<HeardClip>,
    /// How weights are spread, by name.
    pub(super) histograms: Vec<(String, Histogram)>,
    /// What could not be rendered, and why.
    pub(super) missing: Vec<String>,
}

/// One clip.
#[derive(Debug)]
pub(crate) struct HeardClip {
    /// Its file's name.
    pub(super) name: String,
    pub(super) waveform: Waveform,
    pub(super) mel: Option<Mel>,
    /// What was said, where it is not a copy of a recording.
    pub(super) spoken: Option<Spoken>,
}

/// A sentence in a voice; `samples.json` lists them.
#[derive(Debug, Serialize)]
pub(super) struct Spoken {
    pub(super) text: String,
    pub(super) speaker: String,
    pub(super) codes: usize,
    /// Whether the model ended by itself.
    pub(super) stopped: bool,
}

#[derive(Serialize)]
struct Listed<'a> {
    file: &'a str,
    #[serde(flatten)]
    spoken: &'a Spoken,
}

impl Desk {
    /// Keeps what was rendered, and says where.
    pub(crate) fn keep(&mut self, step: Step, heard: &Heard) -> Result<(), TrainError> {
        had_memory("the rendering of samples")?;
        let folder = self.folder.samples(step)?;
        let mut listed = vec![];
        let levels = heard.clips.iter().map(|clip| level(&clip.waveform.samples));
        self.levels.insert(heard.title, levels.collect());
        for clip in &heard.clips {
            let name = &clip.name;
            if let Some(bytes) = wav_pcm16(&clip.waveform) {
                let path = folder.join(name);
                std::fs::write(&path, &bytes).map_err(FileError::when("write", &path))?;
                let wav = Wav {
                    bytes: &bytes,
                    sample_rate: clip.waveform.rate.hz(),
                    channels: 1,
                    samples: clip.waveform.samples.len() as u64,
                };
                let written = self.events.audio(&format!("samples/{name}"), step, wav);
                written?;
            }
            let image = clip.mel.as_ref().and_then(|mel| {
                let [bands, frames] =
                    [mel.bands, mel.frames.0].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
                mel_image(&mel.values, bands, frames)
            });
            if let Some(image) = image {
                let written = self.events.image(&format!("mel/{name}"), step, &image);
                written?;
            }
            if let Some(spoken) = &clip.spoken {
                let written = self
                    .events
                    .text(&format!("text/{name}"), step, &spoken.text);
                written?;
                listed.push(Listed { file: name, spoken });
            }
        }
        for (name, histogram) in &heard.histograms {
            let written = self.events.histogram(name, step, histogram);
            written?;
        }
        if !listed.is_empty() {
            let list = serde_json::to_vec_pretty(&listed).map_err(TrainError::failed)?;
            let path = folder.join("samples.json");
            std::fs::write(&path, list).map_err(FileError::when("write", &path))?;
        }
        self.events.flush()?;
        for line in &heard.missing {
            self.say(&format!("step {step}: {line}"));
        }
        self.say(&format!(
            "{} of step {step}: {}",
            heard.title,
            folder.display()
        ));
        Ok(())
    }
}

/// The mean level of a sound, as a share of full scale; 0 for none.
#[expect(clippy::cast_possible_truncation, reason = "at most one")]
fn level(samples: &[f32]) -> f32 {
    let power: f64 = samples.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    (power / samples.len().max(1) as f64).sqrt() as f32
}
