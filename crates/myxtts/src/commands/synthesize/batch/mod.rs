//! Speaks many lines to many recordings.
//!
//! ```text
//! lines ─> voice, options ─> is it in the manifest? ─> Speaking, several at a time ─> WAV + manifest
//! ```
//!
//! A line that cannot be spoken does not end the others: it is reported, counted, and makes the
//! command fail at its end. Finished work is in `manifest.jsonl` the moment its recording is, so
//! that the same command resumes after whatever ended it.

pub(super) mod lines;
mod manifest;
mod report;
mod settings;
mod voices;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use clap::ArgMatches;
use myxtts::Model;
use myxtts_audio::Waveform;
use myxtts_device::check_for_oom;
use myxtts_infer::{Event, Said, SpeakOptions, Speaking, Ticket, Utterance, Voice};

use self::lines::{Line, Parsed};
use self::manifest::{Ended, Entry, Manifest};
use self::report::{Failed, Report};
use self::settings::settings;
use self::voices::Voices;
use super::interrupt::Undisturbed;
use super::options::{Chosen, seed};
use super::report::{Similar, unended};
use super::single::{no_sound, wav};
use super::voice_source;
use crate::commands::model::{checkpoint, open_model};
use crate::new_file::NewFile;
use crate::output::{Failure, Output};
use crate::progress::ProgressBar;

/// The number of texts spoken together: their rows share every read of the weights.
const TOGETHER: usize = 8;

pub(super) fn run(
    matches: &ArgMatches,
    lines: Vec<Parsed>,
    folder: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let checkpoint = checkpoint(matches)?;
    let usual_voice = match lines.iter().flatten().all(|line| line.voice.is_some()) {
        // Nobody asked for a usual voice, so it need not exist.
        true => None,
        false => Some(voice_source(matches, &checkpoint)?),
    };
    let undisturbed = Undisturbed::install()?;
    fs::create_dir_all(folder).map_err(|why| unwritable(folder, &why))?;
    let manifest = Manifest::open(folder)?;
    let Model {
        mut synthesizer,
        device,
    } = open_model(matches, &checkpoint)?;
    let mut batch = Batch {
        chosen: Chosen::of(matches),
        is_compared: matches.get_flag("similarity"),
        model: settings::model(&checkpoint)?,
        voices: Voices::new(usual_voice, checkpoint.clone()),
        report: Report::new(folder, lines.len(), checkpoint, device),
        folder,
        manifest,
        undisturbed,
        output,
        progress: ProgressBar::new(),
        live: BTreeMap::new(),
    };
    let started = Instant::now();
    batch.speak(lines, &mut synthesizer.speaking(TOGETHER))?;
    let Batch {
        manifest,
        undisturbed,
        mut progress,
        mut report,
        ..
    } = batch;
    progress.clear();
    undisturbed
        .write(|| manifest.finish())
        .map_err(|why| unwritable(folder, &why))?;
    report.took_s = started.elapsed().as_secs_f64();
    report.failed.sort_by_key(|failed| failed.line);
    output.result(&report, &report)?;
    match report.failed.len() {
        0 => Ok(()),
        count => Err(Failure::Result(myxtts_base::report!(
            "{count} of {} lines could not be spoken",
            report.lines
        ))),
    }
}

struct Batch<'a> {
    folder: &'a Path,
    /// The options that the flags set for every line.
    chosen: Chosen,
    is_compared: bool,
    model: String,
    voices: Voices,
    manifest: Manifest,
    undisturbed: Undisturbed,
    output: &'a Output,
    progress: ProgressBar,
    report: Report,
    live: BTreeMap<Ticket, Live>,
}

/// A line that is being spoken.
struct Live {
    line: Line,
    options: SpeakOptions,
    voice: Voice,
    voice_words: String,
    settings: String,
    notices: Vec<String>,
    samples: Vec<f32>,
}

impl Batch<'_> {
    fn speak(&mut self, lines: Vec<Parsed>, speaking: &mut Speaking<'_>) -> Result<(), Failure> {
        let mut waiting = lines.into_iter();
        loop {
            while self.live.len() < TOGETHER
                && let Some(line) = waiting.next()
            {
                match line {
                    Ok(line) => self.begin(line, speaking),
                    Err(failed) => self.fail(failed.line, failed.why),
                }
                self.show();
            }
            if self.live.is_empty() {
                return Ok(());
            }
            for event in speaking.step() {
                match event {
                    Event::Sound(ticket, samples) => {
                        if let Some(live) = self.live.get_mut(&ticket) {
                            live.samples.extend(samples);
                        }
                    }
                    Event::Done(ticket, said) => {
                        if let Some(live) = self.live.remove(&ticket) {
                            self.end(live, said, speaking)?;
                        }
                    }
                    Event::Failed(ticket, why) => {
                        if let Some(live) = self.live.remove(&ticket) {
                            self.fail(live.line.number, why.to_string());
                        }
                    }
                }
                self.show();
            }
        }
    }

    /// Admits a line, unless it is already done or cannot be spoken.
    fn begin(&mut self, line: Line, speaking: &mut Speaking<'_>) {
        let number = line.number;
        if let Err(why) = self.try_to_begin(line, speaking) {
            self.fail(number, why.report());
        }
    }

    fn try_to_begin(&mut self, line: Line, speaking: &mut Speaking<'_>) -> Result<(), Failure> {
        let synthesizer = speaking.synthesizer();
        let options = line.chosen.or_else(&self.chosen).options(synthesizer)?;
        let known = self.voices.get(line.voice.as_ref(), synthesizer)?;
        let settings = settings(&line.text, &options, &known.hash, &self.model);
        if self.manifest.has(&line.file, &settings) {
            self.report.skipped += 1;
            return Ok(());
        }
        let utterance = Utterance {
            text: line.text.clone(),
            voice: known.heard.voice.clone(),
            options: options.clone(),
        };
        let ticket = speaking.admit(utterance).map_err(super::failure)?;
        self.live.insert(
            ticket,
            Live {
                line,
                options,
                voice: known.heard.voice,
                voice_words: known.words,
                settings,
                notices: known.heard.notices,
                samples: vec![],
            },
        );
        Ok(())
    }

    /// Writes the file of a line that has all its audio.
    fn end(&mut self, live: Live, said: Said, speaking: &mut Speaking<'_>) -> Result<(), Failure> {
        let number = live.line.number;
        if let Err(why) = check_for_oom() {
            self.fail(number, why);
            return Ok(());
        }
        let rate = speaking.synthesizer().rate(live.options.vocoder);
        let speech = Waveform {
            samples: live.samples,
            rate,
        };
        if speech.is_empty() {
            self.fail(number, no_sound());
            return Ok(());
        }
        let similarity = self.is_compared.then(|| {
            let similar = speaking.synthesizer().similarity(&live.voice, &speech);
            Similar::of(similar)
        });
        let path = self.folder.join(&live.line.file);
        let bytes = wav(&speech, &path)?;
        let mut notices = live.notices;
        notices.extend(said.notices);
        notices.extend(unended(said.unended, said.pieces));
        let entry = Entry {
            line: number,
            id: live.line.id,
            text: live.line.text,
            file: live.line.file,
            seconds: speech.duration().0,
            samples: speech.samples.len(),
            sample_rate: rate.hz(),
            codes: said.codes.len(),
            pieces: said.pieces,
            ended: match said.unended {
                0 => Ended::ByItself,
                _ => Ended::AtTheLimit,
            },
            seed: seed(&live.options.sampling),
            voice: live.voice_words,
            language: live.options.language.to_string(),
            vocoder: live.options.vocoder.name().to_owned(),
            similarity,
            notices,
            settings: live.settings,
        };
        let (undisturbed, manifest) = (&self.undisturbed, &mut self.manifest);
        let seconds = entry.seconds;
        let written = undisturbed.write(|| -> io::Result<()> {
            fs::create_dir_all(myxtts_files::folder_of(&path))?;
            NewFile::beside(&path)?.keep(&bytes)?;
            manifest.add(entry)
        });
        // If the disk is full for one recording, it is full for all.
        written.map_err(|why| unwritable(self.folder, &why))?;
        self.report.spoken += 1;
        self.report.seconds += seconds;
        Ok(())
    }

    fn fail(&mut self, line: usize, why: impl std::fmt::Display) {
        let why = why.to_string();
        self.progress.clear();
        let shown = why.lines().next().unwrap_or_default();
        self.output.log(format_args!("line {line}: {shown}"));
        self.report.failed.push(Failed { line, why });
    }

    fn show(&mut self) {
        let report = &self.report;
        let done = report.spoken + report.skipped + report.failed.len();
        let words = match report.failed.len() {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        self.progress.show(done as u64, report.lines as u64, &words);
    }
}

fn unwritable(folder: &Path, why: &io::Error) -> Failure {
    Failure::Job(myxtts_base::report!(
        "the recordings cannot be written: {why}";
        at: "{}", folder.display();
        fix: "name a folder after --out-dir that may be written to and has space; the same \
              command resumes"
    ))
}
