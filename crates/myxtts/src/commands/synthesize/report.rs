//! What was done, for people and for programs.

use std::fmt;
use std::path::PathBuf;

use myxtts::speech::{
    Choice, ChosenVocoder, Said, SampleRate, Samples, SamplingConfig, Seconds, Similar, unended,
};
use myxtts::{SpeakOptions, VoiceSource};
use serde::Serialize;

/// The report of a text that was spoken.
#[derive(Serialize)]
pub(super) struct Report {
    /// The file; `None` if the audio went to stdout.
    pub(super) out: Option<PathBuf>,
    seconds: f64,
    sample_rate: u32,
    codes: usize,
    pieces: usize,
    /// Whether the model ended every piece with a stop code.
    stopped: bool,
    checkpoint: PathBuf,
    voice: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) saved_voice: Option<PathBuf>,
    language: String,
    pub(super) vocoder: ChosenVocoder,
    speed: f64,
    sampling: SamplingConfig,
    device: String,
    /// Seconds to make the voice and the audio, after the model was loaded.
    pub(super) took_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) similarity: Option<Similar>,
    pub(super) notices: Vec<String>,
}

impl Report {
    /// Returns the report before anything was spoken.
    pub(super) fn new(
        checkpoint: PathBuf,
        source: &VoiceSource,
        options: &SpeakOptions,
        device: String,
    ) -> Self {
        Self {
            out: None,
            seconds: 0.0,
            sample_rate: 0,
            codes: 0,
            pieces: 0,
            stopped: true,
            checkpoint,
            voice: source.words(),
            saved_voice: None,
            language: options.language.to_string(),
            vocoder: ChosenVocoder {
                name: options.vocoder,
                why: "",
            },
            speed: options.speed,
            sampling: options.sampling,
            device,
            took_s: 0.0,
            similarity: None,
            notices: vec![],
        }
    }

    /// Adds the result of the text.
    pub(super) fn spoken(&mut self, said: &Said, length: Samples, rate: SampleRate) {
        self.seconds = length.at(rate).0;
        self.sample_rate = rate.hz();
        self.codes = said.codes.len();
        self.pieces = said.pieces;
        self.stopped = said.unended == 0;
        self.notices.extend(said.notices.iter().cloned());
        self.notices.extend(unended(said.unended, said.pieces));
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let length = Seconds(self.seconds);
        match &self.out {
            Some(out) => writeln!(f, "{}: {length} of speech", out.display())?,
            None => writeln!(f, "stdout: {length} of speech")?,
        }
        writeln!(f, "  checkpoint: {}", self.checkpoint.display())?;
        for voice in &self.voice {
            writeln!(f, "  voice:      {voice}")?;
        }
        if let Some(saved) = &self.saved_voice {
            writeln!(f, "  saved to:   {}", saved.display())?;
        }
        writeln!(f, "  language:   {}", self.language)?;
        let ChosenVocoder { name, why } = self.vocoder;
        writeln!(f, "  vocoder:    {} ({why})", name.name())?;
        let sampling = &self.sampling;
        match sampling.choice {
            Choice::Greedy => {
                write!(f, "  codes:      {}, the likeliest", self.codes)?;
                match sampling.num_beams {
                    0 | 1 => writeln!(f)?,
                    beams => writeln!(f, " of {beams} beams")?,
                }
            }
            Choice::Sample { seed } => {
                writeln!(f, "  codes:      {}, seed {seed}", self.codes)?;
                writeln!(
                    f,
                    "  sampling:   temperature {}, top-k {}, top-p {}, repetition penalty {}",
                    sampling.temperature,
                    sampling.top_k,
                    sampling.top_p,
                    sampling.repetition_penalty
                )?;
            }
        }
        if self.speed != 1.0 {
            writeln!(f, "  speed:      {}", self.speed)?;
        }
        if let Some(similarity) = &self.similarity {
            writeln!(f, "  similarity: {similarity}")?;
        }
        writeln!(f, "  device:     {}", self.device)?;
        writeln!(f, "  took:       {}", Seconds(self.took_s))?;
        notices(f, &self.notices)
    }
}

fn notices(f: &mut fmt::Formatter<'_>, notices: &[String]) -> fmt::Result {
    notices
        .iter()
        .try_for_each(|notice| writeln!(f, "  notice: {notice}"))
}

/// The report of a voice that was saved without speaking.
#[derive(Serialize)]
pub(super) struct SavedVoice {
    pub(super) saved_voice: PathBuf,
    pub(super) voice: Vec<String>,
    pub(super) checkpoint: PathBuf,
    pub(super) notices: Vec<String>,
}

impl fmt::Display for SavedVoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: a voice", self.saved_voice.display())?;
        writeln!(f, "  checkpoint: {}", self.checkpoint.display())?;
        for voice in &self.voice {
            writeln!(f, "  from:       {voice}")?;
        }
        notices(f, &self.notices)
    }
}
