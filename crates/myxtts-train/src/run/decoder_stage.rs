//! The stage that trains the waveform decoder.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::Device;
use myxtts_audio::Waveform;
use myxtts_audio::units::SampleRate;
use myxtts_data::schedule::{Batch, BucketShape, ClipIndex, Schedule, choose_buckets};
use myxtts_data::stage::{Clip, Segments};
use myxtts_data::units::{Codes, Tokens};
use myxtts_infer::{DecoderCard, ModelCard, VoiceKind, VoiceVectors, checkpoint_of};
use myxtts_model::ModelSize;
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::Gpt;
use myxtts_model::hifigan::{HifiganDecoder, MelLoss};
use myxtts_model::params::{StateDict, load, state_dict};
use myxtts_run::checkpoint::Content;
use myxtts_run::units::Step;
use myxtts_weights::{TensorMap, ours_files};

use super::books::{Desk, Evaluator};
use super::gpt_stage::{voice_files, write_sample};
use super::job::Job;
use super::material::Material;
use super::saving::{file, tensor_map};
use crate::error::TrainError;
use crate::feed::{
    CodesCache, Cutting, DecoderBatch, DecoderFeed, DeviceFeed, Filled, FrontEnd, ShapeWatch,
};
use crate::looping::State;
use crate::trainee::{DecoderTrainee, JUDGES_FILE};

/// In front of the names of the decoder's tensors in a checkpoint.
pub(super) const PREFIX: &str = "hifigan_decoder.";
/// Clips validated on, and clips heard.
const MOST_VALIDATED: usize = 64;
const HEARD: usize = 2;

/// What the decoder is: as its weights say, or new and of a size.
pub(super) fn card(size: ModelSize, model: &ModelCard) -> DecoderCard {
    if let Some(decoder) = &model.decoder {
        return decoder.clone();
    }
    let channels = model.gpt.channels;
    let mut hifigan = size.decoder(channels, channels);
    hifigan.input_rate = model.audio.sample_rate.hz();
    DecoderCard {
        hifigan,
        voice: VoiceKind::Conditioning,
    }
}

/// The frozen parts that make latents and voices of recordings.
#[derive(Clone)]
pub(super) struct Frozen {
    pub(super) front_end: FrontEnd,
    pub(super) dvae: Dvae,
    pub(super) gpt: Gpt,
    /// The decoder's tensors as the stage found them; a speaker encoder among
    /// them stays as it is.
    pub(super) hifigan: TensorMap,
    pub(super) card: DecoderCard,
    pub(super) rate: SampleRate,
}

impl Frozen {
    /// Makes batches on a device.
    pub(super) fn feed(
        &self,
        device: &Device,
        cutting: Cutting,
        codes: Option<Arc<CodesCache>>,
    ) -> Result<DecoderFeed, String> {
        let dvae = self.dvae.clone().to_device(device);
        let watch = Arc::new(ShapeWatch::default());
        let feed = DeviceFeed::new(device, dvae, &self.front_end, false, watch);
        let feed = feed.map_err(|why| why.to_string())?.keeping(codes);
        let voices = VoiceVectors::new(self.card.voice, &self.hifigan, self.rate, device);
        let voices = voices.map_err(|why| why.to_string())?;
        let gpt = self.gpt.clone().to_device(device);
        DecoderFeed::new(device, feed, gpt, voices, &self.card.hifigan, cutting)
    }
}

/// Validation, samples and files of the decoder.
pub(super) struct DecoderEvaluator<'a> {
    job: &'a Job,
    material: &'a Material,
    card: &'a ModelCard,
    frozen: &'a Frozen,
    device: Device,
    /// Segments validated on, and whole clips heard; made once.
    prepared: Option<Prepared>,
    /// What a checkpoint has besides.
    gpt: StateDict,
    dvae: StateDict,
}

struct Prepared {
    segments: Vec<DecoderBatch>,
    clips: Vec<(String, DecoderBatch)>,
}

impl<'a> DecoderEvaluator<'a> {
    pub(super) fn new(
        job: &'a Job,
        material: &'a Material,
        card: &'a ModelCard,
        frozen: &'a Frozen,
        device: &Device,
    ) -> Self {
        Self {
            job,
            material,
            card,
            device: device.clone(),
            prepared: None,
            gpt: state_dict(&frozen.gpt),
            dvae: state_dict(&frozen.dvae),
            frozen,
        }
    }

    fn model(&self, state: &State<DecoderTrainee>) -> Result<HifiganDecoder, TrainError> {
        let decoder = state.trainee.decoder.valid();
        let decoder = match &state.ema {
            Some(ema) => load(decoder, ema.weights(), "").map_err(TrainError::failed)?,
            None => decoder,
        };
        Ok(decoder.to_device(&self.device))
    }

    fn prepared(&mut self) -> Result<&Prepared, TrainError> {
        let prepared = match self.prepared.take() {
            Some(prepared) => prepared,
            None => self.prepare()?,
        };
        Ok(self.prepared.insert(prepared))
    }

    fn prepare(&self) -> Result<Prepared, TrainError> {
        let cutting = Cutting {
            frames: self.job.decoder_frames,
            seed: 0,
            steps_per_epoch: 1,
        };
        let mut feed = self
            .frozen
            .feed(&self.device, cutting, None)
            .map_err(TrainError::Failed)?;
        let corpus = &self.material.validation;
        let some = corpus.clips.len().min(MOST_VALIDATED);
        let lengths = &corpus.lengths[..some];
        let mut segments = vec![];
        if some > 0 {
            let shapes = choose_buckets(lengths, self.job.buckets);
            let schedule = Schedule::new(lengths, &shapes, self.job.batch_size, 1, 0)
                .map_err(|clip| TrainError::Failed(format!("clip {} fits no bucket", clip.0)))?;
            for step in 0..schedule.steps_per_epoch() {
                let Some(batch) = schedule.batch(0, step, 0) else {
                    continue;
                };
                let filled = self.filled(&corpus.clips[..some], &batch)?;
                let batch = feed.batch(&filled, 0).map_err(TrainError::Failed)?;
                segments.push(batch);
            }
        }
        let heard = match some {
            0 => &self.material.train,
            _ => corpus,
        };
        let mut clips = vec![];
        for (index, length) in heard.lengths.iter().enumerate().take(HEARD) {
            let batch = Batch {
                bucket: 0,
                shape: BucketShape {
                    text: Tokens(length.text.0.max(1)),
                    audio: Codes(length.audio.0.max(1)),
                },
                rows: vec![Some(ClipIndex(u32::try_from(index).unwrap_or(0)))],
            };
            let filled = self.filled(&heard.clips, &batch)?;
            let batch = feed.whole(&filled).map_err(TrainError::Failed)?;
            clips.push((format!("copy_{index}.wav"), batch));
        }
        Ok(Prepared { segments, clips })
    }

    fn filled(&self, clips: &[Clip], batch: &Batch) -> Result<Filled, TrainError> {
        let conditioning = self.card.conditioning;
        let stage = self.material.stage(clips, conditioning, Segments::Fixed);
        let mut host = stage.buffer(batch);
        stage
            .fill(0, batch, &mut host, &mut stage.scratch())
            .map_err(TrainError::failed)?;
        Ok(Filled::new(host))
    }
}

impl Evaluator<DecoderTrainee> for DecoderEvaluator<'_> {
    /// The mean difference of the mels of held-out clips.
    fn validate(
        &mut self,
        state: &State<DecoderTrainee>,
    ) -> Result<Vec<(&'static str, f32)>, TrainError> {
        let decoder = self.model(state)?.waveform_decoder;
        let mel = MelLoss::new(&self.device).map_err(TrainError::failed)?;
        let (mut sum, mut rows) = (0.0, 0.0);
        for batch in &self.prepared()?.segments {
            let made_b1t = decoder.forward(batch.frames_bct.clone(), batch.voice_bc1.clone());
            let loss = mel.forward(batch.wave_b1t.clone(), made_b1t);
            let loss = loss.map_err(TrainError::failed)?.try_into_vec_as::<f32>();
            let loss = loss.map_err(TrainError::failed)?;
            #[expect(clippy::cast_precision_loss, reason = "rows are counted in tens")]
            let weight = batch.wave_b1t.dims()[0] as f32;
            sum += loss.first().copied().unwrap_or(f32::NAN) * weight;
            rows += weight;
        }
        Ok(match rows > 0.0 {
            true => vec![("val_loss_mel", sum / rows)],
            false => vec![],
        })
    }

    /// Copies of recordings, by way of the latents of their true codes.
    fn sample(
        &mut self,
        state: &State<DecoderTrainee>,
        desk: &mut Desk,
        step: Step,
        _all: bool,
    ) -> Result<(), TrainError> {
        let decoder = self.model(state)?.waveform_decoder;
        let folder = desk.folder.samples(step).map_err(TrainError::failed)?;
        let rate = SampleRate::new(self.frozen.card.hifigan.output_rate);
        let rate = rate.unwrap_or(SampleRate::VOCODER);
        for (name, batch) in &self.prepared()?.clips {
            let made_b1t = decoder.forward(batch.frames_bct.clone(), batch.voice_bc1.clone());
            let samples = made_b1t.try_into_vec_as::<f32>();
            let samples = samples.map_err(TrainError::failed)?;
            write_sample(desk, &folder, name, &Waveform { samples, rate }, step)?;
        }
        desk.events.flush().map_err(TrainError::failed)?;
        desk.say(&format!(
            "copies of recordings through the decoder, step {step}: {}",
            folder.display()
        ));
        Ok(())
    }

    fn contents(&self, state: &State<DecoderTrainee>) -> Result<Vec<Content>, TrainError> {
        let mut checkpoint = checkpoint_of(
            self.card,
            &self.gpt,
            &self.dvae,
            self.material.front_end.stats.as_deref(),
            &self.material.vocabulary,
        )
        .map_err(TrainError::failed)?;
        checkpoint.hifigan_decoder = self.frozen.hifigan.clone();
        let trained = state_dict(&state.trainee.decoder).into_iter();
        let trained = trained.map(|(name, data)| (format!("{PREFIX}{name}"), data));
        for (name, tensor) in tensor_map(&trained.collect())? {
            checkpoint.hifigan_decoder.insert(name, tensor);
        }
        let files = ours_files(&checkpoint).map_err(TrainError::failed)?;
        let files = files
            .into_iter()
            .map(|(name, bytes)| Content::bytes(name, bytes));
        let mut contents: Vec<Content> = files.collect();
        contents.push(file(JUDGES_FILE, &state_dict(&state.trainee.judges))?);
        contents.extend(voice_files(&self.material.voices));
        Ok(contents)
    }

    fn clip(&self, index: usize) -> Option<&str> {
        self.material.train.ids.get(index).map(String::as_str)
    }

    fn flops_per_position(&self) -> Option<f64> {
        None
    }
}
