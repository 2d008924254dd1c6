//! Speaks one text in one voice, and saves the voice.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use clap::ArgMatches;
use myxtts::speech::{Similar, Undisturbed, check_memory, no_sound, wav};
use myxtts::{Model, NewFile, SpeakOptions, Synthesizer, Voice, VoiceSource, Waveform};

use super::interrupt::undisturbed;
use super::report::{Report, SavedVoice};
use super::request::{Target, Wanted, unwritable};
use super::{chosen, failure, stdout, voice_source};
use crate::cli::Format;
use crate::commands::model::{checkpoint, open_model};
use crate::output::{Failure, Output};

pub(super) fn run(matches: &ArgMatches, wanted: Wanted, output: &Output) -> Result<(), Failure> {
    let checkpoint = checkpoint(matches)?;
    let source = voice_source(matches, &checkpoint)?;
    let undisturbed = undisturbed()?;
    let Model {
        mut synthesizer,
        device,
    } = open_model(matches, &checkpoint)?;
    let chosen = chosen(matches);
    // Options are checked before recordings are read, so that what is missing is reported at
    // once.
    let options = match wanted.speech {
        Some(_) => Some(chosen.options(&synthesizer)?),
        None => None,
    };
    let started = Instant::now();
    let heard = source.hear(&mut synthesizer)?;
    if let Some(path) = &wanted.save_voice {
        save(path, &synthesizer, &heard.voice, &source, &undisturbed)?;
    }
    let (Some((text, target)), Some(options)) = (wanted.speech, options) else {
        let saved = SavedVoice {
            saved_voice: wanted.save_voice.unwrap_or_default(),
            voice: source.words(),
            checkpoint,
            notices: heard.notices,
        };
        return output.result(&saved, &saved);
    };
    let mut report = Report::new(checkpoint, &source, &options, device);
    report.vocoder = chosen.vocoder(options.vocoder);
    report.saved_voice = wanted.save_voice;
    report.notices = heard.notices;
    let speech = Speech {
        synthesizer: &mut synthesizer,
        text: &text,
        voice: &heard.voice,
        options: &options,
        is_compared: matches.get_flag("similarity"),
        started,
    };
    speech.speak_to(target, report, &undisturbed, output)
}

/// A text and the voice that is about to speak it.
struct Speech<'a> {
    synthesizer: &'a mut Synthesizer,
    text: &'a str,
    voice: &'a Voice,
    options: &'a SpeakOptions,
    /// Whether the model listens to the audio and compares it with the voice.
    is_compared: bool,
    /// When the voice was asked for.
    started: Instant,
}

impl Speech<'_> {
    /// Speaks the text to `target`, and completes and prints the report.
    fn speak_to(
        self,
        target: Target,
        mut report: Report,
        undisturbed: &Undisturbed,
        output: &Output,
    ) -> Result<(), Failure> {
        match target {
            Target::Stdout {
                format,
                stream: true,
            } => {
                // There is nothing to report if the reader has left, as `head` does.
                if self.stream(format, &mut report)? {
                    output.log(report.to_string().trim_end());
                }
                Ok(())
            }
            Target::Stdout { format, .. } => {
                stdout::whole(&self.whole(&mut report)?, format)?;
                output.log(report.to_string().trim_end());
                Ok(())
            }
            Target::File(path) => {
                let bytes = wav(&self.whole(&mut report)?, &path)?;
                let written = undisturbed.write(|| NewFile::beside(&path)?.keep(&bytes));
                written.map_err(|why| unwritable("recording", "--out", &path, &why))?;
                report.out = Some(path);
                output.result(&report, &report)
            }
        }
    }

    /// Writes the audio to stdout while it is made, and returns whether it was read to its end.
    fn stream(self, format: Format, report: &mut Report) -> Result<bool, Failure> {
        let spoken = stdout::stream(
            self.synthesizer,
            self.text,
            self.voice,
            self.options,
            format,
        )?;
        let Some((said, length)) = spoken else {
            return Ok(false);
        };
        report.took_s = self.started.elapsed().as_secs_f64();
        let rate = self.synthesizer.rate(self.options.vocoder);
        report.spoken(&said, length, rate);
        Ok(true)
    }

    /// Returns all of the audio.
    fn whole(self, report: &mut Report) -> Result<Waveform, Failure> {
        let mut samples = vec![];
        let said = self
            .synthesizer
            .stream(self.text, self.voice, self.options, |sound| {
                samples.extend_from_slice(sound);
                ControlFlow::Continue(())
            });
        let said = said.map_err(failure)?;
        let rate = self.synthesizer.rate(self.options.vocoder);
        let speech = Waveform { samples, rate };
        report.took_s = self.started.elapsed().as_secs_f64();
        check(&speech)?;
        if self.is_compared {
            let similar = self.synthesizer.similarity(self.voice, &speech);
            report.similarity = Some(Similar::of(similar));
        }
        report.spoken(&said, speech.len(), rate);
        Ok(speech)
    }
}

/// Checks that there is something to write.
fn check(speech: &Waveform) -> Result<(), Failure> {
    check_memory()?;
    match speech.is_empty() {
        true => Err(Failure::Job(no_sound())),
        false => Ok(()),
    }
}

fn save(
    path: &Path,
    synthesizer: &Synthesizer,
    voice: &Voice,
    source: &VoiceSource,
    undisturbed: &Undisturbed,
) -> Result<(), Failure> {
    let file = synthesizer
        .voice_file(voice, source.origin())
        .map_err(failure)?;
    check_memory()?;
    let bytes = file.bytes();
    let written = undisturbed.write(|| NewFile::beside(path)?.keep(&bytes));
    written.map_err(|why| unwritable("voice", "--save-voice", path, &why))
}
