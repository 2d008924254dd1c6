//! The report as a person reads it.

use std::fmt::{self, Display, Formatter};

use myxtts_audio::units::Samples;
use myxtts_config::shell::quoted;

use super::{Finding, LimitReport, Report, SplitReport, TextUnit};
use crate::layout::Decided;
use crate::prepare::checks::TOO_LONG;
use crate::prepare::{HOP, MANIFEST, Note, QUARANTINE, REPORT, REPORT_TEXT};

/// The longest bar, in characters.
const WIDEST: u64 = 40;
/// The number of speakers shown; the JSON report has more.
const SPEAKERS_SHOWN: usize = 20;
/// The number of characters shown; the JSON report has all.
const CHARACTERS_SHOWN: usize = 40;
/// A character seen fewer times than this is hardly learned.
const RARE: u64 = 5;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.dataset)?;
        let Self {
            total,
            kept,
            quarantined,
            ..
        } = self;
        writeln!(
            f,
            "  {}: {kept} kept, {quarantined} quarantined\n  \
             {:.2} hours to use: {} for training, {} for validation",
            counted(*total, "clip"),
            self.hours,
            counted(self.train, "clip"),
            self.validation
        )?;
        self.columns(f)?;
        self.splits(f)?;
        self.lengths(f)?;
        self.people(f)?;
        self.recordings(f)?;
        self.quarantine(f)?;
        self.notes(f)?;
        self.text(f)?;
        self.padding(f)?;
        writeln!(
            f,
            "\nFiles\n  {MANIFEST}, {QUARANTINE}, {REPORT}, {REPORT_TEXT} in {}",
            self.out
        )?;
        writeln!(f, "\nNext\n  {}", self.next_step())
    }
}

impl Report {
    /// Writes how the metadata was read: the one thing that a wrong result would
    /// show in, and that no count does.
    fn columns(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nAs read (language: {})", self.language)?;
        for table in &self.tables {
            let decided = match table.decided {
                Decided::Given => "as --columns says",
                Decided::Header => "by its first line",
                Decided::Content => "by what they hold (--columns overrides it)",
            };
            writeln!(
                f,
                "  columns of {}: {}, {decided}",
                table.file, table.columns
            )?;
        }
        for row in &self.rows {
            let speaker = row
                .speaker
                .as_deref()
                .map(|name| format!(", speaker {name}"));
            writeln!(
                f,
                "  {}: {}{}",
                row.source,
                row.audio,
                speaker.unwrap_or_default()
            )?;
            writeln!(f, "    as read:    {}", shown(&row.text))?;
            writeln!(f, "    as cleaned: {}", shown(&row.cleaned))?;
        }
        Ok(())
    }

    /// Writes what became of clips over a limit, where they are split.
    fn splits(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(SplitReport {
            clips,
            pieces,
            not_split,
        }) = &self.split
        else {
            return Ok(());
        };
        writeln!(
            f,
            "\nSplit at pauses: {} into {}, {not_split} not split",
            counted(clips.count, "long clip"),
            counted(*pieces, "piece")
        )?;
        for example in &clips.first {
            writeln!(f, "  {}: {}", example.source, shown(&example.what))?;
        }
        let more = clips.count.saturating_sub(clips.first.len() as u64);
        if more > 0 {
            writeln!(f, "  and {more} more (`span` in {MANIFEST})")?;
        }
        Ok(())
    }

    fn lengths(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nLength, in seconds")?;
        let most = self
            .histogram
            .iter()
            .map(|bar| bar.clips)
            .max()
            .unwrap_or(0);
        let first = self.histogram.iter().position(|bar| bar.clips > 0);
        let last = self.histogram.iter().rposition(|bar| bar.clips > 0);
        let (Some(first), Some(last)) = (first, last) else {
            return writeln!(f, "  no clips");
        };
        for bar in &self.histogram[first..=last] {
            // Rounded up, so that even a single clip is seen.
            let width = (bar.clips * WIDEST).div_ceil(most.max(1));
            let marks = "#".repeat(usize::try_from(width).unwrap_or(0));
            let range = format!("{:.0}-{:.0}", bar.from, bar.to);
            writeln!(f, "  {range:>7}  {marks:<40}  {}", bar.clips)?;
        }
        Ok(())
    }

    fn people(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nSpeakers: {}", self.speaker_count)?;
        for share in self.speakers.iter().take(SPEAKERS_SHOWN) {
            let name = share.speaker.as_deref().unwrap_or("(not named)");
            let percent = 100.0 * share.hours / self.hours.max(f64::MIN_POSITIVE);
            writeln!(
                f,
                "  {name}: {}, {:.2} h, {percent:.1} %",
                counted(share.clips, "clip"),
                share.hours
            )?;
        }
        if self.speaker_count > SPEAKERS_SHOWN as u64 {
            let more = self.speaker_count - SPEAKERS_SHOWN as u64;
            writeln!(f, "  and {more} more")?;
        }
        Ok(())
    }

    fn recordings(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nRates of the recordings")?;
        for share in &self.rates {
            writeln!(f, "  {} Hz: {}", share.rate, counted(share.clips, "clip"))?;
        }
        if self.rates.len() > 1 {
            let rate = self.settings.audio.sample_rate;
            writeln!(
                f,
                "  several rates: all are resampled to {rate}; clips recorded below it sound duller, and \
                 the voice learns both"
            )?;
        }
        Ok(())
    }

    fn quarantine(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\nQuarantined: {} ({QUARANTINE} names every one)",
            self.quarantined
        )?;
        for finding in self.findings.iter().filter(|finding| !finding.kept) {
            examples(f, finding, "")?;
            let limits = self.limits.iter();
            for limit in limits.filter(|limit| limit.reason == finding.finding) {
                writeln!(f, "    {}", self.advice(limit))?;
            }
        }
        Ok(())
    }

    /// Returns what would keep the clips that are over a limit.
    fn advice(&self, limit: &LimitReport) -> String {
        let LimitReport {
            flag,
            limit: now,
            clips,
            raise_to,
            kept,
            ..
        } = limit;
        let seconds = |frames: &u64| {
            let samples = Samples(
                usize::try_from(*frames)
                    .unwrap_or(usize::MAX)
                    .saturating_mul(HOP),
            );
            match limit.reason.as_str() {
                TOO_LONG => format!(" ({})", samples.at(self.settings.audio.sample_rate)),
                _ => String::new(),
            }
        };
        // What was tried need not be advised.
        let split = match self.settings.split_long {
            true => "",
            false => "; --split-long splits clips at their pauses",
        };
        if *kept == 0 {
            return format!(
                "the limit is {flag} {now}{}; split these recordings{split}",
                seconds(now)
            );
        }
        let which = match kept == clips {
            true => "keeps all of them".to_owned(),
            false => format!("keeps {kept} of the {clips}, and the rest must be split"),
        };
        format!(
            "the limit is {flag} {now}{}; {flag} {raise_to}{} {which}, at the cost of memory{split}",
            seconds(now),
            seconds(raise_to)
        )
    }

    /// Returns that advice, one line for each limit, for whoever starts to train;
    /// empty without a limit.
    pub fn limits_in_words(&self) -> Vec<String> {
        let words = |limit: &LimitReport| {
            format!("{} {}: {}", limit.clips, limit.reason, self.advice(limit))
        };
        self.limits.iter().map(words).collect()
    }

    fn notes(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut noted = self
            .findings
            .iter()
            .filter(|finding| finding.kept)
            .peekable();
        if noted.peek().is_none() {
            return Ok(());
        }
        writeln!(f, "\nNoted and kept (`notes` in {MANIFEST})")?;
        for finding in noted {
            let note: Result<Note, _> =
                serde_json::from_value(serde_json::Value::String(finding.finding.clone()));
            examples(f, finding, note.map_or("", Note::meaning))?;
        }
        if let Some(usual) = self.characters_per_second {
            writeln!(f, "  usual here: {usual:.1} characters a second")?;
        }
        Ok(())
    }

    fn text(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nText")?;
        match &self.coverage {
            None => self.characters(f)?,
            Some(coverage) => {
                for tag in &coverage.missing_tags {
                    writeln!(f, "  the vocabulary has no tag for the language `{tag}`")?;
                }
                let missing: u64 = coverage.uncovered.iter().map(|found| found.count).sum();
                writeln!(
                    f,
                    "  {missing} of {} characters are outside the vocabulary and would be read as silence",
                    coverage.characters
                )?;
                for found in coverage.uncovered.iter().take(CHARACTERS_SHOWN) {
                    writeln!(
                        f,
                        "    `{}` (U+{:04X}): {} on {}: {}{}",
                        found.character.escape_debug(),
                        u32::from(found.character),
                        found.count,
                        counted(found.lines, "line"),
                        found.first.join(", "),
                        if found.lines > found.first.len() as u64 {
                            ", ..."
                        } else {
                            ""
                        }
                    )?;
                }
                let more = coverage.uncovered.len().saturating_sub(CHARACTERS_SHOWN);
                if more > 0 {
                    writeln!(f, "    and {more} more characters in {REPORT}")?;
                }
            }
        }
        for gap in &self.unsupported_text {
            writeln!(
                f,
                "  no {} for `{}`: {} left as written",
                gap.what,
                gap.language,
                counted(gap.occurrences.count, "piece")
            )?;
            for example in &gap.occurrences.first {
                writeln!(f, "    {}: {}", example.source, shown(&example.what))?;
            }
        }
        Ok(())
    }

    /// Writes what can be said without a vocabulary.
    fn characters(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "  no vocabulary was given, so no text was judged too long, and lengths below count characters\n  \
             a new model learns a vocabulary from these texts and has all of their {} characters;\n  \
             for weights with a vocabulary of their own, --vocab WEIGHTS/vocab.json checks against it",
            self.characters.len()
        )?;
        let rare = || self.characters.iter().filter(|found| found.count < RARE);
        if rare().next().is_none() {
            return Ok(());
        }
        writeln!(
            f,
            "  seen fewer than {RARE} times, too rarely to be learned well:"
        )?;
        for found in rare().take(CHARACTERS_SHOWN) {
            writeln!(
                f,
                "    `{}` (U+{:04X}): {}, first on {}",
                found.character.escape_debug(),
                u32::from(found.character),
                found.count,
                found.first
            )?;
        }
        let more = rare().count().saturating_sub(CHARACTERS_SHOWN);
        if more > 0 {
            writeln!(f, "    and {more} more characters in {REPORT}")?;
        }
        Ok(())
    }

    fn padding(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nPadding, as a share of all positions")?;
        for (buckets, percent) in &self.padding {
            let word = if *buckets == 1 {
                "bucket: "
            } else {
                "buckets:"
            };
            writeln!(f, "  {buckets:>2} {word} {percent:5.1} %")?;
        }
        let unit = match self.text_unit {
            TextUnit::Tokens => "tokens",
            TextUnit::Characters => "characters",
        };
        writeln!(
            f,
            "  the {} asked for, longest text ({unit}) x longest audio (codes):",
            self.settings.buckets
        )?;
        for bucket in &self.buckets {
            writeln!(
                f,
                "    {:>4} x {:<4} {}",
                bucket.text.0,
                bucket.audio.0,
                counted(bucket.clips, "clip")
            )?;
        }
        Ok(())
    }

    fn next_step(&self) -> String {
        match self.check() {
            Err(_) => format!("correct or remove the clips in {QUARANTINE}, then prepare again"),
            Ok(()) if self.kept == 0 => "no clip is left to train on".to_owned(),
            Ok(()) => {
                let words: Vec<_> = self.next.iter().map(|word| quoted(word)).collect();
                words.join(" ")
            }
        }
    }
}

fn examples(f: &mut Formatter<'_>, finding: &Finding, meaning: &str) -> fmt::Result {
    let colon = if meaning.is_empty() { "" } else { ": " };
    let count = finding.occurrences.count;
    writeln!(f, "  {}, {count}{colon}{meaning}", finding.finding)?;
    for example in &finding.occurrences.first {
        writeln!(f, "    {}: {}", example.source, shown(&example.what))?;
    }
    let more = count.saturating_sub(finding.occurrences.first.len() as u64);
    if more > 0 {
        writeln!(f, "    and {more} more")?;
    }
    Ok(())
}

/// Writes a count with its noun: `1 clip`, `2 clips`.
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Shortens a text to one line that fits a screen.
fn shown(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(120) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_owned(),
    }
}
