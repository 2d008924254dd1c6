//! Makes the audio of a sentence and measures it.

mod score;

use std::ops::ControlFlow;
use std::time::Instant;

use myxtts_audio::{Limits, Loader, Waveform};
use myxtts_base::{Report, report};
use myxtts_infer::{InferError, SpeakOptions, Synthesizer, Vocoder, Voice};
use myxtts_model::generate::SamplingConfig;
use myxtts_score::{Analyser, Analysis, Comparison};
use tempfile::TempDir;

use super::page::{Page, Shown};
use super::recogniser::Recogniser;
use super::report::Outcome;
use super::sentences::{Sentence, Sentences};
use super::voices::{Voices, has_no_voice};
use crate::error::Error;
use crate::speech::{Chosen, check_memory};

/// The name of a copy's voice in the report.
const OF_RECORDING: &str = "that of its own recording";

/// How the audio of a sentence is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// The model speaks the sentence.
    Spoken(Vocoder),
    /// The recording goes through the model's codes and back.
    Copied(Vocoder),
}

impl Way {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Spoken(_) => "spoken",
            Self::Copied(_) => "copied",
        }
    }

    pub(super) fn vocoder(self) -> Vocoder {
        match self {
            Self::Spoken(vocoder) | Self::Copied(vocoder) => vocoder,
        }
    }
}

/// A sentence with everything that is the same for each way.
pub(super) struct Subject<'a> {
    sentence: &'a Sentence,
    /// How the sentence is spoken, apart from the vocoder.
    options: SpeakOptions,
    recording: Option<Recorded>,
    /// Why there are no scores against the recording.
    unscored: Option<String>,
    /// The voice that the sentence is spoken in; copies have that of their recording.
    voice: Result<(Voice, String), Report>,
}

/// A recording with what it is compared by.
struct Recorded {
    waveform: Waveform,
    analysis: Option<Analysis>,
    voice: Option<Voice>,
}

/// Makes and measures sentences.
pub(super) struct Bench {
    synthesizer: Synthesizer,
    voices: Voices,
    copies: bool,
    recogniser: Option<Recogniser>,
    page: Option<Page>,
    /// The options that somebody chose.
    chosen: Chosen,
    /// How codes are sampled, known once a sentence was spoken.
    sampling: Option<SamplingConfig>,
    analyser: Analyser,
    loader: Loader,
    /// The folder of the clips that the recogniser reads.
    scratch: TempDir,
}

impl Bench {
    pub(super) fn new(
        synthesizer: Synthesizer,
        voices: Voices,
        copies: bool,
        recogniser: Option<Recogniser>,
        page: Option<Page>,
        chosen: Chosen,
    ) -> Result<Self, Error> {
        let loader = Loader::new(synthesizer.card().audio.clone(), Limits::default());
        Ok(Self {
            synthesizer,
            voices,
            copies,
            recogniser,
            page,
            chosen,
            sampling: None,
            loader,
            analyser: Analyser::new().map_err(Error::failed)?,
            scratch: tempfile::tempdir().map_err(|why| {
                Error::Failed(report!(
                    "cannot make a folder for clips in the temporary folder: {why}"
                ))
            })?,
        })
    }

    /// Loads the recording and the voice of a sentence.
    pub(super) fn subject<'s>(&mut self, sentence: &'s Sentence) -> Result<Subject<'s>, Error> {
        let mut chosen = self.chosen.clone();
        if let Some(language) = &sentence.language {
            chosen.language = Some(language.clone());
        }
        let options = chosen.options(&self.synthesizer)?;
        self.sampling = (!self.copies).then_some(options.sampling);
        let mut unscored = None;
        let recording = match &sentence.recording {
            None => None,
            Some(path) => match self.loader.load_span(path, sentence.span) {
                Ok(loaded) => Some(self.recorded(loaded.waveform, &mut unscored)?),
                Err(why) => {
                    unscored = Some(format!("the recording cannot be read: {why}"));
                    None
                }
            },
        };
        if self.copies {
            return Ok(Subject {
                sentence,
                options,
                recording,
                unscored,
                voice: Err(OF_RECORDING.into()),
            });
        }
        let own = recording.as_ref().map(|recorded| &recorded.waveform);
        let voice = self.voices.voice(sentence, own, &mut self.synthesizer);
        let voice = match (voice, own) {
            (Ok(voice), _) => Ok(voice),
            // A silent recording has no voice: this sentence fails, but others may not.
            (Err(why), Some(_)) => Err(why.into_report()),
            (Err(why), None) => return Err(why),
        };
        Ok(Subject {
            sentence,
            options,
            recording,
            unscored,
            voice,
        })
    }

    fn recorded(
        &mut self,
        waveform: Waveform,
        unscored: &mut Option<String>,
    ) -> Result<Recorded, Error> {
        let analysis = match self.analyser.analyse(&waveform) {
            Ok(analysis) => Some(analysis),
            Err(why) => {
                *unscored = Some(format!("the recording: {why}"));
                None
            }
        };
        let voice = self.heard_voice(&waveform)?;
        Ok(Recorded {
            waveform,
            analysis,
            voice,
        })
    }

    /// Returns the model's voice of a waveform; nothing if there is no voice in it.
    fn heard_voice(&mut self, waveform: &Waveform) -> Result<Option<Voice>, Error> {
        match self.synthesizer.voice(std::slice::from_ref(waveform)) {
            Ok(voice) => Ok(Some(voice)),
            Err(why) if has_no_voice(&why) => Ok(None),
            Err(why) => Err(why.into()),
        }
    }

    /// Speaks once without a clock: a device compiles and chooses its kernels
    /// with the first sentence.
    pub(super) fn warm_up(&mut self, subject: &Subject<'_>, ways: &[Way]) -> Result<(), Error> {
        for way in ways {
            // What goes wrong here goes wrong again, and is reported then.
            let _ = self.made(subject, *way, &mut Outcome::default());
        }
        Ok(())
    }

    /// Makes a sentence and measures it; returns nothing if there is nothing to copy.
    pub(super) fn outcome(
        &mut self,
        subject: &Subject<'_>,
        way: Way,
    ) -> Result<Option<Outcome>, Error> {
        let sentence = subject.sentence;
        if matches!(way, Way::Copied(_)) && sentence.recording.is_none() {
            return Ok(None);
        }
        let mut outcome = Outcome {
            id: sentence.id.clone(),
            text: sentence.text.clone(),
            recording: sentence.recording.clone(),
            unscored: subject.unscored.clone(),
            ..Outcome::default()
        };
        let made = match self.made(subject, way, &mut outcome) {
            Ok(waveform) => Some(waveform),
            Err(why) => {
                outcome.failed = Some(why.to_string());
                None
            }
        };
        check_memory()?;
        let mut measured = None;
        if let Some(waveform) = &made {
            outcome.seconds = Some(waveform.duration().0);
            measured = self.score(subject, waveform, &mut outcome)?;
            self.recognise(waveform, subject, &mut outcome)?;
        }
        self.show(subject, way, &outcome, made.as_ref(), measured.as_ref())?;
        Ok(Some(outcome))
    }

    /// Returns the audio of a sentence, or why there is none.
    fn made(
        &mut self,
        subject: &Subject<'_>,
        way: Way,
        outcome: &mut Outcome,
    ) -> Result<Waveform, Report> {
        let words = |why: InferError| Report::new(why.to_string());
        let options = SpeakOptions {
            vocoder: way.vocoder(),
            ..subject.options.clone()
        };
        let text = &subject.sentence.text;
        let waveform = match way {
            Way::Copied(_) => {
                let Some(recorded) = &subject.recording else {
                    return Err("its recording cannot be read".into());
                };
                let Some(voice) = &recorded.voice else {
                    return Err("its recording has no voice in it".into());
                };
                OF_RECORDING.clone_into(&mut outcome.voice);
                let started = Instant::now();
                let waveform = self
                    .synthesizer
                    .copy(&recorded.waveform, text, voice, &options);
                outcome.took_s = Some(started.elapsed().as_secs_f64());
                waveform.map_err(words)?
            }
            Way::Spoken(_) => {
                let (voice, name) = subject.voice.as_ref().map_err(Clone::clone)?;
                outcome.voice.clone_from(name);
                let started = Instant::now();
                let speech = self
                    .synthesizer
                    .speak(text, voice, &options)
                    .map_err(words)?;
                outcome.took_s = Some(started.elapsed().as_secs_f64());
                outcome.ended_by_itself = Some(speech.stopped);
                outcome.first_audio_s = self.first_audio(text, voice, options).map_err(words)?;
                speech.waveform
            }
        };
        match waveform.is_empty() {
            true => Err("the model stopped before it made any audio".into()),
            false => Ok(waveform),
        }
    }

    /// Measures how long a listener to the stream waits. The rest is not spoken.
    fn first_audio(
        &mut self,
        text: &str,
        voice: &Voice,
        options: SpeakOptions,
    ) -> Result<Option<f64>, InferError> {
        let options = SpeakOptions {
            stream: true,
            ..options
        };
        let started = Instant::now();
        let mut first = None;
        self.synthesizer.stream(text, voice, &options, |samples| {
            if samples.is_empty() {
                return ControlFlow::Continue(());
            }
            first = Some(started.elapsed().as_secs_f64());
            ControlFlow::Break(())
        })?;
        Ok(first)
    }

    fn show(
        &mut self,
        subject: &Subject<'_>,
        way: Way,
        outcome: &Outcome,
        clip: Option<&Waveform>,
        measured: Option<&(Analysis, Option<Comparison>)>,
    ) -> Result<(), Error> {
        let Some(page) = &mut self.page else {
            return Ok(());
        };
        let recorded = subject.recording.as_ref();
        page.add(&Shown {
            title: format!("{}, {}", way.name(), way.vocoder().name()),
            outcome,
            clip,
            recording: recorded.map(|recorded| &recorded.waveform),
            of_clip: measured.map(|(analysis, _)| analysis),
            of_recording: recorded.and_then(|recorded| recorded.analysis.as_ref()),
            comparison: measured.and_then(|(_, comparison)| comparison.as_ref()),
        })
    }

    pub(super) fn voices_in_words(&self) -> String {
        match self.copies {
            true => OF_RECORDING.to_owned(),
            false => self.voices.in_words(),
        }
    }

    /// Returns how codes were sampled; copies sample none.
    pub(super) fn sampling(&self) -> Option<SamplingConfig> {
        self.sampling
    }

    pub(super) fn recogniser_name(&self) -> Option<String> {
        Some(self.recogniser.as_ref()?.name().to_owned())
    }

    pub(super) fn into_page(self) -> Option<Page> {
        self.page
    }

    /// Returns what a reader of the report should know.
    pub(super) fn notices(&self, sentences: &Sentences, ways: &[Way]) -> Vec<String> {
        let mut notices = vec![];
        let without = sentences
            .list
            .iter()
            .filter(|one| one.recording.is_none())
            .count();
        if without > 0 && without < sentences.list.len() {
            notices.push(format!(
                "{without} of {} sentences have no recording and no scores against one",
                sentences.list.len()
            ));
        }
        let is_copied = |vocoder| ways.contains(&Way::Copied(vocoder));
        if is_copied(Vocoder::GriffinLim)
            && self.synthesizer.vocoder(Some(Vocoder::Hifigan)).is_err()
        {
            notices.push(
                "the model has no waveform decoder, so the copies are made by Griffin-Lim only"
                    .to_owned(),
            );
        }
        notices
    }
}
