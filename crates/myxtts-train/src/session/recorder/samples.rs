//! Samples: rendered beside the training or while it waits, kept as WAVs in
//! the run's folder, and shown in TensorBoard.

use std::path::Path;

use myxtts_audio::wav_pcm16;
use myxtts_ops::is_cpu;
use myxtts_run::FileError;
use myxtts_run::tensorboard::{Wav, mel_image};
use myxtts_run::units::Step;
use serde::Serialize;

use super::rendering::InProgress;
use super::{Recorder, RunOutputs, check_for_oom_in};
use crate::error::{TrainError, unless_stopped};
use crate::objective::Objective;
use crate::session::evaluate::Evaluator;
use crate::session::samples::{Sample, SampleSet, Utterance};
use crate::train_loop::State;

impl<T: Objective, E: Evaluator<T>> Recorder<'_, T, E> {
    /// Renders samples: while training continues if there is a device for it, otherwise at once.
    /// If a stop interrupts them, they are owed.
    pub(super) fn sample(&mut self, state: &State<T>) -> Result<(), TrainError> {
        // The last samples come first, if they took longer than the steps in between.
        self.keep_rendered()?;
        if !self.stage_info.has_data_device || self.outputs.stop.is_asked() {
            self.owed.samples = self.render(state, false)?.is_none();
            return Ok(());
        }
        let stop = &self.outputs.stop;
        let rendering = self.evaluator.samples(state, false, stop);
        match rendering.and_then(|rendering| InProgress::start(rendering, stop)) {
            Err(TrainError::Stopped) => self.owed.samples = true,
            rendering => {
                self.rendered = Some((self.step(), rendering?));
                self.owed.samples = false;
            }
        }
        Ok(())
    }

    /// Renders and stores samples at once; `None` if a stop came first.
    pub(super) fn render(&mut self, state: &State<T>, all: bool) -> Result<Option<()>, TrainError> {
        let stop = &self.outputs.stop;
        let rendering = unless_stopped(stop);
        let rendering = rendering.and_then(|()| self.evaluator.samples(state, all, stop));
        let sample_set = rendering.and_then(|rendering| match is_cpu(&state.objective.device()) {
            // A sentence takes long on the CPU, so a stop does not wait for its end.
            true => InProgress::start(rendering, stop)?.wait(stop),
            false => rendering(stop),
        });
        match sample_set {
            Err(TrainError::Stopped) => Ok(None),
            sample_set => self.outputs.keep(self.step(), &sample_set?).map(Some),
        }
    }

    /// Waits for samples that are being rendered, and stores them; a stop is not kept waiting.
    pub(super) fn keep_rendered(&mut self) -> Result<(), TrainError> {
        let Some((step, rendering)) = self.rendered.take() else {
            return Ok(());
        };
        match rendering.wait(&self.outputs.stop) {
            Err(TrainError::Stopped) => {
                self.log_unfinished_samples(step);
                Ok(())
            }
            sample_set => self.outputs.keep(step, &sample_set?),
        }
    }

    pub(super) fn log_unfinished_samples(&mut self, step: Step) {
        let line = format!("samples of step {step} were not finished when the stop came");
        self.outputs.say(&line);
    }
}

#[derive(Serialize)]
struct Listed<'a> {
    file: &'a str,
    #[serde(flatten)]
    utterance: &'a Utterance,
}

impl RunOutputs {
    /// Writes the samples to the run's folder, and reports where.
    fn keep(&mut self, step: Step, sample_set: &SampleSet) -> Result<(), TrainError> {
        check_for_oom_in("the rendering of samples")?;
        let folder = self.folder.samples(step)?;
        let mut listed = vec![];
        let levels = sample_set
            .clips
            .iter()
            .map(|clip| level(&clip.waveform.samples));
        self.levels.insert(sample_set.title, levels.collect());
        for clip in &sample_set.clips {
            self.keep_sound(step, &folder, clip)?;
            self.show_mel(step, clip)?;
            if let Some(utterance) = &clip.utterance {
                let name = &clip.name;
                let written = self
                    .events
                    .text(&format!("text/{name}"), step, &utterance.text);
                written?;
                listed.push(Listed {
                    file: name,
                    utterance,
                });
            }
        }
        for (name, histogram) in &sample_set.histograms {
            let written = self.events.histogram(name, step, histogram);
            written?;
        }
        if !listed.is_empty() {
            let list = serde_json::to_vec_pretty(&listed).map_err(TrainError::failed)?;
            let path = folder.join("samples.json");
            std::fs::write(&path, list).map_err(FileError::when("write", &path))?;
        }
        self.events.flush()?;
        for line in &sample_set.missing {
            self.say(&format!("step {step}: {line}"));
        }
        self.say(&format!(
            "{} of step {step}: {}",
            sample_set.title,
            folder.display()
        ));
        Ok(())
    }

    /// Writes the WAV of a clip to `folder` and to TensorBoard; nothing if it is too long for one.
    fn keep_sound(&mut self, step: Step, folder: &Path, clip: &Sample) -> Result<(), TrainError> {
        let Some(bytes) = wav_pcm16(&clip.waveform) else {
            return Ok(());
        };
        let name = &clip.name;
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
        self.log.observer().sample(step, &path);
        Ok(())
    }

    /// Shows the mel of a clip in TensorBoard, if it has one.
    fn show_mel(&mut self, step: Step, clip: &Sample) -> Result<(), TrainError> {
        let image = clip.mel.as_ref().and_then(|mel| {
            let [bands, frames] =
                [mel.bands, mel.frames.0].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
            mel_image(&mel.values, bands, frames)
        });
        if let Some(image) = image {
            let written = self
                .events
                .image(&format!("mel/{}", clip.name), step, &image);
            written?;
        }
        Ok(())
    }
}

/// Returns the RMS level of a sound, as a share of full scale; 0 if it is empty.
#[expect(clippy::cast_possible_truncation, reason = "at most one")]
fn level(samples: &[f32]) -> f32 {
    let power: f64 = samples.iter().map(|x| f64::from(*x) * f64::from(*x)).sum();
    (power / samples.len().max(1) as f64).sqrt() as f32
}
