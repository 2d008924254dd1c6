//! A report as people read it: a table of the conditions, and a list of the sentences.

use std::fmt;

use myxtts_model::generate::Choice;
use myxtts_score::Edits;

use super::report::{Condition, Outcome, Report, Spread, Summary};

/// The number of sentences that are listed one by one.
const MOST_LISTED: usize = 40;
/// The number of characters of a sentence that the list shows.
const SHOWN: usize = 32;

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
