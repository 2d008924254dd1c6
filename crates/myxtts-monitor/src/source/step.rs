//! A line of `metrics.jsonl`.
//!
//! Not read with `myxtts_run::metrics`: that refuses a file with one line it
//! does not know, as it must before it appends to it. The monitor only looks,
//! and can use the other lines.

use serde_json::{Map, Value};

use crate::units::{Seconds, WallTime};

/// What a line says about its step; what it does not say is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StepLine {
    pub(crate) step: u64,
    pub(crate) wall_time: Option<WallTime>,
    pub(crate) stage: Option<String>,
    pub(crate) loss: Option<f64>,
    pub(crate) learning_rate: Option<f64>,
    pub(crate) step_s: Option<Seconds>,
    pub(crate) data_wait_s: Option<Seconds>,
    pub(crate) read_back_s: Option<Seconds>,
    pub(crate) collective_s: Option<Seconds>,
    /// The share of padded positions, from 0 to 1.
    pub(crate) padding: Option<f64>,
    pub(crate) audio_s: Option<Seconds>,
    pub(crate) kernels_new: Option<f64>,
    /// What came after the step, and how long the training waited for it.
    pub(crate) pauses: Vec<(&'static str, Seconds)>,
    /// Validation figures, with their names.
    pub(crate) validation: Vec<(String, f64)>,
}

impl StepLine {
    /// Parses a line; `None` where it is not a record of a step.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let object: Map<String, Value> = serde_json::from_str(line).ok()?;
        let number = |name: &str| object.get(name).and_then(number);
        let seconds = |name: &str| number(name).map(Seconds);
        let pauses = [
            ("checkpoint", "checkpoint_s"),
            ("validation", "validation_s"),
            ("samples", "samples_s"),
        ];
        Some(Self {
            step: object.get("step")?.as_u64()?,
            wall_time: number("wall_time").map(WallTime),
            stage: object
                .get("stage")
                .and_then(Value::as_str)
                .map(str::to_owned),
            loss: number("loss"),
            learning_rate: number("learning_rate"),
            step_s: seconds("step_s"),
            data_wait_s: seconds("data_wait_s"),
            read_back_s: seconds("read_back_s"),
            collective_s: seconds("collective_s"),
            padding: number("padding"),
            audio_s: seconds("audio_s"),
            kernels_new: number("kernels_new"),
            pauses: pauses
                .into_iter()
                .filter_map(|(name, key)| Some((name, seconds(key)?)))
                .collect(),
            validation: object
                .iter()
                .filter(|(name, _)| name.starts_with("val_"))
                .filter_map(|(name, value)| Some((name.clone(), self::number(value)?)))
                .collect(),
        })
    }
}

/// Reads a number. NaN and the infinities, which JSON lacks, are words in the file.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(word) => word.parse().ok(),
        other => other.as_f64(),
    }
}

#[cfg(test)]
mod tests {
    use myxtts_run::metrics::{MetricsWriter, Record};
    use myxtts_run::units::Step;

    use super::*;

    #[test]
    fn what_a_training_writes_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let (mut writer, _) = MetricsWriter::open(&path, None).unwrap();
        let record = Record::new(Step(7))
            .text("stage", "gpt")
            .f32("loss", f32::NAN)
            .f64("step_s", 0.25)
            .f64("checkpoint_s", 1.5)
            .f64("val_loss_mel", 1.25);
        writer.append_at(&record, 12.5).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let line = StepLine::parse(text.trim()).unwrap();
        assert_eq!((line.step, line.wall_time), (7, Some(WallTime(12.5))));
        assert_eq!(line.stage.as_deref(), Some("gpt"));
        assert!(line.loss.unwrap().is_nan());
        assert_eq!(line.step_s, Some(Seconds(0.25)));
        assert_eq!(line.data_wait_s, None);
        assert_eq!(line.pauses, [("checkpoint", Seconds(1.5))]);
        assert_eq!(line.validation, [("val_loss_mel".to_owned(), 1.25)]);
    }

    #[test]
    fn lines_of_other_kinds_are_not_steps() {
        for line in ["", "{", "[]", "{\"loss\":1}", "{\"step\":-1}", "\u{0}"] {
            assert_eq!(StepLine::parse(line), None, "{line}");
        }
    }
}
