//! Validation, samples and files of the GPT.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor};
use myxtts_infer::{
    ModelCard, Modules, ReferenceSpec, SamplingDefaults, SpeakOptions, Synthesizer, Vocoder,
    outgoing,
};
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{Gpt, GptBatch, ParameterCount, Quirks};
use myxtts_model::params::{ReadError, Unread, unread};
use myxtts_ops::Compute;
use myxtts_run::checkpoint::Content;
use myxtts_run::signals::StopRequest;
use myxtts_run::tensorboard::Histogram;
use myxtts_text::Language;
use myxtts_weights::{Outgoing, TensorMap, TensorStream};

use super::fixed_batches::held_out;
use super::{Evaluator, Rendering, VALIDATED, averaged, model_files, read, sampling};
use crate::error::{TrainError, unless_stopped};
use crate::feed::{DeviceBatch, DeviceFeed};
use crate::objective::{GptObjective, Objective, training_flop};
use crate::session::job::Job;
use crate::session::samples::{Sample, SampleSet, Utterance};
use crate::session::saving::{averaged_streams, streams};
use crate::session::training_data::{TrainingData, Voice};
use crate::train_loop::State;

/// The most clips to validate on.
pub(crate) const MOST_VALIDATED: usize = 256;
/// Samples that are rendered while training continues.
const FEW: usize = 2;

/// Validates a GPT and renders its samples.
pub(crate) struct GptEvaluator<'a> {
    job: &'a Job,
    training_data: &'a TrainingData,
    card: ModelCard,
    /// How the model speaks best, once that is known; the stage reads it.
    sampling: Rc<Cell<Option<SamplingDefaults>>>,
    dvae: Dvae,
    /// The same DVAE on the host, for checkpoints.
    frozen: Dvae,
    /// The decoder of earlier weights, which is stored with the GPT.
    hifigan: TensorMap,
    device: Device,
    validation: Option<Vec<DeviceBatch<GptBatch>>>,
}

impl<'a> GptEvaluator<'a> {
    /// Evaluates models on `device`.
    pub(crate) fn new(
        job: &'a Job,
        training_data: &'a TrainingData,
        card: &ModelCard,
        dvae: &Dvae,
        hifigan: TensorMap,
        device: &Device,
    ) -> Self {
        Self {
            job,
            training_data,
            card: card.clone(),
            sampling: Rc::new(Cell::new(card.sampling)),
            frozen: dvae.clone(),
            hifigan,
            dvae: dvae.clone().to_device(device),
            device: device.clone(),
            validation: None,
        }
    }

    /// Returns how the model speaks best, for the stage to read when it is over.
    pub(crate) fn sampling(&self) -> Rc<Cell<Option<SamplingDefaults>>> {
        Rc::clone(&self.sampling)
    }

    /// Returns the model to evaluate: with adapters merged and with averaged weights where there
    /// are some, on the evaluation's device. It is in f32 because that is how it will speak, because figures of
    /// runs in different precisions must be comparable, and because only the model devices were
    /// chosen to compute in another precision.
    fn model(&self, state: &State<GptObjective>) -> Result<Gpt, TrainError> {
        let gpt = averaged(state.objective.gpt.valid().merged(), state.ema.as_ref())?;
        Ok(gpt.with_compute(Compute::F32).to_device(&self.device))
    }

    /// Returns the validation clips, prepared once.
    fn batches(&mut self, stop: &StopRequest) -> Result<&[DeviceBatch<GptBatch>], TrainError> {
        if self.validation.is_none() {
            self.validation = Some(self.prepare(stop)?);
        }
        Ok(self.validation.as_deref().unwrap_or_default())
    }

    fn prepare(&self, stop: &StopRequest) -> Result<Vec<DeviceBatch<GptBatch>>, TrainError> {
        let front_end = &self.training_data.front_end;
        let dvae = self.dvae.clone();
        let feed = DeviceFeed::new(&self.device, dvae, front_end, false, Arc::default());
        let mut feed = feed.map_err(TrainError::failed)?;
        let mut batches = vec![];
        let conditioning = self.card.conditioning;
        let give = |filled: myxtts_data::host_stage::PreparedBatch| {
            batches.push(DeviceBatch {
                batch: feed.batch(&filled).map_err(TrainError::failed)?,
                stats: feed.stats(&filled.batch),
            });
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
        Ok(batches)
    }

    /// Lists the sentences to speak, each with its voice.
    fn sentences(&self, all: bool) -> Vec<(String, Language, Voice)> {
        let voices = &self.training_data.voices;
        let count = if all {
            self.job.sample_count
        } else {
            self.job.sample_count.min(FEW)
        };
        let train = &self.training_data.train;
        let mut texts: Vec<(&str, &Language)> = vec![];
        for clip in &train.clips {
            if !texts.iter().any(|(text, _)| *text == clip.text) {
                texts.push((&clip.text, &clip.language));
            }
        }
        let own: Vec<(String, Language)> = match self.job.sample_texts.as_slice() {
            [] => texts
                .iter()
                .map(|(text, language)| ((*text).to_owned(), (*language).clone()))
                .collect(),
            given => {
                let language = train.clips.first().map(|clip| clip.language.clone());
                given
                    .iter()
                    .filter_map(|text| Some((text.clone(), language.clone()?)))
                    .collect()
            }
        };
        own.into_iter()
            .take(count)
            .enumerate()
            .filter_map(|(index, (text, language))| {
                let voice = voices.get(index % voices.len().max(1))?;
                Some((text, language, voice.clone()))
            })
            .collect()
    }
}

impl Evaluator<GptObjective> for GptEvaluator<'_> {
    fn validate(
        &mut self,
        state: &State<GptObjective>,
        stop: &StopRequest,
    ) -> Result<Vec<(&'static str, f32)>, TrainError> {
        let gpt = self.model(state)?;
        let stop_code = i64::from(gpt.config().vocabulary.stop_audio());
        let mut sums = Sums::default();
        for device_batch in self.batches(stop)? {
            unless_stopped(stop)?;
            let output = gpt
                .forward(&device_batch.batch, Quirks::Fixed, None)
                .map_err(TrainError::failed)?;
            let losses = output.losses(0.0);
            let [rows, length, _] = output.mel_logits_bmv.dims();
            let guess_bm = output.mel_logits_bmv.argmax(2).reshape([rows, length]);
            let target_bm = output.mel_targets_bm;
            let right_bm = guess_bm.equal(target_bm.clone()).int();
            let is_code_bm = target_bm.clone().greater_equal_elem(0).int();
            let is_stop_bm = target_bm.equal_elem(stop_code).int();
            let count = |value: Tensor<2, Int>| read(value.sum().float());
            sums.add(
                [read(losses.text)?, read(losses.mel)?],
                &device_batch.stats.targets,
                [
                    count(right_bm.clone() * is_code_bm.clone())?,
                    count(is_code_bm)?,
                    count(right_bm * is_stop_bm.clone())?,
                    count(is_stop_bm)?,
                ],
            );
        }
        Ok(sums.numbers())
    }

    fn samples(
        &mut self,
        state: &State<GptObjective>,
        all: bool,
        _stop: &StopRequest,
    ) -> Result<Rendering, TrainError> {
        let gpt = self.model(state)?;
        let histograms = histograms(&gpt).map_err(TrainError::failed)?;
        let sentences = self.sentences(all);
        let (drawn, quirks) = (self.card.sampling(), self.card.quirks);
        // A decoder that came with earlier weights was trained on another GPT: the latents have
        // moved since, while the DVAE stayed.
        let modules = Modules {
            card: self.card.clone(),
            references: ReferenceSpec::default(),
            gpt,
            dvae: Some(self.dvae.clone()),
            mel_stats: self.training_data.front_end.stats.clone(),
            vocabulary: Arc::clone(&self.training_data.vocabulary),
        };
        let mut synthesizer =
            Synthesizer::new(modules, None, &self.device).map_err(TrainError::failed)?;
        Ok(Box::new(move |stop| {
            let mut sample_set = SampleSet {
                title: "samples",
                histograms,
                ..SampleSet::default()
            };
            for (index, (text, language, voice)) in sentences.into_iter().enumerate() {
                unless_stopped(stop)?;
                let options = SpeakOptions {
                    language,
                    sampling: drawn.with_seed(0, quirks),
                    vocoder: Vocoder::GriffinLim,
                    speed: 1.0,
                    stream: false,
                };
                let sample_voice = synthesizer.voice(std::slice::from_ref(&voice.waveform));
                let speech =
                    sample_voice.and_then(|voice| synthesizer.speak(&text, &voice, &options));
                match speech {
                    Ok(speech) => sample_set.clips.push(Sample {
                        name: format!("{index:02}_{}.wav", voice.name),
                        waveform: speech.waveform,
                        mel: speech.mel,
                        utterance: Some(Utterance {
                            text,
                            speaker: voice.name,
                            codes: speech.codes.len(),
                            stopped: speech.stopped,
                        }),
                    }),
                    // An untrained model may have nothing to say, and a recording may hold no
                    // voice.
                    Err(why) => sample_set.missing.push(format!("sample {index}: {why}")),
                }
            }
            Ok(sample_set)
        }))
    }

    fn conclude(
        &mut self,
        state: &State<GptObjective>,
        stop: &StopRequest,
    ) -> Result<Option<String>, TrainError> {
        let most = self.job.sample_count;
        if most == 0 {
            return Ok(None);
        }
        let (gpt, dvae) = (self.model(state)?, self.dvae.clone());
        let (present, quirks) = (self.card.sampling(), self.card.quirks);
        let batches = self
            .batches(stop)?
            .iter()
            .map(|device_batch| &device_batch.batch);
        let tried = sampling::tried(&gpt, &dvae, batches, most, present, quirks, stop)?;
        let Some(best) = sampling::best(&tried) else {
            return Ok(None);
        };
        self.card.sampling = Some(best.sampling);
        self.sampling.set(self.card.sampling);
        Ok(Some(sampling::words(&best, &tried)))
    }

    fn contents<'s>(
        &'s self,
        state: &'s State<GptObjective>,
    ) -> Result<Vec<Content<'s>>, TrainError> {
        let gpt = averaged_streams(state.objective.tensors(), state.ema.as_ref());
        let hifigan = self.hifigan.iter();
        let model = Outgoing {
            hifigan_decoder: hifigan
                .map(|(name, tensor)| TensorStream::of(name, tensor))
                .collect(),
            ..outgoing(
                &self.card,
                gpt,
                streams(unread(&self.frozen)),
                self.training_data.front_end.stats.as_deref(),
                &self.training_data.vocabulary,
            )
            .map_err(TrainError::failed)?
        };
        model_files(model, &self.training_data.voices)
    }

    fn flops_per_position(&self) -> Option<f64> {
        Some(training_flop(ParameterCount::of(&self.card.gpt).total()))
    }
}

/// Makes histograms of the weights of each part; one part is in memory at a time.
fn histograms(gpt: &Gpt) -> Result<Vec<(String, Histogram)>, ReadError> {
    let is_weight = |tensor: &Unread| tensor.name().ends_with("weight") && tensor.shape().len() > 1;
    let mut histograms = vec![];
    for tensor in unread(gpt).into_iter().filter(is_weight) {
        let values: Vec<f32> = tensor.read()?.iter().collect();
        let histogram = Histogram::of(&values);
        histograms.extend(histogram.map(|found| (format!("weights/{}", tensor.name()), found)));
    }
    Ok(histograms)
}

/// The results of a validation, added up over its batches.
#[derive(Default)]
struct Sums {
    losses: [f64; 2],
    targets: [f64; 2],
    right: f64,
    codes: f64,
    right_stops: f64,
    stops: f64,
}

impl Sums {
    fn add(&mut self, losses: [f64; 2], targets: &[usize], counts: [f64; 4]) {
        let sums = self.losses.iter_mut().zip(&mut self.targets);
        for ((sum, total), (loss, count)) in sums.zip(losses.into_iter().zip(targets)) {
            *sum += loss * *count as f64;
            *total += *count as f64;
        }
        let [right, codes, right_stops, stops] = counts;
        self.right += right;
        self.codes += codes;
        self.right_stops += right_stops;
        self.stops += stops;
    }

    #[expect(clippy::cast_possible_truncation, reason = "figures for people")]
    fn numbers(&self) -> Vec<(&'static str, f32)> {
        if self.targets[1] == 0.0 {
            return vec![];
        }
        vec![
            (VALIDATED, (self.losses[1] / self.targets[1]) as f32),
            ("val_loss_text", (self.losses[0] / self.targets[0]) as f32),
            ("val_code_accuracy", (self.right / self.codes) as f32),
            ("val_stop_accuracy", (self.right_stops / self.stops) as f32),
        ]
    }
}
