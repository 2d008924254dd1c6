//! What a server has done, as Prometheus reads it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The upper bounds of the histogram of waits for the first sound, in seconds.
const FIRST_AUDIO: [f64; 10] = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// What a server has done since it started.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Counts>);

#[derive(Clone, Debug, Default)]
struct Counts {
    /// Answers by HTTP status.
    answers: BTreeMap<u16, u64>,
    /// Texts that were spoken to their end.
    spoken: u64,
    /// Texts whose client went away.
    cancelled: u64,
    /// Texts that failed, or were cut by a stop.
    failed: u64,
    /// Seconds of sound that was made.
    audio_s: f64,
    /// Seconds spent making the sound.
    busy_s: f64,
    /// Texts that are being spoken.
    rows: usize,
    /// Waits for the first sound, by bucket; the last bucket has no upper bound.
    first_audio: [u64; FIRST_AUDIO.len() + 1],
    first_audio_s: f64,
}

/// Gauges that the page shows beside the counts.
pub(crate) struct Now {
    pub(crate) queue: usize,
    pub(crate) queue_bound: usize,
    pub(crate) rows_bound: usize,
}

/// How a text ended.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ending {
    Spoken,
    Cancelled,
    Failed,
}

impl Metrics {
    pub(crate) fn answered(&self, status: u16) {
        *self.counts().answers.entry(status).or_default() += 1;
    }

    pub(crate) fn ended(&self, ending: Ending) {
        let mut counts = self.counts();
        match ending {
            Ending::Spoken => counts.spoken += 1,
            Ending::Cancelled => counts.cancelled += 1,
            Ending::Failed => counts.failed += 1,
        }
    }

    /// Sets the number of texts that are being spoken.
    pub(crate) fn rows(&self, rows: usize) {
        self.counts().rows = rows;
    }

    /// Adds the sound that a step of the loop made, and the time it took.
    pub(crate) fn stepped(&self, audio_s: f64, took: Duration) {
        let mut counts = self.counts();
        counts.audio_s += audio_s;
        counts.busy_s += took.as_secs_f64();
    }

    /// Records how long a client waited for its first sound.
    pub(crate) fn first_audio(&self, waited: Duration) {
        let waited = waited.as_secs_f64();
        let class = FIRST_AUDIO.iter().position(|end| waited <= *end);
        let mut counts = self.counts();
        if let Some(count) = counts
            .first_audio
            .get_mut(class.unwrap_or(FIRST_AUDIO.len()))
        {
            *count += 1;
        }
        counts.first_audio_s += waited;
    }

    /// Returns the number of texts spoken to their end, and the seconds of sound.
    pub(crate) fn totals(&self) -> (u64, f64) {
        let counts = self.counts();
        (counts.spoken, counts.audio_s)
    }

    /// Returns the mean time of the loop per text, in seconds; 1 before the first text.
    pub(crate) fn seconds_per_text(&self) -> f64 {
        let counts = self.counts();
        let texts = counts.spoken + counts.cancelled + counts.failed;
        match texts {
            0 => 1.0,
            texts => counts.busy_s / texts as f64,
        }
    }

    /// Returns the page that Prometheus reads.
    pub(crate) fn page(&self, now: &Now) -> String {
        let counts = self.counts().clone();
        let mut page = Page::default();
        counts.write_answers_and_endings(&mut page);
        counts.write_gauges(now, &mut page);
        counts.write_work(&mut page);
        counts.write_first_audio(&mut page);
        page.0
    }

    /// Locks the counts, which are whole between any two lines, whoever panicked.
    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Counts {
    fn write_answers_and_endings(&self, page: &mut Page) {
        let answers: Vec<_> = self
            .answers
            .iter()
            .map(|(status, count)| (format!("{{status=\"{status}\"}}"), count.to_string()))
            .collect();
        page.family(
            "requests_total",
            "counter",
            "Responses by status.",
            &answers,
        );
        let endings = [
            ("spoken", self.spoken),
            ("cancelled", self.cancelled),
            ("failed", self.failed),
        ]
        .map(|(ending, count)| (format!("{{ending=\"{ending}\"}}"), count.to_string()));
        page.family(
            "texts_total",
            "counter",
            "Texts started, by how they ended.",
            &endings,
        );
    }

    /// Writes what waits and what is spoken now, and the bounds of both.
    fn write_gauges(&self, now: &Now, page: &mut Page) {
        let gauges = [
            ("queue_length", "Texts that wait.", now.queue),
            ("queue_bound", "Most texts that may wait.", now.queue_bound),
            ("rows_busy", "Texts that are being spoken.", self.rows),
            (
                "rows_bound",
                "Most texts that are spoken at the same time.",
                now.rows_bound,
            ),
        ];
        for (name, help, value) in gauges {
            page.single(name, "gauge", help, value.to_string());
        }
    }

    /// Writes the sound that was made, and the time that it took.
    fn write_work(&self, page: &mut Page) {
        let help = "Seconds of audio made.";
        let audio = self.audio_s.to_string();
        page.single("audio_seconds_total", "counter", help, audio);
        let help = "Seconds spent making audio.";
        let busy = self.busy_s.to_string();
        page.single("synthesis_seconds_total", "counter", help, busy);
        if self.audio_s > 0.0 {
            let factor = self.busy_s / self.audio_s;
            let help = "Seconds spent per second of audio, since the start.";
            page.single("real_time_factor", "gauge", help, factor.to_string());
        }
    }

    /// Writes the histogram of waits for the first sound.
    fn write_first_audio(&self, page: &mut Page) {
        let mut classes = Vec::new();
        let mut below = 0;
        let ends = FIRST_AUDIO.iter().map(f64::to_string);
        for (end, count) in ends.chain(["+Inf".to_owned()]).zip(self.first_audio) {
            below += count;
            classes.push((format!("_bucket{{le=\"{end}\"}}"), below.to_string()));
        }
        classes.push(("_sum".to_owned(), self.first_audio_s.to_string()));
        classes.push(("_count".to_owned(), below.to_string()));
        let help = "Seconds from a request to its first audio.";
        page.family("first_audio_seconds", "histogram", help, &classes);
    }
}

/// A page of metrics in the text format of Prometheus.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Adds a metric with a line for each pair of a suffix of its name and a value.
    fn family(&mut self, name: &str, kind: &str, help: &str, lines: &[(String, String)]) {
        let Self(page) = self;
        // Writing to a string cannot fail.
        let _ = writeln!(page, "# HELP myxtts_{name} {help}");
        let _ = writeln!(page, "# TYPE myxtts_{name} {kind}");
        for (suffix, value) in lines {
            let _ = writeln!(page, "myxtts_{name}{suffix} {value}");
        }
    }

    /// Adds a metric that has one value.
    fn single(&mut self, name: &str, kind: &str, help: &str, value: String) {
        self.family(name, kind, help, &[(String::new(), value)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_as_prometheus_reads_it() {
        let metrics = Metrics::default();
        for status in [200, 200, 503] {
            metrics.answered(status);
        }
        metrics.ended(Ending::Spoken);
        metrics.ended(Ending::Spoken);
        metrics.ended(Ending::Cancelled);
        metrics.rows(3);
        metrics.stepped(4.0, Duration::from_millis(1_000));
        metrics.first_audio(Duration::from_millis(150));
        metrics.first_audio(Duration::from_secs(120));
        let now = Now {
            queue: 1,
            queue_bound: 32,
            rows_bound: 8,
        };
        insta::assert_snapshot!(metrics.page(&now));
        assert!((metrics.seconds_per_text() - 1.0 / 3.0).abs() < 1e-9);
    }
}
