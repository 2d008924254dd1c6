//! Speaks many lines to many recordings.
//!
//! ```text
//! lines ─> voice, options ─> is it in the manifest? ─> Speaking, several at a time ─> WAV + manifest
//! ```
//!
//! A line that cannot be spoken does not end the others: it is reported and counted. Finished work
//! is in `manifest.jsonl` the moment its recording is, so that the same batch resumes after
//! whatever ended it.

mod lines;
mod manifest;
mod report;
mod settings;
mod voices;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use myxtts_audio::Waveform;
use myxtts_base::report;
use myxtts_device::check_for_oom;
use myxtts_infer::{Event, Said, SpeakOptions, Speaking, Ticket, Utterance, Voice};

use self::manifest::{Ended, Entry, Manifest};
use self::settings::settings;
use self::voices::Voices;
use super::chosen::seed;
use super::{Chosen, Model, Similar, Undisturbed, no_sound, unended, wav};
use crate::error::Error;
use crate::new_file::NewFile;
use crate::voice::VoiceSource;
pub use lines::{Line, Parsed, read_lines};
pub use report::{Failed, Report};

/// The number of texts spoken together: their rows share every read of the weights.
const TOGETHER: usize = 8;

/// What is asked of a batch.
pub struct Request {
    /// The folder of the weights, as [`resolve`](crate::resolve) returns it.
    pub checkpoint: PathBuf,
    /// The lines.
    pub lines: Vec<Parsed>,
    /// The folder of the recordings.
    pub folder: PathBuf,
    /// The voice of lines that do not name one.
    pub voice: Option<VoiceSource>,
    /// The options of lines that do not choose others.
    pub chosen: Chosen,
    /// Whether the model compares its speech with the voice.
    pub is_compared: bool,
    /// What recordings are written through.
    pub undisturbed: Undisturbed,
}

/// Is told how far a batch is.
pub trait Watch {
    /// Is told after every line that is done, and now and then between.
    fn progress(&mut self, report: &Report);

    /// Is told of a line that could not be spoken.
    fn failed(&mut self, failed: &Failed);
}

/// Returns whether a line names no voice.
pub fn need_a_voice(lines: &[Parsed]) -> bool {
    lines.iter().flatten().any(|line| line.voice.is_none())
}

/// A batch that only waits for its model.
pub struct Batch {
    request: Request,
    manifest: Manifest,
}

impl Batch {
    /// Makes the folder and takes its manifest.
    ///
    /// # Errors
    /// When the folder cannot be written, or another process writes to it.
    pub fn of(request: Request) -> Result<Self, Error> {
        let folder = &request.folder;
        fs::create_dir_all(folder).map_err(|why| unwritable(folder, &why))?;
        let manifest = Manifest::open(folder)?;
        Ok(Self { request, manifest })
    }

    /// Speaks every line that is not in the folder already.
    ///
    /// # Errors
    /// When the folder cannot be written. A line that cannot be spoken is in the report.
    pub fn run(self, model: Model, watch: &mut dyn Watch) -> Result<Report, Error> {
        let Model {
            mut synthesizer,
            device,
        } = model;
        let Request {
            checkpoint,
            lines,
            folder,
            voice,
            chosen,
            is_compared,
            undisturbed,
        } = self.request;
        let mut work = Work {
            model: settings::model(&checkpoint)?,
            voices: Voices::new(voice, checkpoint.clone()),
            report: Report::new(&folder, lines.len(), checkpoint, device),
            manifest: self.manifest,
            undisturbed: &undisturbed,
            folder: &folder,
            chosen,
            is_compared,
            watch,
            live: BTreeMap::new(),
        };
        let started = Instant::now();
        work.speak(lines, &mut synthesizer.speaking(TOGETHER))?;
        let Work {
            manifest,
            mut report,
            ..
        } = work;
        undisturbed
            .write(|| manifest.finish())
            .map_err(|why| unwritable(&folder, &why))?;
        report.took_s = started.elapsed().as_secs_f64();
        report.failed.sort_by_key(|failed| failed.line);
        Ok(report)
    }
}

/// A batch that is being spoken.
struct Work<'a> {
    folder: &'a Path,
    /// The options of lines that do not choose others.
    chosen: Chosen,
    is_compared: bool,
    model: String,
    voices: Voices,
    manifest: Manifest,
    undisturbed: &'a Undisturbed,
    watch: &'a mut dyn Watch,
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

impl Work<'_> {
    fn speak(&mut self, lines: Vec<Parsed>, speaking: &mut Speaking<'_>) -> Result<(), Error> {
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
            self.fail(number, why);
        }
    }

    fn try_to_begin(&mut self, line: Line, speaking: &mut Speaking<'_>) -> Result<(), Error> {
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
        let ticket = speaking.admit(utterance)?;
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
    fn end(&mut self, live: Live, said: Said, speaking: &mut Speaking<'_>) -> Result<(), Error> {
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
        let (undisturbed, manifest) = (self.undisturbed, &mut self.manifest);
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
        let failed = Failed { line, why };
        self.watch.failed(&failed);
        self.report.failed.push(failed);
    }

    fn show(&mut self) {
        self.watch.progress(&self.report);
    }
}

fn unwritable(folder: &Path, why: &io::Error) -> Error {
    Error::Failed(report!(
        "the recordings cannot be written: {why}";
        at: "{}", folder.display();
        fix: "name a folder after --out-dir that may be written to and has space; the same \
              command resumes"
    ))
}
