//! What the files of one run say since they were last read.

use std::io;
use std::path::{Path, PathBuf};

use super::batch::BatchLine;
use super::findings::{Findings, FindingsFile};
use super::life::Life;
use super::log::LogLine;
use super::runs::written;
use super::step::StepLine;
use super::tail::Tail;
use crate::sample::MachineSample;
use crate::units::WallTime;

/// What is new in the files of a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunNews {
    /// The folder of the run.
    pub(crate) path: PathBuf,
    /// When the files were looked at.
    pub(crate) now: WallTime,
    pub(crate) life: Life,
    /// When the run last wrote something.
    pub(crate) written: Option<WallTime>,
    pub(crate) steps: Vec<StepLine>,
    pub(crate) batches: Vec<BatchLine>,
    /// Whether `batches` belong to another ledger than those before.
    pub(crate) ledger_restarted: bool,
    pub(crate) samples: Vec<MachineSample>,
    pub(crate) log: Vec<LogLine>,
    pub(crate) findings: Option<Result<Option<Findings>, String>>,
    /// The number of lines that are not what their file should hold.
    pub(crate) unreadable: u64,
    /// Files that could not be read, and why.
    pub(crate) errors: Vec<String>,
}

/// Follows the files of one run.
#[derive(Debug)]
pub(crate) struct RunFiles {
    path: PathBuf,
    metrics: Tail,
    ledger: Tail,
    devices: Tail,
    log: Tail,
    findings: FindingsFile,
}

impl RunFiles {
    pub(crate) fn new(path: &Path) -> Self {
        let tail = |name| Tail::new(path.join(name));
        Self {
            path: path.to_owned(),
            metrics: tail("metrics.jsonl"),
            ledger: tail("ledger.jsonl"),
            devices: tail("devices.jsonl"),
            log: tail("train.log"),
            findings: FindingsFile::new(path.join("findings.json")),
        }
    }

    /// Returns what is new, and whether there is more to read at once.
    pub(crate) fn read(&mut self) -> (RunNews, bool) {
        let now = WallTime::now();
        let written = written(&self.path);
        let mut unreadable = 0;
        let mut errors = Vec::new();
        let mut more = false;
        let mut look = |name: &str, tail: &mut Tail| {
            let appended = tail.read().unwrap_or_else(|why: io::Error| {
                errors.push(format!("{name}: {why}"));
                Default::default()
            });
            more |= appended.more;
            (appended.lines, appended.restarted)
        };
        let (steps, _) = look("metrics.jsonl", &mut self.metrics);
        let (batches, ledger_restarted) = look("ledger.jsonl", &mut self.ledger);
        let (samples, _) = look("devices.jsonl", &mut self.devices);
        let (log, _) = look("train.log", &mut self.log);
        let news = RunNews {
            path: self.path.clone(),
            now,
            life: Life::of(&self.path, written, now),
            written,
            steps: parsed(&steps, StepLine::parse, &mut unreadable),
            batches: parsed(&batches, BatchLine::parse, &mut unreadable),
            ledger_restarted,
            samples: parsed(
                &samples,
                |line| serde_json::from_str(line).ok(),
                &mut unreadable,
            ),
            log: log.iter().filter_map(|line| LogLine::parse(line)).collect(),
            findings: self.findings.read(),
            unreadable,
            errors,
        };
        (news, more)
    }
}

fn parsed<T>(lines: &[String], parse: impl Fn(&str) -> Option<T>, unreadable: &mut u64) -> Vec<T> {
    let whole = lines.iter().filter(|line| !line.trim().is_empty());
    let parsed = whole.map(|line| parse(line));
    let (good, bad): (Vec<_>, Vec<_>) = parsed.partition(Option::is_some);
    *unreadable += bad.len() as u64;
    good.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use myxtts_pipeline::{Entry, Ledger, PipelineStage};

    use super::*;

    #[test]
    fn a_folder_without_files_has_no_news() {
        let folder = tempfile::tempdir().unwrap();
        let (news, more) = RunFiles::new(folder.path()).read();
        assert!(news.steps.is_empty() && news.errors.is_empty() && !more);
        assert_eq!((news.life, news.written), (Life::Unclear, None));
    }

    #[test]
    fn the_ledger_of_a_pipeline_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger.jsonl");
        let ledger = Ledger::written(std::fs::File::create(&path).unwrap());
        ledger.note(Entry {
            wait_in_us: 10,
            busy_us: 20,
            wait_out_us: 30,
            occupancy: 4,
            decode_us: Some(5),
            ..Entry::new(PipelineStage::Host, 3, 1, 0)
        });
        ledger.finish().unwrap();
        let (news, _) = RunFiles::new(folder.path()).read();
        let batch = &news.batches[0];
        assert_eq!((batch.stage.as_str(), batch.worker), ("host", 3));
        assert_eq!((batch.wait_in_us, batch.busy_us), (10, 20));
        assert_eq!((batch.wait_out_us, batch.occupancy), (30, 4));
        assert_eq!((batch.read_us, batch.decode_us), (None, Some(5)));
        assert!(news.ledger_restarted);
    }

    #[test]
    fn a_line_that_is_not_what_its_file_holds_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ledger.jsonl"), "{}\n").unwrap();
        std::fs::write(folder.path().join("devices.jsonl"), "not a sample\n\n").unwrap();
        let (news, _) = RunFiles::new(folder.path()).read();
        assert!(news.batches.is_empty() && news.samples.is_empty());
        assert_eq!(news.unreadable, 2);
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named_and_the_others_are_read() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("metrics.jsonl")).unwrap();
        std::fs::write(folder.path().join("train.log"), "hello\n").unwrap();
        let (news, _) = RunFiles::new(folder.path()).read();
        assert_eq!(news.errors, ["metrics.jsonl: it is not a regular file"]);
        assert_eq!(news.log, [LogLine::Words("hello".into())]);
    }
}
