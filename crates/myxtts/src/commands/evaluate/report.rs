//! What was measured, for programs and for people.

use std::fmt;
use std::path::PathBuf;

use myxtts_infer::Vocoder;
use myxtts_model::generate::{Choice, SamplingConfig};
use myxtts_score::Edits;
use serde::Serialize;

/// The number of sentences that are listed one by one.
const MOST_LISTED: usize = 40;
/// The number of characters of a sentence that the list shows.
const SHOWN: usize = 32;

/// Every score by its name in the report, and what it means.
pub(crate) const MEANINGS: [(&str, &str); 14] = [
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
pub(super) struct Report {
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
    pub(super) fn problem(&self) -> Option<String> {
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

/// A row of the table: its label and its cells.
pub(super) type Row = (&'static str, Vec<String>);

/// Returns a figure of the summary as it is shown, if there is one.
type Figure = fn(&Summary) -> Option<String>;

/// The rows of the table, in their order.
const FIGURES: [(&str, Figure); 16] = [
    ("sentences", |of| Some(of.sentences.to_string())),
    ("  without audio", |of| counted(of.failed)),
    ("length, median", |of| spread(of.seconds)),
    ("real-time factor", |of| {
        decimals(of.real_time_factor, 3, "")
    }),
    ("first audio, a known voice, median", |of| {
        spread(of.first_audio_s)
    }),
    ("ended by itself", |of| percent(of.stop_rate)),
    ("scored against recordings", |of| counted(of.scored)),
    ("length relative to the recording", |of| {
        decimals(of.length_ratio, 2, "x")
    }),
    ("mel-cepstral distortion, aligned", |of| {
        decimals(of.mel_cepstral_distortion_db, 2, " dB")
    }),
    ("pitch error (F0 RMSE)", |of| {
        match (of.f0_rmse_cents, of.f0_rmse_hz) {
            (Some(cents), Some(hertz)) => Some(format!("{cents:.0} cents, {hertz:.1} Hz")),
            _ => None,
        }
    }),
    ("voicing error", |of| percent(of.voicing_error)),
    ("voice similarity, the model's own opinion", |of| {
        decimals(of.own_voice_similarity, 3, "")
    }),
    ("transcribed by the recogniser", |of| counted(of.heard)),
    ("  without a transcript", |of| counted(of.unheard)),
    ("word error rate", |of| percent(of.word_error_rate)),
    ("character error rate", |of| {
        percent(of.character_error_rate)
    }),
];

fn decimals(value: Option<f64>, digits: usize, unit: &str) -> Option<String> {
    value.map(|value| format!("{value:.digits$}{unit}"))
}

fn percent(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{:.1} %", value * 100.0))
}

fn spread(value: Option<Spread>) -> Option<String> {
    value.map(|of| format!("{:.2} s ({:.2} to {:.2})", of.median, of.least, of.most))
}

/// Returns a count in digits, and nothing for 0.
fn counted(count: usize) -> Option<String> {
    (count > 0).then(|| count.to_string())
}

/// Returns the table of all conditions, with the rows that any of them has.
pub(super) fn rows(conditions: &[Condition]) -> Vec<Row> {
    let mut rows = vec![];
    for (label, cell) in FIGURES {
        let row: Vec<Option<String>> = conditions.iter().map(|one| cell(&one.summary)).collect();
        if row.iter().any(Option::is_some) {
            let shown = row
                .into_iter()
                .map(|cell| cell.unwrap_or_else(|| "-".to_owned()));
            rows.push((label, shown.collect()));
        }
    }
    rows
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "checkpoint: {}", self.checkpoint.display())?;
        writeln!(f, "sentences:  {}", self.sentences)?;
        writeln!(f, "voice:      {}", self.voice)?;
        if let Some(sampling) = &self.sampling {
            match sampling.choice {
                Choice::Greedy => writeln!(f, "sampling:   the likeliest codes")?,
                Choice::Sample { seed } => writeln!(
                    f,
                    "sampling:   seed {seed}, temperature {}, top-k {}, top-p {}, repetition penalty {}",
                    sampling.temperature,
                    sampling.top_k,
                    sampling.top_p,
                    sampling.repetition_penalty
                )?,
            }
        }
        if let Some(recogniser) = &self.recogniser {
            writeln!(f, "recogniser: {recogniser}")?;
        }
        writeln!(f, "device:     {}", self.device)?;
        if let Some(page) = &self.page {
            writeln!(f, "page:       {}", page.display())?;
        }
        let titles: Vec<String> = self.conditions.iter().map(Condition::title).collect();
        writeln!(f, "\n{:<42}{}", "", aligned(&titles))?;
        for (label, cells) in rows(&self.conditions) {
            writeln!(f, "{label:<42}{}", aligned(&cells))?;
        }
        let [first, ..] = self.conditions.as_slice() else {
            return Ok(());
        };
        if first.summary.scored == 0 && first.outcomes.iter().all(|one| one.recording.is_none()) {
            writeln!(
                f,
                "\nno recordings were given, so there are no scores against them"
            )?;
        }
        for condition in &self.conditions {
            list(f, condition)?;
        }
        for notice in &self.notices {
            writeln!(f, "notice: {notice}")?;
        }
        Ok(())
    }
}

/// Aligns the cells of a row in columns.
fn aligned(cells: &[String]) -> String {
    let padded: String = cells.iter().map(|cell| format!("{cell:<26}")).collect();
    padded.trim_end().to_owned()
}

/// Lists the sentences of a condition one by one.
fn list(f: &mut fmt::Formatter<'_>, condition: &Condition) -> fmt::Result {
    let columns = Columns::of(condition);
    writeln!(
        f,
        "\n{:<12}{}  text",
        condition.title_short(),
        columns.heads().join(" ")
    )?;
    for outcome in condition.outcomes.iter().take(MOST_LISTED) {
        let id = shortened(&outcome.id, 11);
        writeln!(
            f,
            "{id:<12}{}  {}",
            columns.cells(outcome).join(" "),
            shortened(&outcome.text, SHOWN)
        )?;
        what_is_missing(f, outcome)?;
    }
    let more = condition.outcomes.len().saturating_sub(MOST_LISTED);
    if more > 0 {
        writeln!(f, "and {more} more, with --json")?;
    }
    Ok(())
}

/// The columns of a list besides the length and the ending.
#[derive(Clone, Copy)]
struct Columns {
    /// Whether there are scores against recordings.
    is_scored: bool,
    /// Whether there are error rates of transcripts.
    is_heard: bool,
}

impl Columns {
    fn of(condition: &Condition) -> Self {
        let has = |of: fn(&Outcome) -> bool| condition.outcomes.iter().any(of);
        Self {
            is_scored: has(|one| one.mel_cepstral_distortion_db.is_some()),
            is_heard: has(|one| one.words.is_some()),
        }
    }

    fn heads(self) -> Vec<String> {
        let mut heads = vec![format!("{:>7}", "length"), format!("{:>5}", "ended")];
        if self.is_scored {
            heads.extend(
                [("MCD", 8), ("F0", 10), ("voicing", 8), ("voice", 6)]
                    .map(|(head, width)| format!("{head:>width$}")),
            );
        }
        if self.is_heard {
            heads.push(format!("{:>7}", "WER"));
        }
        heads
    }

    fn cells(self, outcome: &Outcome) -> Vec<String> {
        let cell = |value: Option<String>, width: usize| {
            let value = value.unwrap_or_else(|| "-".to_owned());
            format!("{value:>width$}")
        };
        let ended = outcome
            .ended_by_itself
            .map(|ended| if ended { "yes" } else { "no" }.to_owned());
        let mut cells = vec![cell(decimals(outcome.seconds, 2, " s"), 7), cell(ended, 5)];
        if self.is_scored {
            cells.extend([
                cell(decimals(outcome.mel_cepstral_distortion_db, 2, " dB"), 8),
                cell(decimals(outcome.f0_rmse_cents, 0, " cents"), 10),
                cell(percent(outcome.voicing_error), 8),
                cell(decimals(outcome.own_voice_similarity, 3, ""), 6),
            ]);
        }
        if self.is_heard {
            let rate = outcome.words.and_then(Edits::rate);
            cells.push(cell(rate.map(|rate| format!("{:.0} %", rate * 100.0)), 7));
        }
        cells
    }
}

/// Writes what a sentence lacks, and the first line of why.
fn what_is_missing(f: &mut fmt::Formatter<'_>, outcome: &Outcome) -> fmt::Result {
    for (what, why) in [
        ("no audio", &outcome.failed),
        ("no scores", &outcome.unscored),
        ("no transcript", &outcome.unheard),
    ] {
        if let Some(why) = why {
            writeln!(
                f,
                "            {what}: {}",
                why.lines().next().unwrap_or_default()
            )?;
        }
    }
    Ok(())
}

impl Condition {
    fn title_short(&self) -> &'static str {
        match self.vocoder {
            Some(vocoder) => vocoder.name(),
            None => self.name,
        }
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text
            .chars()
            .take(most.saturating_sub(1))
            .chain(['…'])
            .collect(),
        false => text.to_owned(),
    }
}
