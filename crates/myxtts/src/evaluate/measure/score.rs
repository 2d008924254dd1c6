//! Scores the audio of a sentence: against its recording, and by what a recogniser hears.

use myxtts_audio::{Waveform, write_wav_pcm16};
use myxtts_base::report;
use myxtts_score::{Analysis, Comparison, characters, compare, edits, words};
use myxtts_text::clean;

use super::{Bench, Subject};
use crate::error::Error;
use crate::evaluate::recogniser::Unheard;
use crate::evaluate::report::Outcome;
use crate::evaluate::voices::has_no_voice;

impl Bench {
    /// Compares the audio with the recording, if there is one.
    pub(super) fn score(
        &mut self,
        subject: &Subject<'_>,
        waveform: &Waveform,
        outcome: &mut Outcome,
    ) -> Result<Option<(Analysis, Option<Comparison>)>, Error> {
        let analysis = match self.analyser.analyse(waveform) {
            Ok(analysis) => analysis,
            Err(why) => {
                outcome.unscored = Some(format!("the speech: {why}"));
                return Ok(None);
            }
        };
        let Some(recorded) = &subject.recording else {
            return Ok(Some((analysis, None)));
        };
        if let Some(asked) = &recorded.voice {
            outcome.own_voice_similarity = match self.synthesizer.similarity(asked, waveform) {
                Ok(similarity) => Some(similarity.cosine),
                Err(why) if has_no_voice(&why) => None,
                Err(why) => return Err(why.into()),
            };
        }
        let Some(of_recording) = &recorded.analysis else {
            return Ok(Some((analysis, None)));
        };
        let comparison = match compare(of_recording, &analysis) {
            Ok(comparison) => comparison,
            Err(why) => {
                outcome.unscored = Some(why.to_string());
                return Ok(Some((analysis, None)));
            }
        };
        outcome.length_ratio = Some(analysis.duration.0 / of_recording.duration.0);
        outcome.mel_cepstral_distortion_db = Some(comparison.distortion.0);
        outcome.f0_rmse_cents = comparison.pitch_error.map(|cents| cents.0);
        outcome.f0_rmse_hz = comparison.pitch_error_hz.map(|hertz| hertz.0);
        outcome.voicing_error = Some(comparison.voicing_error);
        Ok(Some((analysis, Some(comparison))))
    }

    /// Asks the recogniser for a transcript.
    pub(super) fn recognise(
        &mut self,
        waveform: &Waveform,
        subject: &Subject<'_>,
        outcome: &mut Outcome,
    ) -> Result<(), Error> {
        let Some(recogniser) = &self.recogniser else {
            return Ok(());
        };
        let path = self.scratch.path().join("clip.wav");
        write_wav_pcm16(&path, waveform).map_err(Error::failed)?;
        match recogniser.transcript(&path) {
            Ok(transcript) => {
                let cleaned = |text: &str| clean(text, &subject.options.language).text;
                let (text, heard) = (cleaned(&outcome.text), cleaned(&transcript));
                outcome.words = Some(edits(&words(&text), &words(&heard)));
                outcome.characters = Some(edits(&characters(&text), &characters(&heard)));
                outcome.transcript = Some(transcript);
            }
            Err(Unheard::Failed(why)) => outcome.unheard = Some(why.to_string()),
            Err(Unheard::NotStarted(why)) => {
                return Err(Error::Refused(report!(
                    "the recogniser cannot be started: {why}";
                    fix: "name a program that is installed after --recogniser, for example \
                          'listen {{wav}}'"
                )));
            }
        }
        Ok(())
    }

    /// Measures the recogniser's errors on the recording itself: they are in every figure, and
    /// this shows how many there are.
    pub(in crate::evaluate) fn recording_heard(
        &mut self,
        subject: &Subject<'_>,
    ) -> Result<Option<Outcome>, Error> {
        let (Some(_), Some(recorded)) = (&self.recogniser, &subject.recording) else {
            return Ok(None);
        };
        let sentence = subject.sentence;
        let mut outcome = Outcome {
            id: sentence.id.clone(),
            text: sentence.text.clone(),
            recording: sentence.recording.clone(),
            seconds: Some(recorded.waveform.duration().0),
            ..Outcome::default()
        };
        self.recognise(&recorded.waveform, subject, &mut outcome)?;
        Ok(Some(outcome))
    }
}
