//! How fast the data path is on one core: decode, log-mel, the host stage.
//!
//! Everything runs on the calling thread, on files in the page cache, in turns
//! (each pass measures every stage once), so that a disturbance of the machine
//! does not fall on one stage alone.

mod error;
mod report;

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{
    AudioConfig, Limits, Loader, MelFrontEnd, MelSpec, Normalize, Waveform, decode_into,
};
use myxtts_data::host_stage::{Clip, HostStage, HostStageConfig, Segments};
use myxtts_data::layout::{detect, rows};
use myxtts_data::schedule::{ClipLength, ConditioningSpec, Schedule, choose_buckets};
use myxtts_data::units::{Codes, Tokens};
use myxtts_text::{CleanOptions, Language, Training, Vocabulary, clean_with};

use crate::clock::Clock;
pub use error::DataPathError;
use report::Pass;
pub use report::{DataPathReport, Figures, TimedStage};

const BUCKETS: usize = 8;
/// The number of rows of the longest bucket; the reference's default is of this order.
const BATCH_SIZE: u32 = 4;
/// A pass repeats the corpus until this much time is spent: the CPU clock is
/// good to a few milliseconds.
const SHORTEST_PASS: Duration = Duration::from_millis(250);
/// The samples of waveforms kept in memory to measure the log-mel alone.
const HELD_AUDIO: usize = 100 * 22_050;

/// Measures the data path on the dataset in `folder`, `passes` times.
///
/// Without a `vocabulary`, one is trained on the transcripts.
pub fn measure(
    folder: &Path,
    vocabulary: Option<Vocabulary>,
    passes: usize,
) -> Result<DataPathReport, DataPathError> {
    Bench::prepare(folder, vocabulary)?.run(passes.max(1))
}

/// What is measured, read and indexed.
struct Bench {
    clips: Arc<[Clip]>,
    vocabulary: Arc<Vocabulary>,
    lengths: Vec<ClipLength>,
    schedule: Schedule,
    samples: u64,
    /// Waveforms in memory, of about [`HELD_AUDIO`] samples together.
    held: Vec<Vec<f32>>,
}

impl Bench {
    fn prepare(folder: &Path, vocabulary: Option<Vocabulary>) -> Result<Self, DataPathError> {
        let clips = read(folder)?;
        let vocabulary = match vocabulary {
            Some(vocabulary) => vocabulary,
            None => train_vocabulary(&clips)?,
        };
        let mut loader = Loader::new(as_the_reference(), Limits::default());
        let mut waveform = Waveform::default();
        let (mut lengths, mut held) = (Vec::new(), Vec::new());
        let (mut samples, mut held_samples) = (0, 0);
        for clip in &clips {
            loader.load_into(&clip.audio, &mut waveform)?;
            let cleaned = clean_with(&clip.text, &clip.language, &CleanOptions::default());
            let tokens = vocabulary.encode(&cleaned.text, &clip.language)?.len();
            lengths.push(ClipLength {
                text: Tokens(u32::try_from(tokens).unwrap_or(u32::MAX)),
                audio: Codes::of(waveform.len()),
            });
            samples += waveform.samples.len() as u64;
            if held_samples < HELD_AUDIO {
                held_samples += waveform.samples.len();
                held.push(waveform.samples.clone());
            }
        }
        let shapes = choose_buckets(&lengths, BUCKETS);
        let schedule = Schedule::new(&lengths, &shapes, BATCH_SIZE, 1, 0)
            .map_err(|clip| DataPathError::Unscheduled { clip })?;
        Ok(Self {
            clips: clips.into(),
            vocabulary: Arc::new(vocabulary),
            lengths,
            schedule,
            samples,
            held,
        })
    }

    fn run(&self, passes: usize) -> Result<DataPathReport, DataPathError> {
        let mut decode = self.decode();
        let mut mel = self.mel()?;
        let mut decode_mel = self.decode_mel()?;
        let mut tokenise = self.tokenise();
        let mut host_stage = self.host_stage(as_the_reference());
        let mut host_stage_trimmed = self.host_stage(AudioConfig::default());
        let held = self.held.iter().map(Vec::len).sum::<usize>() as u64;
        let (all, some) = (self.clips.len(), self.held.len());
        let mut works: [(&'static str, usize, u64, &mut Work<'_>); 6] = [
            ("decode", all, self.samples, &mut decode),
            ("log-mel", some, held, &mut mel),
            ("decode + log-mel", all, self.samples, &mut decode_mel),
            ("clean + tokenise", all, self.samples, &mut tokenise),
            ("host stage", all, self.samples, &mut host_stage),
            (
                "host stage, silence trimmed",
                all,
                self.samples,
                &mut host_stage_trimmed,
            ),
        ];
        // Once untimed: page cache, branch predictors, buffers at their size.
        for (_, _, _, work) in &mut works {
            work(0)?;
        }
        let mut measured = vec![Vec::with_capacity(passes); works.len()];
        for _ in 0..passes {
            for ((_, clips, samples, work), measured) in works.iter_mut().zip(&mut measured) {
                measured.push(timed(*clips, *samples, work)?);
            }
        }
        let stages: Vec<TimedStage> = works
            .iter()
            .zip(&measured)
            .map(|((name, ..), passes)| TimedStage::of(name, passes))
            .collect();
        drop(works);
        Ok(self.report(passes, stages))
    }

    fn report(&self, passes: usize, stages: Vec<TimedStage>) -> DataPathReport {
        let per_core = |name: &str| {
            let stage = stages.iter().find(|stage| stage.name == name);
            stage.map(|stage| *stage.per_core())
        };
        let ms = |name| per_core(name).map_or(f64::NAN, |figures| figures.ms_per_10s);
        let rate = per_core("host stage").map_or(f64::NAN, |figures| figures.clips_per_s);
        DataPathReport {
            clips: self.clips.len(),
            audio_seconds: seconds(self.samples),
            samples: self.samples,
            text_tokens: self.lengths.iter().map(|l| u64::from(l.text.0)).sum(),
            buckets: self.schedule.shapes().count(),
            padding_percent: self.schedule.padding_percent(&self.lengths),
            passes,
            clock: if stages.iter().all(|stage| stage.cpu.is_some()) {
                "CPU time of the thread"
            } else {
                "wall time; this system does not report the CPU time of a thread"
            },
            wav_decode_ms_per_10s: ms("decode"),
            mel_ms_per_10s: ms("log-mel"),
            decode_mel_ms_per_10s: ms("decode + log-mel"),
            host_stage_ms_per_10s: ms("host stage"),
            host_stage_clips_per_core_s: rate,
            stages,
        }
    }

    fn decode(&self) -> impl FnMut(u64) -> Result<(), DataPathError> + use<'_> {
        let mut waveform = Waveform::default();
        move |_| {
            for clip in self.clips.iter() {
                decode_into(&clip.audio, &Limits::default(), &mut waveform)?;
                black_box(&waveform);
            }
            Ok(())
        }
    }

    fn mel(&self) -> Result<impl FnMut(u64) -> Result<(), DataPathError> + use<'_>, DataPathError> {
        let mut front_end = MelFrontEnd::new(MelSpec::DVAE, None)?;
        Ok(move |_| {
            for samples in &self.held {
                black_box(front_end.mel(samples)?);
            }
            Ok(())
        })
    }

    fn decode_mel(
        &self,
    ) -> Result<impl FnMut(u64) -> Result<(), DataPathError> + use<'_>, DataPathError> {
        let mut front_end = MelFrontEnd::new(MelSpec::DVAE, None)?;
        let mut loader = Loader::new(as_the_reference(), Limits::default());
        let mut waveform = Waveform::default();
        Ok(move |_| {
            for clip in self.clips.iter() {
                loader.load_into(&clip.audio, &mut waveform)?;
                black_box(front_end.mel(&waveform.samples)?);
            }
            Ok(())
        })
    }

    fn tokenise(&self) -> impl FnMut(u64) -> Result<(), DataPathError> + use<'_> {
        move |_| {
            for Clip { text, language, .. } in self.clips.iter() {
                let cleaned = clean_with(text, language, &CleanOptions::default());
                black_box(self.vocabulary.encode(&cleaned.text, language)?);
            }
            Ok(())
        }
    }

    /// Runs one epoch through one buffer.
    fn host_stage(
        &self,
        audio: AudioConfig,
    ) -> impl FnMut(u64) -> Result<(), DataPathError> + use<'_> {
        let schedule = &self.schedule;
        let config = HostStageConfig {
            audio,
            limits: Limits::default(),
            text: CleanOptions::default(),
            conditioning: ConditioningSpec::XTTS,
            segments: Segments::Drawn { seed: 0 },
        };
        let stage = HostStage::new(self.clips.clone(), self.vocabulary.clone(), config);
        let mut scratch = stage.scratch();
        let mut buffer = None;
        move |epoch| {
            for step in 0..schedule.steps_per_epoch() {
                let Some(batch) = schedule.batch(epoch, step, 0) else {
                    break;
                };
                let buffer = buffer.get_or_insert_with(|| stage.buffer(&batch));
                stage.fill(epoch, &batch, buffer, &mut scratch)?;
                black_box(&*buffer);
            }
            Ok(())
        }
    }
}

/// Goes over its clips once; the argument is how often it did so before.
type Work<'a> = dyn FnMut(u64) -> Result<(), DataPathError> + 'a;

fn timed(clips: usize, samples: u64, work: &mut Work<'_>) -> Result<Pass, DataPathError> {
    let clock = Clock::of_thread();
    let mut rounds = 0;
    loop {
        work(rounds)?;
        rounds += 1;
        let elapsed = clock.elapsed();
        if elapsed.cpu.unwrap_or(elapsed.wall) >= SHORTEST_PASS {
            return Ok(Pass {
                clips: clips as f64 * rounds as f64,
                audio_seconds: seconds(samples) * rounds as f64,
                elapsed,
            });
        }
    }
}

/// Returns the configuration of the reference, which neither trims nor levels.
fn as_the_reference() -> AudioConfig {
    AudioConfig {
        sample_rate: SampleRate::XTTS,
        trim_silence: false,
        normalize: Normalize::None,
    }
}

fn seconds(samples: u64) -> f64 {
    samples as f64 / f64::from(SampleRate::XTTS.hz())
}

fn read(folder: &Path) -> Result<Vec<Clip>, DataPathError> {
    let unreadable = |source| DataPathError::Read {
        folder: folder.to_owned(),
        source,
    };
    let layout = detect(folder, None)?;
    let mut clips = Vec::new();
    for row in rows(&layout).map_err(unreadable)? {
        let entry = row
            .map_err(unreadable)?
            .map_err(|bad| DataPathError::BadLine {
                file: bad.place.file,
                line: bad.place.line,
                why: bad.why,
            })?;
        let language: Language = entry.language.as_deref().unwrap_or("en").parse()?;
        clips.push(Clip {
            audio: entry.audio,
            span: None,
            text: entry.text,
            language,
        });
    }
    if clips.is_empty() {
        return Err(DataPathError::Empty {
            folder: folder.to_owned(),
        });
    }
    Ok(clips)
}

fn train_vocabulary(clips: &[Clip]) -> Result<Vocabulary, DataPathError> {
    let cleaned = clips
        .iter()
        .map(|clip| clean_with(&clip.text, &clip.language, &CleanOptions::default()).text);
    let mut languages: Vec<Language> = clips.iter().map(|clip| clip.language.clone()).collect();
    languages.sort();
    languages.dedup();
    let training = Training {
        languages,
        ..Training::default()
    };
    Ok(Vocabulary::train(cleaned, &training)?)
}
