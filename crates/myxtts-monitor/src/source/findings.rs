//! `findings.json`: the latest findings, in a file that the training replaces whole.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::PathBuf;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::units::WallTime;

/// The most bytes that are read; a list of findings has fewer.
const MOST: u64 = 1 << 20;

/// The findings, as far as they are shown. Fields of other versions are
/// ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Findings {
    pub(crate) at_step: Option<u64>,
    pub(crate) wall_time: Option<WallTime>,
    pub(crate) verdict: Value,
    /// The verdict in words, where it is kept beside the numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sentence: Option<String>,
    pub(crate) findings: Vec<Finding>,
    pub(crate) silent: Vec<Value>,
}

/// One finding; the first of the list is the one to begin with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Finding {
    pub(crate) code: String,
    pub(crate) severity: String,
    pub(crate) cause: String,
    pub(crate) fix: String,
    pub(crate) gain: Value,
}

impl Findings {
    /// Returns the verdict as one sentence: as it was written, else made of the
    /// numbers of the doctor's verdict.
    pub(crate) fn sentence(&self) -> Option<String> {
        let named = |name: &str| self.verdict.get(name).and_then(Value::as_str);
        let words = self.sentence.as_deref().or_else(|| self.verdict.as_str());
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            return Some(words.to_owned());
        }
        let bound = named("input_bound")?;
        let waiting = self.verdict.get("waiting")?.as_f64()?;
        let mut said = format!("{bound} input-bound: {:.1} % waiting", waiting * 100.0);
        let cost = &self.verdict["largest_cost"];
        if let (Some(kind), Some(share)) = (cost["kind"].as_str(), cost["share"].as_f64()) {
            let kind = kind.replace('_', " ");
            said.push_str(&format!(
                "; largest other cost: {kind} {:.1} %",
                share * 100.0
            ));
        }
        Some(said)
    }
}

impl Finding {
    /// Returns the seconds saved per 1,000 steps, where they are known, and whether
    /// they are only a bound.
    pub(crate) fn gain_s(&self) -> Option<(f64, bool)> {
        let named = |name: &str| self.gain.get(name).and_then(Value::as_f64);
        let estimate = named("estimate").map(|seconds| (seconds, false));
        estimate.or_else(|| named("at_most").map(|seconds| (seconds, true)))
    }
}

/// Follows the file, and reads it when it has changed.
#[derive(Debug)]
pub(crate) struct FindingsFile {
    path: PathBuf,
    /// Length and modification time of what was read last; `None` while there is no file.
    seen: Option<(u64, Option<SystemTime>)>,
}

impl FindingsFile {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, seen: None }
    }

    /// Returns the findings if they are new: what they are, `None` when the file
    /// went away, or why it cannot be read.
    pub(crate) fn read(&mut self) -> Option<Result<Option<Findings>, String>> {
        let now = match fs::metadata(&self.path) {
            Ok(metadata) => Some((metadata.len(), metadata.modified().ok())),
            Err(_) => None,
        };
        if now == self.seen {
            return None;
        }
        self.seen = now;
        Some(match now {
            None => Ok(None),
            Some(_) => self.parse().map(Some),
        })
    }

    fn parse(&self) -> Result<Findings, String> {
        let text = self.text().map_err(|why| format!("findings.json: {why}"))?;
        serde_json::from_str(&text).map_err(|why| format!("findings.json: {why}"))
    }

    fn text(&self) -> io::Result<String> {
        // Opening a pipe would wait for its writer.
        if !fs::metadata(&self.path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let mut text = String::new();
        let file = File::open(&self.path)?;
        file.take(MOST).read_to_string(&mut text)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_are_read_when_they_are_new() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("findings.json");
        let mut file = FindingsFile::new(path.clone());
        assert_eq!(file.read(), None);
        let text = r#"{"at_step": 40, "verdict": "not input-bound", "findings":
            [{"code": "PADDING", "severity": "warning", "cause": "11 % is padding",
              "fix": "more buckets", "gain": {"at_most": 12.5}, "new_field": []}]}"#;
        fs::write(&path, text).unwrap();
        let found = file.read().unwrap().unwrap().unwrap();
        assert_eq!(found.sentence().as_deref(), Some("not input-bound"));
        assert_eq!(found.findings[0].gain_s(), Some((12.5, true)));
        assert_eq!(file.read(), None);
        fs::write(&path, "{").unwrap();
        assert!(file.read().unwrap().is_err());
        fs::remove_file(&path).unwrap();
        assert_eq!(file.read(), Some(Ok(None)));
    }

    #[test]
    fn a_verdict_of_numbers_is_put_into_words() {
        let text = r#"{"verdict": {"input_bound": "highly", "waiting": 0.9,
            "largest_cost": {"kind": "kernel_launch", "share": 0.031}}}"#;
        let found: Findings = serde_json::from_str(text).unwrap();
        let words = "highly input-bound: 90.0 % waiting; largest other cost: kernel launch 3.1 %";
        assert_eq!(found.sentence().as_deref(), Some(words));
        let text = r#"{"verdict": {"input_bound": {"unavailable": "no ledger"}}}"#;
        let found: Findings = serde_json::from_str(text).unwrap();
        assert_eq!(found.sentence(), None);
    }
}
