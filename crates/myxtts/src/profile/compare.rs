//! Measures the modes side by side and recommends one.

use std::fmt;

use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use serde::Serialize;
use serde_json::{Value, json};

use super::Subject;
use crate::error::Error;
use crate::steps::{Candidate, Effort, Ended, Measured, StepFigures, medians};

/// A mode that is slower by less than this is as good, since it needs fewer devices.
const AS_GOOD: f64 = 0.02;

/// A way to use the devices of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// One device does everything.
    Single,
    /// One GPU prepares data, another trains the model.
    Split,
    /// Each device has a copy of the model.
    Mirrored,
}

impl Mode {
    fn name(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Split => "split",
            Self::Mirrored => "mirrored",
        }
    }

    /// Returns the flags that choose the mode.
    fn flags(self, gpus: &[u32]) -> String {
        match (self, gpus) {
            (Self::Single, _) => "no flag".to_owned(),
            (Self::Split, [data, model, ..]) => format!("--data-gpu {data} --model-gpu {model}"),
            (Self::Split, _) => "two GPUs".to_owned(),
            (Self::Mirrored, _) => "--multi-gpu".to_owned(),
        }
    }

    /// Returns what has to be set, and what unset, for the mode.
    fn edits(self, gpus: &[u32]) -> Vec<(String, Option<Value>)> {
        let [data, model] = match (self, gpus) {
            (Self::Split, [data, model, ..]) => [Some(json!(data)), Some(json!(model))],
            _ => [None, None],
        };
        vec![
            ("data.data_gpu".to_owned(), data),
            ("data.model_gpu".to_owned(), model),
            (
                "training.multi_gpu".to_owned(),
                (self == Self::Mirrored).then(|| json!(true)),
            ),
        ]
    }
}

/// What was measured of a mode.
#[derive(Debug, Serialize)]
struct Row {
    mode: Mode,
    flags: String,
    /// Seconds of audio per second, round by round.
    rounds: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    figures: Option<StepFigures>,
    /// Why there are no figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
}

/// The modes side by side, and the one that is recommended.
#[derive(Debug, Serialize)]
pub struct Comparison {
    gpus: usize,
    modes: Vec<Row>,
    recommended: Option<Mode>,
    reason: String,
}

impl Subject {
    /// Measures the ways to use the GPUs of the machine in turn, and recommends one.
    ///
    /// # Errors
    /// When the configuration cannot be trained as asked, or a measuring process was lost.
    pub fn compare(
        &self,
        effort: Effort,
        stop: &StopRequest,
        observer: &dyn Observer,
    ) -> Result<Comparison, Error> {
        let gpus = self.visible_gpus();
        let modes = match gpus.len() {
            0 | 1 => vec![Mode::Single],
            _ => vec![Mode::Single, Mode::Split, Mode::Mirrored],
        };
        let candidates: Vec<Candidate<'_>> = modes
            .iter()
            .map(|mode| Candidate {
                keys: &self.keys,
                settings: &self.settings,
                stop,
                edits: mode.edits(&gpus),
            })
            .collect();
        let tell = |index: usize, round: u32, ended: &Ended| {
            let mode = modes[index].name();
            observer.line(&format!("{mode}, round {round}: {ended}"));
        };
        self.prepare_once(stop, observer)?;
        let measured = medians(&candidates, effort, tell)?;
        let rows = modes.iter().zip(measured);
        let rows = rows.map(|(mode, measured)| Row::new(*mode, &gpus, measured));
        Ok(Comparison::of(rows.collect(), gpus.len()))
    }

    /// Returns the GPUs that the configuration may use.
    fn visible_gpus(&self) -> Vec<u32> {
        let strategy = &self.settings.config.training.strategy;
        let found = self.machine.gpus(strategy.backend);
        let is_visible = |id: &u32| match &strategy.visible_gpus {
            Some(visible) => visible.contains(id),
            None => true,
        };
        found.iter().map(|gpu| gpu.id).filter(is_visible).collect()
    }
}

impl Row {
    fn new(mode: Mode, gpus: &[u32], measured: Result<Measured, Ended>) -> Self {
        let flags = mode.flags(gpus);
        match measured {
            Ok(Measured {
                figures, rounds, ..
            }) => Self {
                mode,
                flags,
                rounds,
                figures: Some(figures),
                refused: None,
            },
            Err(ended) => Self {
                mode,
                flags,
                rounds: vec![],
                figures: None,
                refused: Some(ended.to_string()),
            },
        }
    }

    fn speed(&self) -> Option<f64> {
        self.figures.as_ref().map(|figures| figures.audio_per_s)
    }
}

impl Comparison {
    /// Returns why no mode is recommended, if none is.
    pub fn problem(&self) -> Option<&str> {
        self.recommended.is_none().then_some(self.reason.as_str())
    }

    /// Chooses the fastest mode, or an earlier one that is as good: modes are ordered by the
    /// number of devices they need.
    fn of(modes: Vec<Row>, gpus: usize) -> Self {
        let speeds = modes
            .iter()
            .filter_map(|row| Some((row.mode, row.speed()?)));
        let speeds: Vec<(Mode, f64)> = speeds.collect();
        let fastest = speeds.iter().max_by(|a, b| a.1.total_cmp(&b.1)).copied();
        let chosen = fastest.and_then(|(_, most)| {
            let mut enough = speeds.iter();
            enough.find(|(_, speed)| *speed >= most * (1.0 - AS_GOOD))
        });
        let reason = match (chosen, fastest, speeds.as_slice()) {
            (None, ..) | (_, None, _) => "no mode could be measured".to_owned(),
            (_, _, [_]) if gpus < 2 => format!(
                "{} found, so there is nothing to compare",
                match gpus {
                    0 => "no GPU was",
                    _ => "only one GPU was",
                }
            ),
            (Some((mode, speed)), Some((fastest, most)), _) if *mode != fastest => format!(
                "{} trains on {most:.2} s of audio per second, {} on {speed:.2}: they are less than {:.0} % \
                 apart, and it needs less",
                fastest.name(),
                mode.name(),
                100.0 * AS_GOOD
            ),
            (Some((mode, speed)), ..) => {
                let others = speeds.iter().filter(|(other, _)| other != mode);
                let ratios: Vec<String> = others
                    .map(|(other, slower)| {
                        format!("{:.2} x as fast as {}", speed / slower, other.name())
                    })
                    .collect();
                match ratios.is_empty() {
                    true => "the only mode that could be measured".to_owned(),
                    false => ratios.join(", "),
                }
            }
        };
        Self {
            gpus,
            recommended: chosen.map(|(mode, _)| *mode),
            modes,
            reason,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<10} {:>10} {:>9} {:>8} {:>10} {:>10} {:>8} {:>6} {:>9}  chosen with",
            "mode",
            "audio s/s",
            "step ms",
            "clips/s",
            "data wait",
            "averaging",
            "kernels",
            "waits",
            "moved"
        )?;
        for row in &self.modes {
            match (&row.figures, &row.refused) {
                (Some(figures), _) => writeln!(
                    f,
                    "{:<10} {:>10.2} {:>9.1} {:>8.1} {:>8.1} % {:>8.1} % {:>8} {:>6.1} {:>6.2} MB  {}",
                    row.mode.name(),
                    figures.audio_per_s,
                    1e3 * figures.step_s,
                    figures.clips_per_s,
                    figures.data_wait_pct,
                    figures.averaging_pct,
                    figures
                        .kernels_per_step
                        .map_or("none".to_owned(), |kernels| format!("{kernels:.0}")),
                    figures.syncs_per_step,
                    figures.moved_bytes_per_step / 1e6,
                    row.flags
                )?,
                (None, refused) => writeln!(
                    f,
                    "{:<10} not measured: {}",
                    row.mode.name(),
                    refused.as_deref().unwrap_or("")
                )?,
            }
        }
        match self.recommended {
            Some(mode) => writeln!(f, "\nrecommended: {} ({})", mode.name(), self.reason),
            None => writeln!(f, "\nrecommended: none ({})", self.reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(mode: Mode, speed: Option<f64>) -> Row {
        let figures = speed.map(StepFigures::sample);
        Row {
            mode,
            flags: mode.flags(&[0, 1]),
            rounds: vec![],
            refused: figures.is_none().then(|| "GPU 1 has no memory".to_owned()),
            figures,
        }
    }

    fn of(speeds: [Option<f64>; 3]) -> Comparison {
        let modes = [Mode::Single, Mode::Split, Mode::Mirrored];
        Comparison::of(
            modes
                .into_iter()
                .zip(speeds)
                .map(|(m, s)| row(m, s))
                .collect(),
            2,
        )
    }

    #[test]
    fn the_fastest_is_recommended_with_its_ratios() {
        let comparison = of([Some(10.0), Some(12.0), Some(18.0)]);
        assert_eq!(comparison.recommended, Some(Mode::Mirrored));
        insta::assert_snapshot!(comparison.to_string());
    }

    #[test]
    fn a_mode_that_is_as_good_with_fewer_devices_is_taken() {
        let comparison = of([Some(17.8), None, Some(18.0)]);
        assert_eq!(comparison.recommended, Some(Mode::Single));
        insta::assert_snapshot!(comparison.to_string());
    }

    #[test]
    fn where_nothing_was_measured_nothing_is_recommended() {
        assert_eq!(of([None, None, None]).recommended, None);
    }
}
