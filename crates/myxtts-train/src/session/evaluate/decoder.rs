//! Validation, samples and files of the waveform decoder.

use std::collections::BTreeSet;

use burn::module::Module;
use burn::tensor::Device;
use myxtts_audio::Waveform;
use myxtts_audio::units::SampleRate;
use myxtts_data::host_stage::{PreparedBatch, Segments};
use myxtts_data::schedule::{Batch, BucketShape, ClipIndex};
use myxtts_data::units::{Codes, Tokens};
use myxtts_infer::{ModelCard, outgoing};
use myxtts_model::hifigan::{HifiganDecoder, MelLoss};
use myxtts_model::params::unread;
use myxtts_run::checkpoint::Content;
use myxtts_run::signals::StopRequest;
use myxtts_weights::{Outgoing, TensorStream};

use super::fixed_batches::{filled, held_out};
use super::{Evaluator, Rendering, VALIDATED, averaged, model_files, read};
use crate::error::{TrainError, unless_stopped};
use crate::feed::{Cutting, DecoderBatch};
use crate::objective::{DISCRIMINATOR_FILE, DecoderObjective};
use crate::session::job::Job;
use crate::session::samples::{Sample, SampleSet};
use crate::session::saving::{averaged_streams, file, streams};
use crate::session::training_data::TrainingData;
use crate::stage::frozen::{Frozen, PREFIX};
use crate::train_loop::State;

/// The most clips to validate on; `SAMPLED` is how many are rendered as samples.
const MOST_VALIDATED: usize = 64;
const SAMPLED: usize = 2;

/// Validates a decoder and renders its samples.
pub(crate) struct DecoderEvaluator<'a> {
    job: &'a Job,
    training_data: &'a TrainingData,
    card: &'a ModelCard,
    frozen: &'a Frozen,
    device: Device,
    /// Segments to validate on and whole clips to render, made once.
    prepared: Option<Prepared>,
}

struct Prepared {
    segments: Vec<DecoderBatch>,
    clips: Vec<(String, DecoderBatch)>,
}

impl<'a> DecoderEvaluator<'a> {
    /// Evaluates models on `device`.
    pub(crate) fn new(
        job: &'a Job,
        training_data: &'a TrainingData,
        card: &'a ModelCard,
        frozen: &'a Frozen,
        device: &Device,
    ) -> Self {
        Self {
            job,
            training_data,
            card,
            device: device.clone(),
            prepared: None,
            frozen,
        }
    }

    fn model(&self, state: &State<DecoderObjective>) -> Result<HifiganDecoder, TrainError> {
        let decoder = averaged(state.objective.decoder.valid(), state.ema.as_ref())?;
        Ok(decoder.to_device(&self.device))
    }

    fn prepared(&mut self, stop: &StopRequest) -> Result<&Prepared, TrainError> {
        let prepared = match self.prepared.take() {
            Some(prepared) => prepared,
            None => self.prepare(stop)?,
        };
        Ok(self.prepared.insert(prepared))
    }

    fn prepare(&self, stop: &StopRequest) -> Result<Prepared, TrainError> {
        let cutting = Cutting {
            frames: self.job.segments.decoder_frames,
            seed: 0,
            steps_per_epoch: 1,
        };
        let feed = self.frozen.feed(&self.device, cutting, None);
        let mut feed = feed.map_err(TrainError::failed)?;
        let conditioning = self.card.conditioning;
        let mut segments = vec![];
        let give = |filled: PreparedBatch| {
            segments.push(feed.batch(&filled, 0).map_err(TrainError::failed)?);
            Ok(())
        };
        held_out(
            self.job,
            self.training_data,
            conditioning,
            MOST_VALIDATED,
            stop,
            give,
        )?;
        let training_data = self.training_data;
        let (sample_set, companions) = match segments.is_empty() {
            true => (&training_data.train, &training_data.companions),
            false => (
                &training_data.validation,
                &training_data.validation_companions,
            ),
        };
        let mut clips = vec![];
        for (index, length) in sample_set.lengths.iter().enumerate().take(SAMPLED) {
            unless_stopped(stop)?;
            let batch = Batch {
                bucket: 0,
                shape: BucketShape {
                    text: Tokens(length.text.0.max(1)),
                    audio: Codes(length.audio.0.max(1)),
                },
                rows: vec![Some(ClipIndex(u32::try_from(index).unwrap_or(0)))],
            };
            let filled = filled(
                self.training_data,
                &sample_set.clips,
                &batch,
                conditioning,
                companions.clone(),
                Segments::Fixed,
            )?;
            let batch = feed.whole(&filled).map_err(TrainError::failed)?;
            clips.push((format!("copy_{index}.wav"), batch));
        }
        Ok(Prepared { segments, clips })
    }
}

impl Evaluator<DecoderObjective> for DecoderEvaluator<'_> {
    /// Returns the mean difference of the mels of held-out clips.
    fn validate(
        &mut self,
        state: &State<DecoderObjective>,
        stop: &StopRequest,
    ) -> Result<Vec<(&'static str, f32)>, TrainError> {
        let decoder = self.model(state)?.waveform_decoder;
        let mel = MelLoss::new(&self.device).map_err(TrainError::failed)?;
        let (mut sum, mut rows) = (0.0, 0.0);
        for batch in &self.prepared(stop)?.segments {
            unless_stopped(stop)?;
            let made_b1t = decoder.forward(batch.frames_bct.clone(), batch.voice_bc1.clone());
            let loss = mel.forward(batch.wave_b1t.clone(), made_b1t);
            let weight = batch.wave_b1t.dims()[0] as f64;
            sum += read(loss.map_err(TrainError::failed)?)? * weight;
            rows += weight;
        }
        #[expect(clippy::cast_possible_truncation, reason = "a figure for people")]
        Ok(match rows > 0.0 {
            true => vec![(VALIDATED, (sum / rows) as f32)],
            false => vec![],
        })
    }

    /// Renders copies of recordings, made from the latents of their true codes.
    fn samples(
        &mut self,
        state: &State<DecoderObjective>,
        _all: bool,
        stop: &StopRequest,
    ) -> Result<Rendering, TrainError> {
        let decoder = self.model(state)?.waveform_decoder;
        let rate = SampleRate::new(self.frozen.card.hifigan.output_rate);
        let rate = rate.unwrap_or(SampleRate::VOCODER);
        let clips = self.prepared(stop)?.clips.clone();
        Ok(Box::new(move |stop| {
            let mut sample_set = SampleSet {
                title: "copies of recordings through the decoder",
                ..SampleSet::default()
            };
            for (name, batch) in clips {
                unless_stopped(stop)?;
                let made_b1t = decoder.forward(batch.frames_bct, batch.voice_bc1);
                let samples = made_b1t.try_into_vec_as::<f32>();
                let samples = samples.map_err(TrainError::failed)?;
                sample_set.clips.push(Sample {
                    name,
                    waveform: Waveform { samples, rate },
                    mel: None,
                    utterance: None,
                });
            }
            Ok(sample_set)
        }))
    }

    fn contents<'s>(
        &'s self,
        state: &'s State<DecoderObjective>,
    ) -> Result<Vec<Content<'s>>, TrainError> {
        let ema = state.ema.as_ref();
        let trained = averaged_streams(unread(&state.objective.decoder), ema).into_iter();
        let mut decoder: Vec<TensorStream<'s>> =
            trained.map(|tensor| tensor.below(PREFIX)).collect();
        let names: BTreeSet<String> = decoder.iter().map(|t| t.name().to_owned()).collect();
        let found = self.frozen.hifigan.iter();
        let kept = found.filter(|(name, _)| !names.contains(*name));
        decoder.extend(kept.map(|(name, tensor)| TensorStream::of(name, tensor)));
        let model = Outgoing {
            hifigan_decoder: decoder,
            ..outgoing(
                self.card,
                streams(unread(&self.frozen.gpt)),
                streams(unread(&self.frozen.dvae)),
                self.training_data.front_end.stats.as_deref(),
                &self.training_data.vocabulary,
            )
            .map_err(TrainError::failed)?
        };
        let mut contents = model_files(model, &self.training_data.voices)?;
        let discriminator = averaged_streams(unread(&state.objective.discriminator), ema);
        contents.push(file(DISCRIMINATOR_FILE, discriminator)?);
        Ok(contents)
    }
}
