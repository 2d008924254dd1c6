//! `myxtts synthesize`

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::ArgMatches;
use myxtts_audio::units::Seconds;
use myxtts_audio::{Limits, Loader, Waveform, wav_pcm16};
use myxtts_device::{no_memory_fault, open, plan};
use myxtts_infer::{
    InferError, ModelCard, Pick, SpeakOptions, Speech, Synthesizer, newest_run, resolve, voices,
};
use myxtts_model::generate::{Choice, SamplingConfig};
use myxtts_text::{Coverage, Language, Vocabulary, clean};
use serde::Serialize;

use super::damaged;
use crate::config;
use crate::new_file::NewFile;
use crate::output::{Failure, Output};

/// Longest text of a file, in bytes: what one argument of a command may have on
/// Linux, so that a file takes what --text does. The speech of a text is held in
/// memory until it is written.
const LONGEST_TEXT: u64 = 128 * 1024;

/// Where trainings put their runs.
const RUNS: &str = "runs";

/// What was done.
#[derive(Serialize)]
struct Report {
    out: PathBuf,
    seconds: f64,
    sample_rate: u32,
    codes: usize,
    /// Whether the model itself came to an end.
    stopped: bool,
    checkpoint: PathBuf,
    voice: Vec<PathBuf>,
    language: String,
    sampling: SamplingConfig,
    device: String,
    /// To make the sound, after the model was loaded.
    took_s: f64,
    notices: Vec<String>,
}

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let out = out(matches)?;
    let unwritable = |why: io::Error| {
        Failure::Job(format!(
            "the recording cannot be written: {why}\n  --> {}\n  \
             fix:   name a file after --out in a folder that exists, may be written to and has space",
            out.display()
        ))
    };
    // Before minutes of work: a path that cannot be written to is known now.
    let file = NewFile::beside(&out).map_err(unwritable)?;
    let text = text(matches)?;
    let checkpoint = checkpoint(matches)?;
    let references = references(matches, &checkpoint)?;

    let machine = super::machine()?;
    let settings = config::load(&config::keys(), &super::given(matches)?, || machine.clone())
        .map_err(Failure::usage)?;
    let plan = plan(&config::plan_request(&settings), &machine).map_err(Failure::usage)?;
    let Some(planned) = plan.model_devices.first() else {
        return Err(Failure::Job(
            "the plan has no device for the model".to_owned(),
        ));
    };
    let device = open(planned).map_err(|why| Failure::Job(why.to_string()))?;

    let mut synthesizer = Synthesizer::open(&checkpoint, &device).map_err(|error| {
        damaged::explained(failure(error), &checkpoint, |line, other| {
            damaged::with_flag(line, "--checkpoint", other)
        })
    })?;
    let language = language(matches, &synthesizer.card().languages)?;
    let recordings = load(&references, &synthesizer)?;
    let sampling = sampling(matches, synthesizer.card());
    let started = Instant::now();
    let voice = synthesizer.voice(&recordings).map_err(failure)?;
    let options = SpeakOptions {
        language: language.clone(),
        sampling,
        vocoder: synthesizer.vocoder(None).map_err(failure)?,
        speed: 1.0,
        stream: false,
    };
    let speech = synthesizer
        .speak(&text, &voice, &options)
        .map_err(failure)?;
    let took_s = started.elapsed().as_secs_f64();
    no_memory_fault().map_err(|why| failure(InferError::Device(why)))?;
    if speech.waveform.is_empty() {
        return Err(Failure::Job(
            "the model ended before it made a sound\n  \
             fix:   try another --seed, or train it longer"
                .to_owned(),
        ));
    }
    let bytes = wav_pcm16(&speech.waveform).ok_or_else(|| {
        Failure::Job(format!(
            "the speech is longer than a WAV file holds\n  --> {}\n  fix:   speak the text in parts",
            out.display()
        ))
    })?;
    file.keep(&bytes).map_err(unwritable)?;
    let report = Report {
        seconds: speech.waveform.duration().0,
        sample_rate: speech.waveform.rate.hz(),
        codes: speech.codes.len(),
        stopped: speech.stopped,
        notices: notices(&text, &language, synthesizer.vocabulary(), &speech),
        out,
        checkpoint,
        voice: references,
        language: language.to_string(),
        sampling,
        device: format!("{} ({})", planned.label(), planned.name),
        took_s,
    };
    output.result(&report, &report)
}

fn out(matches: &ArgMatches) -> Result<PathBuf, Failure> {
    match matches.get_one::<PathBuf>("out") {
        Some(out) if is_wav(out) => Ok(out.clone()),
        Some(out) => Err(Failure::Usage(format!(
            "--out {} does not end in .wav\n  fix:   only WAV files are written",
            out.display()
        ))),
        None => Err(Failure::Usage("`--out` was not given".to_owned())),
    }
}

fn is_wav(path: &Path) -> bool {
    let kind = path.extension().unwrap_or_default();
    kind.eq_ignore_ascii_case("wav")
}

fn text(matches: &ArgMatches) -> Result<String, Failure> {
    if let Some(text) = matches.get_one::<String>("text") {
        return Ok(text.clone());
    }
    let Some(path) = matches.get_one::<PathBuf>("text-file") else {
        return Err(Failure::Usage(
            "neither --text nor --text-file was given".to_owned(),
        ));
    };
    let unreadable = |why: String| {
        Failure::Usage(format!(
            "the text cannot be read: {why}\n  --> {}\n  \
             fix:   name a text file in UTF-8, or give the text with --text",
            path.display()
        ))
    };
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| {
        // One byte over the limit is enough to know, whatever the size claims.
        file.take(LONGEST_TEXT + 1).read_to_end(&mut bytes)
    });
    read.map_err(|why| unreadable(why.to_string()))?;
    if bytes.len() as u64 > LONGEST_TEXT {
        return Err(Failure::Usage(format!(
            "the text is longer than {LONGEST_TEXT} bytes, some two hours of speech\n  --> {}\n  \
             fix:   cut it into several files, and speak each to a recording of its own",
            path.display()
        )));
    }
    String::from_utf8(bytes).map_err(|why| unreadable(why.to_string()))
}

fn checkpoint(matches: &ArgMatches) -> Result<PathBuf, Failure> {
    let pick = match matches.get_flag("best") {
        true => Pick::Best,
        false => Pick::Newest,
    };
    let folder = match matches.get_one::<PathBuf>("checkpoint") {
        Some(folder) => folder.clone(),
        None => newest_run(Path::new(RUNS)).ok_or_else(|| {
            failure(InferError::NoCheckpoint {
                folder: RUNS.into(),
                why: "no run below it has a checkpoint".to_owned(),
            })
        })?,
    };
    resolve(&folder, pick).map_err(failure)
}

/// The recordings of the voice: those given, or the stored one that is asked for.
fn references(matches: &ArgMatches, checkpoint: &Path) -> Result<Vec<PathBuf>, Failure> {
    if let Some(given) = matches.get_many::<PathBuf>("speaker-wav") {
        let given: Vec<PathBuf> = given.cloned().collect();
        return match given.iter().find(|path| !path.is_file()) {
            None => Ok(given),
            Some(path) => Err(Failure::Usage(format!(
                "there is no recording of the voice here\n  --> {}\n  \
                 fix:   name a recording after --speaker-wav",
                path.display()
            ))),
        };
    }
    let stored = voices(checkpoint);
    let wanted = matches.get_one::<String>("speaker");
    let found = match wanted {
        Some(wanted) => stored.iter().find(|(name, _)| name == wanted),
        None => stored.first(),
    };
    if let Some((_, path)) = found {
        return Ok(vec![path.clone()]);
    }
    let names: Vec<&str> = stored.iter().map(|(name, _)| name.as_str()).collect();
    let has = match names.is_empty() {
        true => format!("no voice is stored in {}", checkpoint.display()),
        false => format!("the stored voices are {}", names.join(", ")),
    };
    Err(Failure::Usage(match wanted {
        Some(wanted) => format!(
            "there is no voice `{wanted}`: {has}\n  \
             fix:   name one of them, or give recordings with --speaker-wav"
        ),
        None => format!(
            "whose voice? {has}\n  \
             fix:   give a few seconds of a speaker with --speaker-wav FILE"
        ),
    }))
}

fn load(references: &[PathBuf], synthesizer: &Synthesizer) -> Result<Vec<Waveform>, Failure> {
    let mut loader = Loader::new(synthesizer.card().audio.clone(), Limits::default());
    references
        .iter()
        .map(|path| Ok(loader.load(path).map_err(Failure::usage)?.waveform))
        .collect()
}

fn language(matches: &ArgMatches, spoken: &[String]) -> Result<Language, Failure> {
    match (matches.get_one::<Language>("language"), spoken) {
        (Some(language), _) => Ok(language.clone()),
        (None, [only]) => only.parse().map_err(Failure::usage),
        (None, []) => Err(Failure::Usage(
            "which language? the model does not say which it speaks\n  \
             fix:   name that of the text, for example --language fa"
                .to_owned(),
        )),
        (None, [first, ..]) => Err(Failure::Usage(format!(
            "which language? the model speaks {}\n  fix:   name that of the text, for example \
             --language {first}",
            spoken.join(", ")
        ))),
    }
}

/// As the model draws best, unless flags say otherwise.
fn sampling(matches: &ArgMatches, card: &ModelCard) -> SamplingConfig {
    let number = |name: &str| matches.get_one::<f32>(name).copied();
    let seed = matches.get_one::<u64>("seed").copied().unwrap_or_default();
    let usual = match matches.get_flag("greedy") {
        true => SamplingConfig {
            quirks: card.quirks,
            ..SamplingConfig::greedy()
        },
        false => card.sampling().with_seed(seed, card.quirks),
    };
    let top_k = matches.get_one::<u32>("top-k").copied();
    SamplingConfig {
        repetition_penalty: number("repetition-penalty").unwrap_or(usual.repetition_penalty),
        temperature: number("temperature").unwrap_or(usual.temperature),
        top_k: top_k.map_or(usual.top_k, |k| usize::try_from(k).unwrap_or(usize::MAX)),
        top_p: number("top-p").unwrap_or(usual.top_p),
        ..usual
    }
}

/// What a listener should know.
fn notices(
    text: &str,
    language: &Language,
    vocabulary: &Vocabulary,
    speech: &Speech,
) -> Vec<String> {
    let cleaned = clean(text, language);
    let mut notices: Vec<String> = cleaned
        .unsupported
        .iter()
        .map(|unsupported| unsupported.to_string())
        .collect();
    let mut coverage = Coverage::new(vocabulary);
    coverage.add(&1, &cleaned.text);
    let outside = coverage.uncovered();
    if !outside.is_empty() {
        let outside: Vec<String> = outside
            .iter()
            .map(|uncovered| format!("`{}`", uncovered.character))
            .collect();
        notices.push(format!(
            "the model never learned {}: it does not know what they sound like",
            outside.join(" ")
        ));
    }
    if !speech.stopped {
        notices.push(
            "the model did not come to an end by itself: the sound is as long as it can make one"
                .to_owned(),
        );
    }
    notices
}

/// Whether what was asked is at fault, or what was tried.
fn failure(error: InferError) -> Failure {
    let words = error.to_string();
    match error {
        InferError::NoCheckpoint { .. }
        | InferError::NoGpt { .. }
        | InferError::NoBest { .. }
        | InferError::NoText
        | InferError::Language(_)
        | InferError::TooLong(_)
        | InferError::NoReference
        | InferError::ShortReference { .. }
        | InferError::SilentReference { .. } => Failure::Usage(words),
        _ => Failure::Job(words),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = Seconds(self.seconds);
        writeln!(f, "{}: {length} of speech", self.out.display())?;
        writeln!(f, "  checkpoint: {}", self.checkpoint.display())?;
        for voice in &self.voice {
            writeln!(f, "  voice:      {}", voice.display())?;
        }
        writeln!(f, "  language:   {}", self.language)?;
        match self.sampling.choice {
            Choice::Greedy => writeln!(f, "  codes:      {}, the likeliest", self.codes)?,
            Choice::Sample { seed } => writeln!(f, "  codes:      {}, seed {seed}", self.codes)?,
        }
        let sampling = &self.sampling;
        if let Choice::Sample { .. } = sampling.choice {
            writeln!(
                f,
                "  drawn:      temperature {}, top-k {}, top-p {}, repetition penalty {}",
                sampling.temperature, sampling.top_k, sampling.top_p, sampling.repetition_penalty
            )?;
        }
        writeln!(f, "  device:     {}", self.device)?;
        writeln!(f, "  took:       {}", Seconds(self.took_s))?;
        for notice in &self.notices {
            writeln!(f, "  notice: {notice}")?;
        }
        Ok(())
    }
}
