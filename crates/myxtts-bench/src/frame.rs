//! What all reports have in common: the machine, medians, and the record of a peer.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use myxtts_base::report;
use myxtts_device::Host;
use myxtts_device::discover::host;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Figures and the machine they were measured on.
#[derive(Clone, Debug, Serialize)]
pub struct Framed<R> {
    machine: Host,
    #[serde(flatten)]
    report: R,
}

impl<R> Framed<R> {
    /// Puts the name and the cores of this machine above `report`.
    pub fn new(report: R) -> Self {
        Self {
            machine: host(),
            report,
        }
    }
}

impl<R: fmt::Display> fmt::Display for Framed<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {} cores", self.machine.name, self.machine.cores)?;
        self.report.fmt(f)
    }
}

/// Who was measured against, and the script that writes the record of it.
#[derive(Clone, Copy, Debug)]
pub struct PeerScript {
    /// The peer, as messages name it.
    pub peer: &'static str,
    /// The command that writes its record.
    pub command: &'static str,
}

impl PeerScript {
    /// Reads the record that the script wrote to `path`.
    pub fn read<T: DeserializeOwned>(&self, path: &Path) -> Result<T, PeerRecordError> {
        let wrong = |source: io::Error| PeerRecordError {
            path: path.to_owned(),
            script: *self,
            source,
        };
        let text = std::fs::read_to_string(path).map_err(wrong)?;
        serde_json::from_str(&text).map_err(|why| wrong(why.into()))
    }
}

/// The error for a file that is not the record of a peer.
#[derive(Debug, thiserror::Error)]
#[error("{}", report!(
    "{} is not a record of {}: {source}", path.display(), script.peer;
    fix: "write one with `{}`", script.command
))]
pub struct PeerRecordError {
    path: PathBuf,
    script: PeerScript,
    source: io::Error,
}

/// Returns the middle one of `values`, the upper one of two.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns `value`, or a dash where there is nothing to compare with or the system reports nothing.
pub(crate) fn or_dash(value: Option<impl fmt::Display>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| value.to_string())
}

/// Returns how many times as long or as fast, for a table.
pub(crate) fn times(ratio: Option<f64>) -> String {
    or_dash(ratio.map(|ratio| format!("{ratio:.2}x")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_upper_of_two() {
        assert!((median(vec![3.0, 1.0, 2.0]) - 2.0).abs() < 1e-12);
        assert!((median(vec![2.0, 1.0]) - 2.0).abs() < 1e-12);
        assert!(median(vec![]).is_nan());
    }
}
