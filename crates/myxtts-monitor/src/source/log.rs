//! A line of `train.log`: the progress of the run, or anything else it says.

use crate::units::Seconds;

/// What a line of the log says.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LogLine {
    /// How far the run is.
    Progress(Progress),
    /// Anything else, without its time.
    Words(String),
}

/// How far a run was when it said so.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Progress {
    pub(crate) step: u64,
    /// The number of steps of the whole run.
    pub(crate) total: Option<u64>,
    pub(crate) stage: Option<StageProgress>,
    pub(crate) eta: Option<Eta>,
}

/// How far a run of several stages is in its current stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StageProgress {
    pub(crate) name: String,
    pub(crate) step: u64,
    pub(crate) total: u64,
    pub(crate) number: u64,
    pub(crate) of: u64,
}

/// The time that is left.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Eta {
    /// The time in the training's own words.
    pub(crate) words: String,
    pub(crate) seconds: Option<Seconds>,
    /// Whether it is the time left of the current stage and not of the run.
    pub(crate) of_stage: bool,
}

impl LogLine {
    /// Parses a line. Any line is one or the other; only an empty one is `None`.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let words = without_time(line);
        if words.trim().is_empty() {
            return None;
        }
        Some(match Progress::parse(words) {
            Some(progress) => Self::Progress(progress),
            None => Self::Words(words.to_owned()),
        })
    }
}

/// Takes the time off a line such as `2026-03-01T12:00:00Z words`.
fn without_time(line: &str) -> &str {
    match line.split_once(' ') {
        Some((time, words)) if time.len() == 20 && time.ends_with('Z') => words,
        _ => line,
    }
}

impl Progress {
    /// Parses progress as `myxtts_run::progress` writes it: `step 120/1000 (gpt
    /// 20/400, stage 2 of 2)`, then fields with two spaces between.
    fn parse(words: &str) -> Option<Self> {
        let mut fields = words.split("  ");
        let head = fields.next()?.strip_prefix("step ")?;
        let (step, stage) = match head.split_once(" (") {
            Some((step, stage)) => (step, Some(StageProgress::parse(stage)?)),
            None => (head, None),
        };
        let (step, total) = match step.split_once('/') {
            Some((step, total)) => (step, Some(total.parse().ok()?)),
            None => (step, None),
        };
        let eta = fields.find_map(|field| {
            let (of_stage, words) = match field.strip_prefix("stage ETA ") {
                Some(words) => (true, words),
                None => (false, field.strip_prefix("ETA ")?),
            };
            Some(Eta {
                words: words.to_owned(),
                seconds: duration(words),
                of_stage,
            })
        });
        Some(Self {
            step: step.parse().ok()?,
            total,
            stage,
            eta,
        })
    }
}

impl StageProgress {
    /// Parses `gpt 20/400, stage 2 of 2)`.
    fn parse(words: &str) -> Option<Self> {
        let (steps, place) = words.strip_suffix(')')?.split_once(", stage ")?;
        let (name, steps) = steps.split_once(' ')?;
        let (step, total) = steps.split_once('/')?;
        let (number, of) = place.split_once(" of ")?;
        Some(Self {
            name: name.to_owned(),
            step: step.parse().ok()?,
            total: total.parse().ok()?,
            number: number.parse().ok()?,
            of: of.parse().ok()?,
        })
    }
}

/// Parses a duration such as `1 h 05 min` or `about 3 s`.
fn duration(words: &str) -> Option<Seconds> {
    let words = words.strip_prefix("about ").unwrap_or(words);
    let words: Vec<&str> = words.split_whitespace().collect();
    let mut seconds = 0.0;
    for pair in words.chunks(2) {
        let [number, unit] = pair else { return None };
        let number: u32 = number.parse().ok()?;
        seconds += f64::from(number)
            * match *unit {
                "s" => 1.0,
                "min" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return None,
            };
    }
    (!words.is_empty()).then_some(Seconds(seconds))
}

#[cfg(test)]
mod tests {
    use myxtts_run::progress::{Numbers, StageNumbers, quiet_line};
    use myxtts_run::units::Step;

    use super::*;

    fn numbers() -> Numbers {
        Numbers {
            step: Step(120),
            total: Some(Step(1000)),
            loss: Some(f64::NAN),
            steps_per_second: Some(0.1),
            data_wait: Some(0.5),
            ..Numbers::default()
        }
    }

    fn read(numbers: &Numbers) -> Progress {
        let line = format!("2026-03-01T12:00:00Z {}", quiet_line(numbers));
        match LogLine::parse(&line) {
            Some(LogLine::Progress(progress)) => progress,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_a_training_says_of_its_progress_is_read() {
        let progress = read(&numbers());
        assert_eq!((progress.step, progress.total), (120, Some(1000)));
        let eta = progress.eta.unwrap();
        assert_eq!(eta.words, "2 h 26 min");
        assert_eq!(eta.seconds, Some(Seconds(8760.0)));
        assert!(!eta.of_stage && progress.stage.is_none());
    }

    #[test]
    fn the_stage_is_read_where_there_are_several() {
        let progress = read(&Numbers {
            stage: Some(StageNumbers {
                name: "gpt",
                number: 2,
                of: 3,
                step: Step(20),
                total: Step(400),
            }),
            ..numbers()
        });
        let stage = progress.stage.unwrap();
        assert_eq!(stage.name, "gpt");
        assert_eq!((stage.step, stage.total), (20, 400));
        assert_eq!((stage.number, stage.of), (2, 3));
    }

    #[test]
    fn other_lines_are_words() {
        for line in [
            "step 100: val_loss_mel 0.3892",
            "step 7 was left out: the loss is NaN",
            "checkpoint of step 100 written: 39.9 MB in 0.06 s",
            "no time before this",
        ] {
            let stamped = format!("2026-03-01T12:00:00Z {line}");
            assert_eq!(LogLine::parse(&stamped), Some(LogLine::Words(line.into())));
        }
        assert_eq!(LogLine::parse("2026-03-01T12:00:00Z "), None);
    }
}
