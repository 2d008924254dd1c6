//! The dataset of a training, read once: clips, vocabulary, statistics, voices.

use std::sync::Arc;

use myxtts_audio::units::Samples;
use myxtts_audio::{AudioConfig, Limits, Loaded, Loader, MelFrontEnd, MelSpec, Waveform};
use myxtts_data::config::ConditioningFrom;
use myxtts_data::dataset::{Corpus, train_vocabulary};
use myxtts_data::host_stage::{
    Clip, HostStage, HostStageConfig, HostStageError, LostClips, Segments,
};
use myxtts_data::layout::Split;
use myxtts_data::prepare::Quarantined;
use myxtts_data::schedule::{Companions, ConditioningSpec};
use myxtts_run::signals::StopRequest;
use myxtts_text::{CleanOptions, Vocabulary};

use super::job::Job;
use crate::error::{TrainError, unless_stopped};
use crate::feed::FrontEnd;

/// Clips whose mels are measured for the statistics of the bands.
const CLIPS_OF_STATISTICS: usize = 256;
/// The most voices that are kept with a checkpoint.
const MOST_VOICES: usize = 16;

/// The data that a training learns from.
#[derive(Debug)]
pub(crate) struct TrainingData {
    /// The clips to train on.
    pub(crate) train: Corpus,
    /// The clips to validate on.
    pub(crate) validation: Corpus,
    /// The training clips, shared with the host stage.
    pub(crate) clips: Arc<[Clip]>,
    /// The clips that training clips are conditioned on, if not on themselves.
    pub(crate) companions: Option<Arc<Companions>>,
    /// The same for the clips to validate on.
    pub(crate) validation_companions: Option<Arc<Companions>>,
    /// Turns texts into tokens.
    pub(crate) vocabulary: Arc<Vocabulary>,
    /// Turns recordings into mels.
    pub(crate) front_end: FrontEnd,
    /// A recording of each speaker.
    pub(crate) voices: Vec<Voice>,
    /// Clips that are left out because their texts are too long for the model.
    pub(crate) left_out: Vec<Quarantined>,
    /// Recordings that have vanished since the dataset was prepared.
    pub(crate) lost: Arc<LostClips>,
    audio: AudioConfig,
}

/// A speaker, with one recording as an example.
#[derive(Clone, Debug)]
pub(crate) struct Voice {
    /// The speaker's name, as a file name.
    pub(crate) name: String,
    /// The recording of the speaker.
    pub(crate) waveform: Waveform,
}

impl TrainingData {
    /// Reads the dataset of a job, with the vocabulary and statistics of earlier weights if there
    /// are any.
    pub(crate) fn read(
        job: &Job,
        vocabulary: Option<Arc<Vocabulary>>,
        stats: Option<Vec<f32>>,
        stop: &StopRequest,
    ) -> Result<Self, TrainError> {
        let vocabulary = match vocabulary.or_else(|| job.dataset.vocabulary.clone()) {
            Some(vocabulary) => vocabulary,
            None => Arc::new(train_vocabulary(&job.dataset.folder)?),
        };
        unless_stopped(stop)?;
        let train = Corpus::read(&job.dataset.folder, Split::Train, &vocabulary)?;
        unless_stopped(stop)?;
        let validation = match &job.dataset.validation {
            Some(folder) => {
                // Whatever split its clips are in, all of them are for validation.
                let mut all = Corpus::read(folder, Split::Validation, &vocabulary)?;
                all.join(Corpus::read(folder, Split::Train, &vocabulary)?);
                all
            }
            None => Corpus::read(&job.dataset.folder, Split::Validation, &vocabulary)?,
        };
        let (train, mut left_out) = train.without_long_texts(job.clips.max_text);
        let (validation, long) = validation.without_long_texts(job.clips.max_text);
        left_out.extend(long);
        if train.clips.is_empty() {
            return Err(myxtts_data::host_stage::EmptySchedule.into());
        }
        let clips = train.clips.len() + validation.clips.len();
        let lost = Arc::new(LostClips::new(clips, job.clips.max_bad_fraction));
        let stats = match stats {
            Some(stats) => stats,
            None => band_statistics(&train.clips, &job.clips.audio, &lost, stop)?,
        };
        let voices = voices(&train, &job.clips.audio, &lost)?;
        Ok(Self {
            clips: train.clips.clone().into(),
            companions: companions(job, &train),
            validation_companions: companions(job, &validation),
            train,
            validation,
            vocabulary,
            front_end: FrontEnd {
                stats: Some(stats),
                ..FrontEnd::XTTS
            },
            voices,
            left_out,
            lost,
            audio: job.clips.audio.clone(),
        })
    }

    /// Makes a host stage that loads `clips`.
    pub(crate) fn stage<C: myxtts_data::host_stage::ClipSource>(
        &self,
        clips: C,
        conditioning: ConditioningSpec,
        segments: Segments,
    ) -> HostStage<C> {
        let config = HostStageConfig {
            audio: self.audio.clone(),
            limits: Limits::default(),
            text: CleanOptions::default(),
            conditioning,
            segments,
        };
        HostStage::new(clips, Arc::clone(&self.vocabulary), config).skipping(Arc::clone(&self.lost))
    }
}

fn companions(job: &Job, corpus: &Corpus) -> Option<Arc<Companions>> {
    let speakers = corpus.speakers.iter().map(Option::as_deref);
    let companions = || Arc::new(Companions::of(speakers));
    (job.clips.conditioning_from == ConditioningFrom::Speaker).then(companions)
}

/// Measures the standard deviation of each band of the log mel. Bands are divided by it, so that
/// all weigh alike in the reconstruction.
fn band_statistics(
    clips: &[Clip],
    audio: &AudioConfig,
    lost: &LostClips,
    stop: &StopRequest,
) -> Result<Vec<f32>, TrainError> {
    let mut front_end = MelFrontEnd::new(MelSpec::DVAE, None).map_err(TrainError::failed)?;
    let mut loader = Loader::new(audio.clone(), Limits::default());
    let bands = front_end.spec().bands;
    let mut sums = vec![(0.0_f64, 0.0_f64); bands];
    let mut frames = 0_usize;
    // The clips are spread over the dataset: the first ones may all be of one speaker.
    let every = clips.len().div_ceil(CLIPS_OF_STATISTICS).max(1);
    for clip in clips.iter().step_by(every) {
        unless_stopped(stop)?;
        let Some(loaded) = load(&mut loader, clip, lost)? else {
            continue;
        };
        if Samples(loaded.waveform.samples.len()) < front_end.spec().shortest() {
            continue;
        }
        let mel = front_end
            .mel(&loaded.waveform.samples)
            .map_err(TrainError::failed)?;
        frames += mel.frames.0;
        for (band, (sum, squares)) in mel.values.chunks_exact(mel.frames.0).zip(&mut sums) {
            for value in band {
                *sum += f64::from(*value);
                *squares += f64::from(*value) * f64::from(*value);
            }
        }
    }
    let count = frames.max(1) as f64;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a deviation of a few units"
    )]
    let deviation = |(sum, squares): (f64, f64)| {
        let mean = sum / count;
        // A band with hardly any sound is left as it is: scaled up to the others, its noise would
        // be most of the loss.
        (squares / count - mean * mean).max(1.0).sqrt() as f32
    };
    Ok(sums.into_iter().map(deviation).collect())
}

/// Loads the first clip of each speaker.
fn voices(
    corpus: &Corpus,
    audio: &AudioConfig,
    lost: &LostClips,
) -> Result<Vec<Voice>, TrainError> {
    let mut loader = Loader::new(audio.clone(), Limits::default());
    let mut voices: Vec<Voice> = vec![];
    for (clip, speaker) in corpus.clips.iter().zip(&corpus.speakers) {
        let name = voice_file_name(speaker.as_deref().unwrap_or("speaker"));
        if voices.iter().any(|voice| voice.name == name) {
            continue;
        }
        let Some(loaded) = load(&mut loader, clip, lost)? else {
            continue;
        };
        voices.push(Voice {
            name,
            waveform: loaded.waveform,
        });
        if voices.len() == MOST_VOICES {
            break;
        }
    }
    Ok(voices)
}

/// Loads a clip's recording; `None` if it has vanished and only few have.
fn load(loader: &mut Loader, clip: &Clip, lost: &LostClips) -> Result<Option<Loaded>, TrainError> {
    match loader.load_span(&clip.audio, clip.span) {
        Ok(loaded) => Ok(Some(loaded)),
        Err(source) => {
            let why = HostStageError::Gone { source };
            let noted = lost.note(&clip.view(), why);
            noted.map(|()| None).map_err(TrainError::failed)
        }
    }
}

/// Makes a file name of a speaker's name, under which the voice is stored.
pub fn voice_file_name(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let name: String = name
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    match name.trim_matches('.') {
        "" => "speaker".to_owned(),
        name => name.to_owned(),
    }
}
