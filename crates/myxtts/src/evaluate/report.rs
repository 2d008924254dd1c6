//! What was measured: of each sentence, and over all of them.

use std::path::PathBuf;

use myxtts_infer::Vocoder;
use myxtts_model::generate::SamplingConfig;
use myxtts_score::Edits;
use serde::Serialize;

/// Every score by its name in the report, and what it means.
pub const MEANINGS: [(&str, &str); 14] = [
    (
        "real_time_factor",
        "seconds of work per second of audio, one sentence at a time, with a known voice and a warm device",
    ),
    (
        "first_audio_s",
        "seconds to the first audio when the same sentence is streamed once more, with a voice that has spoken before and a warm device; a voice's first sentence takes longer",
    ),
    (
        "stop_rate",
        "share of the sentences in which the model ended every piece by itself",
    ),
    ("seconds", "of audio, silence included"),
    (
        "length_ratio",
        "length relative to the recording's, both without the silence around them",
    ),
    (
        "mel_cepstral_distortion_db",
        "of mel cepstra 1 to 13 from 80 bands up to 8 kHz, mean over the pairs of an exact dynamic time warping; 0 for the same file, lower is nearer",
    ),
    (
        "f0_rmse_cents",
        "root mean square of the difference in pitch over the aligned frames that are voiced in both",
    ),
    ("f0_rmse_hz", "the same difference in Hz"),
    (
        "voicing_error",
        "share of the aligned frames where one clip is voiced and the other is not",
    ),
    (
        "own_voice_similarity",
        "the model's own opinion: cosine of the voice vectors that its encoder makes of the speech and the recording; not an independent judge",
    ),
    (
        "word_error_rate",
        "words to replace, remove or add in the recogniser's transcript per word of the text; both are cleaned as the model reads texts, without case and punctuation",
    ),
    (
        "character_error_rate",
        "the same in characters, with one space between words",
    ),
    ("unscored", "why there are no scores against the recording"),
    ("unheard", "why the recogniser gave no transcript"),
];

/// The result of an evaluation.
#[derive(Serialize)]
pub struct Report {
    pub(super) checkpoint: PathBuf,
    pub(super) sentences: String,
    pub(super) voice: String,
    pub(super) device: String,
    /// How codes were sampled; copies sample none.
    pub(super) sampling: Option<SamplingConfig>,
    pub(super) recogniser: Option<String>,
    pub(super) page: Option<PathBuf>,
    pub(super) conditions: Vec<Condition>,
    pub(super) notices: Vec<String>,
    pub(super) meanings: serde_json::Value,
}

/// One way to make the audio of every sentence.
#[derive(Serialize)]
pub(super) struct Condition {
    pub(super) name: &'static str,
    pub(super) vocoder: Option<Vocoder>,
    pub(super) summary: Summary,
    pub(super) outcomes: Vec<Outcome>,
}

/// The result of one sentence.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Outcome {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) voice: String,
    pub(super) recording: Option<PathBuf>,
    pub(super) seconds: Option<f64>,
    pub(super) took_s: Option<f64>,
    pub(super) first_audio_s: Option<f64>,
    pub(super) ended_by_itself: Option<bool>,
    pub(super) length_ratio: Option<f64>,
    pub(super) mel_cepstral_distortion_db: Option<f64>,
    pub(super) f0_rmse_cents: Option<f64>,
    pub(super) f0_rmse_hz: Option<f64>,
    pub(super) voicing_error: Option<f64>,
    pub(super) own_voice_similarity: Option<f64>,
    pub(super) unscored: Option<String>,
    pub(super) transcript: Option<String>,
    pub(super) words: Option<Edits>,
    pub(super) characters: Option<Edits>,
    pub(super) unheard: Option<String>,
    /// Why there is no audio at all.
    pub(super) failed: Option<String>,
}

/// The figures over all sentences; a score that no sentence has is left out.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    pub(super) sentences: usize,
    pub(super) failed: usize,
    pub(super) real_time_factor: Option<f64>,
    pub(super) first_audio_s: Option<Spread>,
    pub(super) stop_rate: Option<f64>,
    pub(super) seconds: Option<Spread>,
    pub(super) length_ratio: Option<f64>,
    /// The number of sentences with scores against a recording.
    pub(super) scored: usize,
    pub(super) mel_cepstral_distortion_db: Option<f64>,
    pub(super) f0_rmse_cents: Option<f64>,
    pub(super) f0_rmse_hz: Option<f64>,
    pub(super) voicing_error: Option<f64>,
    pub(super) own_voice_similarity: Option<f64>,
    /// The number of sentences with a transcript, and without one although it was asked for.
    pub(super) heard: usize,
    pub(super) unheard: usize,
    pub(super) word_error_rate: Option<f64>,
    pub(super) character_error_rate: Option<f64>,
}

impl Report {
    /// Returns what went wrong, in a sentence: the table says where.
    pub fn problem(&self) -> Option<String> {
        let sum =
            |of: fn(&Summary) -> usize| self.conditions.iter().map(|one| of(&one.summary)).sum();
        let (failed, unheard): (usize, usize) = (sum(|of| of.failed), sum(|of| of.unheard));
        let mut problems = vec![];
        if failed > 0 {
            problems.push(match failed {
                1 => "1 clip could not be made".to_owned(),
                failed => format!("{failed} clips could not be made"),
            });
        }
        if unheard > 0 {
            problems.push(match unheard {
                1 => "the recogniser gave no transcript of 1 clip".to_owned(),
                unheard => format!("the recogniser gave no transcript of {unheard} clips"),
            });
        }
        (!problems.is_empty()).then(|| format!("{}; the report says why", problems.join(", and ")))
    }
}

/// How a figure is spread over the sentences.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Spread {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = match values.len() % 2 {
            1 => values[half],
            _ => (values[half - 1] + values[half]) / 2.0,
        };
        Some(Self {
            median,
            least,
            most,
        })
    }
}

impl Summary {
    pub(super) fn of(outcomes: &[Outcome]) -> Self {
        let made = || outcomes.iter().filter(|outcome| outcome.failed.is_none());
        let values = |of: fn(&Outcome) -> Option<f64>| made().filter_map(of).collect::<Vec<f64>>();
        let mean = |of: fn(&Outcome) -> Option<f64>| {
            let values = values(of);
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let sum = |of: fn(&Outcome) -> Option<f64>| values(of).iter().sum::<f64>();
        let (took, sound) = (sum(|one| one.took_s), sum(|one| one.seconds));
        let rate = |of: fn(&Outcome) -> Option<Edits>| {
            let mut all = Edits::default();
            made().filter_map(of).for_each(|edits| all += edits);
            all.rate()
        };
        Self {
            sentences: outcomes.len(),
            failed: outcomes.len() - made().count(),
            real_time_factor: (took > 0.0 && sound > 0.0).then(|| took / sound),
            first_audio_s: Spread::of(values(|one| one.first_audio_s)),
            stop_rate: mean(|one| one.ended_by_itself.map(|ended| f64::from(u8::from(ended)))),
            seconds: Spread::of(values(|one| one.seconds)),
            length_ratio: mean(|one| one.length_ratio),
            scored: values(|one| one.mel_cepstral_distortion_db).len(),
            mel_cepstral_distortion_db: mean(|one| one.mel_cepstral_distortion_db),
            f0_rmse_cents: mean(|one| one.f0_rmse_cents),
            f0_rmse_hz: mean(|one| one.f0_rmse_hz),
            voicing_error: mean(|one| one.voicing_error),
            own_voice_similarity: mean(|one| one.own_voice_similarity),
            heard: made().filter(|one| one.transcript.is_some()).count(),
            unheard: made().filter(|one| one.unheard.is_some()).count(),
            word_error_rate: rate(|one| one.words),
            character_error_rate: rate(|one| one.characters),
        }
    }
}

/// Returns the meanings of the scores as an object.
pub(super) fn meanings() -> serde_json::Value {
    let pairs = MEANINGS.map(|(name, meaning)| (name.to_owned(), meaning.into()));
    serde_json::Value::Object(pairs.into_iter().collect())
}

impl Condition {
    pub(super) fn of(name: &'static str, vocoder: Option<Vocoder>, outcomes: Vec<Outcome>) -> Self {
        Self {
            name,
            vocoder,
            summary: Summary::of(&outcomes),
            outcomes,
        }
    }

    /// Returns the heading of the column.
    pub(super) fn title(&self) -> String {
        match self.vocoder {
            Some(vocoder) => format!("{}, {}", self.name, vocoder.name()),
            None => self.name.to_owned(),
        }
    }
}
