//! The stage that trains the GPT.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use myxtts_audio::{Waveform, wav_pcm16};
use myxtts_data::cache::FeatureCache;
use myxtts_data::prepare::CACHE;
use myxtts_data::schedule::{ConditioningSpec, Schedule, choose_buckets};
use myxtts_data::stage::Segments;
use myxtts_infer::{ModelCard, Synthesizer, checkpoint_of};
use myxtts_model::dvae::Dvae;
use myxtts_model::generate::SamplingConfig;
use myxtts_model::gpt::{Gpt, GptBatch, ParameterCount, Quirks};
use myxtts_model::params::{StateDict, load, state_dict};
use myxtts_ops::Compute;
use myxtts_run::checkpoint::Content;
use myxtts_run::tensorboard::{Histogram, Wav, mel_image};
use myxtts_run::units::Step;
use myxtts_text::Language;
use myxtts_weights::{TensorMap, ours_files};

use super::books::{Desk, Evaluator};
use super::job::{CacheKind, Job};
use super::material::{Material, Voice};
use crate::error::TrainError;
use crate::feed::{CodesCache, CodesSource, DeviceFeed, Fed, Filled, HostFeed, ShapeWatch};
use crate::looping::State;
use crate::stage_run::MakeSite;
use crate::trainee::GptTrainee;

/// Clips validated on.
const MOST_VALIDATED: usize = 256;
/// Samples while training goes on.
const FEW: usize = 2;

/// The batches of the stage: where clips go, and what was made of them.
pub(super) fn schedule(
    job: &Job,
    material: &Material,
    replicas: u32,
    batch_size: u32,
) -> Result<Schedule, TrainError> {
    let shapes = choose_buckets(&material.train.lengths, job.buckets);
    Schedule::new(
        &material.train.lengths,
        &shapes,
        batch_size,
        replicas,
        job.seed,
    )
    .map_err(|clip| TrainError::Failed(format!("clip {} fits no bucket", clip.0)))
}

/// Codes kept from epoch to epoch, as the job says, and whether those of
/// another DVAE were there.
pub(super) fn codes_cache(
    job: &Job,
    material: &Material,
    dvae: &Dvae,
    schedule: &Schedule,
) -> Result<(Option<Arc<CodesCache>>, Option<String>), TrainError> {
    let source = CodesSource::of(dvae, &material.front_end, &job.audio);
    let contents = material.train.contents.clone();
    Ok(match job.cache {
        CacheKind::None => (None, None),
        CacheKind::Memory => {
            let cache = CodesCache::in_memory(contents, source);
            (Some(Arc::new(cache)), None)
        }
        CacheKind::Disk => {
            let path = job.dataset.join(CACHE);
            let folder = FeatureCache::open(&path).map_err(TrainError::failed)?;
            let cache = CodesCache::on_disk(contents, source, folder);
            let again = match source.replaces(&path).map_err(TrainError::failed)? {
                true => cache.missing(schedule).map_err(TrainError::failed)?,
                false => 0,
            };
            let notice = format!(
                "{again} clips are encoded again: the DVAE changed, or the mel in front of it"
            );
            (Some(Arc::new(cache)), (again > 0).then_some(notice))
        }
    })
}

/// The host stage.
pub(super) fn host(
    job: &Job,
    material: &Material,
    conditioning: ConditioningSpec,
    schedule: Arc<Schedule>,
    codes: Option<Arc<CodesCache>>,
) -> Result<HostFeed<Arc<[myxtts_data::stage::Clip]>>, TrainError> {
    let segments = Segments::Drawn { seed: job.seed };
    let stage = material.stage(Arc::clone(&material.clips), conditioning, segments);
    let host = HostFeed::new(stage, schedule, codes)?;
    Ok(match job.static_shapes {
        true => host,
        false => host.with_tight_shapes(material.train.lengths.clone().into()),
    })
}

/// Makes the device stage on a device.
pub(super) fn site(
    material: &Material,
    dvae: &Dvae,
    quirks: Quirks,
    codes: Option<Arc<CodesCache>>,
    watch: Arc<ShapeWatch>,
) -> MakeSite<DeviceFeed> {
    let front_end = material.front_end.clone();
    let (dvae, watch) = (dvae.clone(), watch);
    Arc::new(move |device: &Device| {
        let dvae = dvae.clone().to_device(device);
        let feed = DeviceFeed::new(device, dvae, &front_end, true, Arc::clone(&watch));
        let feed = feed.map_err(|why| why.to_string())?;
        Ok(feed.with_quirks(quirks).keeping(codes.clone()))
    })
}

/// Validation, samples and files of the GPT.
pub(super) struct GptEvaluator<'a> {
    job: &'a Job,
    material: &'a Material,
    card: &'a ModelCard,
    dvae: Dvae,
    dvae_state: StateDict,
    /// The decoder of earlier weights, which goes with the GPT.
    hifigan: TensorMap,
    /// Where validation and samples are computed.
    device: Device,
    validation: Option<Vec<Fed<GptBatch>>>,
    flops: f64,
}

impl<'a> GptEvaluator<'a> {
    pub(super) fn new(
        job: &'a Job,
        material: &'a Material,
        card: &'a ModelCard,
        dvae: &Dvae,
        hifigan: TensorMap,
        device: &Device,
    ) -> Self {
        // Two operations a weight forward, four backward.
        let parameters = ParameterCount::of(&card.gpt).total();
        Self {
            job,
            material,
            card,
            dvae_state: state_dict(dvae),
            hifigan,
            dvae: dvae.clone().to_device(device),
            device: device.clone(),
            validation: None,
            flops: 6.0 * parameters as f64,
        }
    }

    /// The model to evaluate: averaged weights where there are some, on the
    /// evaluation's device. In f32, because that is how it will speak, so that
    /// figures of runs in different precisions can be compared, and because
    /// only the model devices were chosen to compute in another.
    fn model(&self, state: &State<GptTrainee>) -> Result<Gpt, TrainError> {
        let gpt = state.trainee.gpt.valid();
        let gpt = match &state.ema {
            Some(ema) => load(gpt, ema.weights(), "").map_err(TrainError::failed)?,
            None => gpt,
        };
        Ok(gpt.with_compute(Compute::F32).to_device(&self.device))
    }

    /// The validation clips, prepared once.
    fn batches(&mut self) -> Result<&[Fed<GptBatch>], TrainError> {
        if self.validation.is_none() {
            self.validation = Some(self.prepare()?);
        }
        Ok(self.validation.as_deref().unwrap_or_default())
    }

    fn prepare(&self) -> Result<Vec<Fed<GptBatch>>, TrainError> {
        let corpus = &self.material.validation;
        let some = corpus.clips.len().min(MOST_VALIDATED);
        let (clips, lengths) = (&corpus.clips[..some], &corpus.lengths[..some]);
        if clips.is_empty() {
            return Ok(vec![]);
        }
        let shapes = choose_buckets(lengths, self.job.buckets);
        let schedule = Schedule::new(lengths, &shapes, self.job.batch_size, 1, 0)
            .map_err(|clip| TrainError::Failed(format!("clip {} fits no bucket", clip.0)))?;
        let conditioning = self.card.conditioning;
        let stage = self
            .material
            .stage(clips.to_vec(), conditioning, Segments::Fixed);
        let watch = Arc::new(ShapeWatch::default());
        let front_end = &self.material.front_end;
        let feed = DeviceFeed::new(&self.device, self.dvae.clone(), front_end, false, watch);
        let mut feed = feed.map_err(TrainError::failed)?;
        let mut scratch = stage.scratch();
        let mut batches = vec![];
        for step in 0..schedule.steps_per_epoch() {
            let Some(batch) = schedule.batch(0, step, 0) else {
                continue;
            };
            let mut host = stage.buffer(&batch);
            stage
                .fill(0, &batch, &mut host, &mut scratch)
                .map_err(TrainError::failed)?;
            let filled = Filled::new(host);
            batches.push(Fed {
                batch: feed.batch(&filled).map_err(TrainError::Failed)?,
                facts: feed.facts(&filled.batch),
            });
        }
        Ok(batches)
    }

    /// Sentences to speak, each with its voice.
    fn sentences(&self, all: bool) -> Vec<(String, Language, &'a Voice)> {
        let voices = &self.material.voices;
        let count = if all {
            self.job.sample_count
        } else {
            self.job.sample_count.min(FEW)
        };
        let train = &self.material.train;
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
                Some((text, language, voice))
            })
            .collect()
    }
}

impl Evaluator<GptTrainee> for GptEvaluator<'_> {
    fn validate(
        &mut self,
        state: &State<GptTrainee>,
    ) -> Result<Vec<(&'static str, f32)>, TrainError> {
        let gpt = self.model(state)?;
        let stop = i64::from(gpt.config().vocabulary.stop_audio());
        let mut sums = Sums::default();
        for fed in self.batches()? {
            let output = gpt
                .forward(&fed.batch, Quirks::Fixed, None)
                .map_err(TrainError::failed)?;
            let losses = output.losses(0.0);
            let [rows, length, _] = output.mel_logits_bmv.dims();
            let guess_bm = output.mel_logits_bmv.argmax(2).reshape([rows, length]);
            let target_bm = output.mel_targets_bm;
            let right_bm = guess_bm.equal(target_bm.clone()).int();
            let is_code_bm = target_bm.clone().greater_equal_elem(0).int();
            let is_stop_bm = target_bm.equal_elem(stop).int();
            let count = |value: Tensor<2, burn::tensor::Int>| read(value.sum().float());
            sums.add(
                [read(losses.text)?, read(losses.mel)?],
                &fed.facts.targets,
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

    fn sample(
        &mut self,
        state: &State<GptTrainee>,
        desk: &mut Desk,
        step: Step,
        all: bool,
    ) -> Result<(), TrainError> {
        let gpt = self.model(state)?;
        histograms(&gpt, desk, step)?;
        let mut synthesizer = Synthesizer::new(
            self.card.clone(),
            gpt,
            self.dvae.clone(),
            self.material.front_end.stats.clone(),
            Arc::clone(&self.material.vocabulary),
            &self.device,
        )
        .map_err(TrainError::failed)?;
        let folder = desk.folder.samples(step).map_err(TrainError::failed)?;
        let mut listed = vec![];
        for (index, (text, language, voice)) in self.sentences(all).into_iter().enumerate() {
            let latents = synthesizer.voice(std::slice::from_ref(&voice.waveform));
            let latents = latents.map_err(TrainError::failed)?;
            let sampling = SamplingConfig::greedy();
            let speech = match synthesizer.speak(&text, &language, &latents, sampling) {
                Ok(speech) => speech,
                // An untrained model may have nothing to say.
                Err(why) => {
                    desk.say(&format!("sample {index} of step {step}: {why}"));
                    continue;
                }
            };
            let name = format!("{index:02}_{}.wav", voice.name);
            write_sample(desk, &folder, &name, &speech.waveform, step)?;
            let (bands, frames) = (speech.mel.bands, speech.mel.frames.0);
            let [bands, frames] =
                [bands, frames].map(|size| u32::try_from(size).unwrap_or(u32::MAX));
            if let Some(image) = mel_image(&speech.mel.values, bands, frames) {
                let written = desk.events.image(&format!("mel/{name}"), step, &image);
                written.map_err(TrainError::failed)?;
            }
            let written = desk.events.text(&format!("text/{name}"), step, &text);
            written.map_err(TrainError::failed)?;
            listed.push(serde_json::json!({
                "file": name,
                "text": text,
                "speaker": voice.name,
                "codes": speech.codes.len(),
                "stopped": speech.stopped,
            }));
        }
        let list = serde_json::to_vec_pretty(&listed).map_err(TrainError::failed)?;
        std::fs::write(folder.join("samples.json"), list).map_err(TrainError::failed)?;
        desk.events.flush().map_err(TrainError::failed)?;
        desk.say(&format!("samples of step {step}: {}", folder.display()));
        Ok(())
    }

    fn contents(&self, state: &State<GptTrainee>) -> Result<Vec<Content>, TrainError> {
        let mut checkpoint = checkpoint_of(
            self.card,
            &state_dict(&state.trainee.gpt),
            &self.dvae_state,
            self.material.front_end.stats.as_deref(),
            &self.material.vocabulary,
        )
        .map_err(TrainError::failed)?;
        checkpoint.hifigan_decoder = self.hifigan.clone();
        let files = ours_files(&checkpoint).map_err(TrainError::failed)?;
        let files = files
            .into_iter()
            .map(|(name, bytes)| Content::bytes(name, bytes));
        Ok(files.chain(voice_files(&self.material.voices)).collect())
    }

    fn clip(&self, index: usize) -> Option<&str> {
        self.material.train.ids.get(index).map(String::as_str)
    }

    fn flops_per_position(&self) -> Option<f64> {
        Some(self.flops)
    }
}

/// A recording of each speaker, for `myxtts synthesize`.
pub(super) fn voice_files(voices: &[Voice]) -> impl Iterator<Item = Content> {
    voices.iter().filter_map(|voice| {
        let bytes = wav_pcm16(&voice.waveform)?;
        Some(Content::bytes(format!("voices/{}.wav", voice.name), bytes))
    })
}

/// Writes a WAV and shows it in TensorBoard.
pub(super) fn write_sample(
    desk: &mut Desk,
    folder: &std::path::Path,
    name: &str,
    waveform: &Waveform,
    step: Step,
) -> Result<(), TrainError> {
    let Some(bytes) = wav_pcm16(waveform) else {
        return Ok(());
    };
    std::fs::write(folder.join(name), &bytes).map_err(TrainError::failed)?;
    let wav = Wav {
        bytes: &bytes,
        sample_rate: waveform.rate.hz(),
        channels: 1,
        samples: waveform.samples.len() as u64,
    };
    let written = desk.events.audio(&format!("samples/{name}"), step, wav);
    written.map_err(TrainError::failed)
}

/// How the weights of each part are spread.
fn histograms(gpt: &Gpt, desk: &mut Desk, step: Step) -> Result<(), TrainError> {
    for (name, data) in state_dict(gpt) {
        let is_weight = name.ends_with("weight") && data.shape().len() > 1;
        if !is_weight {
            continue;
        }
        let values: Vec<f32> = data.iter().collect();
        if let Some(histogram) = Histogram::of(&values) {
            let written = desk
                .events
                .histogram(&format!("weights/{name}"), step, &histogram);
            written.map_err(TrainError::failed)?;
        }
    }
    Ok(())
}

fn read(value: Tensor<1>) -> Result<f64, TrainError> {
    let values = value.try_into_vec_as::<f32>().map_err(TrainError::failed)?;
    Ok(values.first().map_or(f64::NAN, |value| f64::from(*value)))
}

/// A validation, added up over its batches.
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
            ("val_loss_mel", (self.losses[1] / self.targets[1]) as f32),
            ("val_loss_text", (self.losses[0] / self.targets[0]) as f32),
            ("val_code_accuracy", (self.right / self.codes) as f32),
            ("val_stop_accuracy", (self.right_stops / self.stops) as f32),
        ]
    }
}
