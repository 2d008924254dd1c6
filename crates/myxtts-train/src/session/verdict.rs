//! A fair judgement of a run at its end: what went wrong although every step was taken. Each
//! finding is a function of numbers, with its threshold beside it.

use std::collections::BTreeMap;
use std::fmt;

use myxtts_audio::units::Decibels;
use myxtts_run::checkpoint::{Best, Checkpoint};
use myxtts_run::metrics::Line;
use serde::Serialize;

use super::evaluate::{CODES_MADE, CODES_USED, VALIDATED};
use super::job::Job;
use crate::config::StageName;

/// One judgement about a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was judged, as an identifier that is the same in every language.
    pub code: &'static str,
    /// Whether it is as it should be.
    pub good: bool,
    /// The judgement as a sentence.
    pub words: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.good { "good:   " } else { "warning:" };
        write!(f, "{mark} {}", self.words)
    }
}

/// Assesses a run by what it recorded.
pub(crate) fn judged(
    job: &Job,
    lines: &[Line],
    levels: &BTreeMap<&'static str, Vec<f32>>,
    best: Option<(Checkpoint, Best)>,
    steps: u64,
) -> Vec<Finding> {
    let mut verdict = vec![];
    let counted = lines.iter().rev().find_map(|line| {
        let [used, made] = [CODES_USED, CODES_MADE].map(|name| line.f64(name));
        Some([used?, made?])
    });
    if let Some(counted) = counted {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "counts of codes"
        )]
        let [used, made] = counted.map(|count| count as u64);
        let codes = job.sizes.dvae.codes as u64;
        verdict.push(codes_in_use(used, made, codes));
    }
    for stage in [StageName::Dvae, StageName::Gpt, StageName::Decoder] {
        let of_stage = lines
            .iter()
            .filter(|line| line.text("stage").as_deref() == Some(stage.name()));
        let values: Vec<(u64, f64)> = of_stage
            .filter_map(|line| Some((line.step().0, line.f64(VALIDATED)?)))
            .collect();
        verdict.extend(validation(stage, &values));
    }
    for (title, levels) in levels {
        verdict.extend(near_silence(title, levels));
    }
    if let Some((checkpoint, best)) = best {
        let step = checkpoint.step().0;
        verdict.push(best_checkpoint(step, &best.metric, best.value, steps));
    }
    verdict
}

/// A codebook of which less is used has collapsed: the same few sounds stand
/// for everything. Measured on the sample corpus: 19 to 41 different codes among
/// 512 until the codebook opens, 181 to 201 from then on.
const LEAST_SHARE_OF_CODES: f64 = 0.25;

/// Speech is some 30 dB louder; a sample below this has nothing to hear.
const SILENCE: Decibels = Decibels(-50.0);

/// Validation losses vary by a few per cent from one to the next.
const RISE: f64 = 1.05;

/// Assesses the codes that a DVAE made of recordings it did not train on: `used` different ones
/// among `made`, of the `codes` there are.
fn codes_in_use(used: u64, made: u64, codes: u64) -> Finding {
    // Few recordings cannot use many codes.
    let possible = codes.min(made).max(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most the codes there are"
    )]
    let least = (possible as f64 * LEAST_SHARE_OF_CODES).ceil() as u64;
    let good = used >= least;
    let words = match good {
        true => format!(
            "the DVAE uses {used} of its {codes} codes for held-out recordings of {made} codes"
        ),
        false => format!(
            "the DVAE uses only {used} of its {codes} codes for held-out recordings of {made} codes \
             ({least} or more are expected): speech of so few sounds cannot be understood; train \
             the DVAE longer (training.dvae_epochs) or on more recordings"
        ),
    };
    Finding {
        code: "codes_in_use",
        good,
        words,
    }
}

/// Assesses the mean levels of the samples, given as shares of full scale.
fn near_silence(title: &str, levels: &[f32]) -> Option<Finding> {
    if levels.is_empty() {
        return None;
    }
    let silent = levels
        .iter()
        .filter(|level| **level < SILENCE.amplitude())
        .count();
    let all = levels.len();
    Some(Finding {
        code: "near_silence",
        good: silent == 0,
        words: match silent {
            0 => format!("{title}: all {all} can be heard"),
            silent => format!(
                "{title}: {silent} of {all} are near silence (below {SILENCE} of full scale): the \
                 model has not learned to speak; train it longer, or look at the loss and at the \
                 recordings"
            ),
        },
    })
}

/// Assesses a loss that should fall from validation to validation, given by step.
fn validation(stage: StageName, values: &[(u64, f64)]) -> Option<Finding> {
    let &(last_step, last) = values.last()?;
    let &(best_step, best) = values
        .iter()
        .filter(|(_, value)| !value.is_nan())
        .min_by(|(_, a), (_, b)| a.total_cmp(b))?;
    if values.len() < 2 {
        return None;
    }
    let good = last <= best * RISE;
    let name = stage.name();
    let words = match good {
        true => format!(
            "{name}: the validation loss is {last:.4} at step {last_step}, its best {best:.4} at \
             step {best_step}"
        ),
        false => format!(
            "{name}: the validation loss rose from {best:.4} at step {best_step} to {last:.4} at \
             step {last_step}: the model is memorising its recordings; fewer epochs or more \
             recordings help, and --best speaks with the best checkpoint"
        ),
    };
    Some(Finding {
        code: "validation",
        good,
        words,
    })
}

/// Names the checkpoint with the best validation, among the steps taken.
fn best_checkpoint(step: u64, metric: &str, value: f64, steps: u64) -> Finding {
    Finding {
        code: "best_checkpoint",
        good: true,
        words: format!("best checkpoint: step {step} of {steps} ({metric} {value:.4})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_collapsed_codebook_is_told() {
        assert!(!codes_in_use(19, 1024, 512).good);
        assert!(!codes_in_use(127, 1024, 512).good);
        assert!(codes_in_use(128, 1024, 512).good);
        // Six clips of sixteen codes use at most ninety-six.
        assert!(!codes_in_use(19, 96, 512).good);
        assert!(codes_in_use(80, 96, 512).good);
        assert!(!codes_in_use(0, 0, 0).good);
    }

    #[test]
    fn silence_is_told() {
        assert_eq!(near_silence("samples", &[]), None);
        assert!(near_silence("samples", &[0.05, 0.1]).unwrap().good);
        assert!(!near_silence("samples", &[0.05, 0.003]).unwrap().good);
        assert!(near_silence("samples", &[0.0032]).unwrap().good);
    }

    #[test]
    fn a_loss_that_rises_is_told() {
        let judged = |values: &[(u64, f64)]| {
            let finding = validation(StageName::Gpt, values);
            finding.map(|finding| finding.good)
        };
        assert_eq!(judged(&[]), None);
        assert_eq!(judged(&[(1, 2.0)]), None);
        assert_eq!(judged(&[(1, 2.0), (2, 1.0)]), Some(true));
        assert_eq!(judged(&[(1, 2.0), (2, 1.0), (3, 1.04)]), Some(true));
        assert_eq!(judged(&[(1, 2.0), (2, 1.0), (3, 1.06)]), Some(false));
        assert_eq!(judged(&[(1, 2.0), (2, f64::NAN)]), Some(false));
    }

    #[test]
    fn words() {
        let findings = [
            codes_in_use(371, 1024, 512),
            codes_in_use(19, 1024, 512),
            near_silence("samples", &[0.05; 12]).unwrap(),
            near_silence("samples", &[0.05, 0.0, 0.001]).unwrap(),
            validation(StageName::Dvae, &[(100, 0.5), (200, 0.25)]).unwrap(),
            validation(StageName::Gpt, &[(300, 2.25), (400, 2.5)]).unwrap(),
            best_checkpoint(300, "gpt/val_loss_mel", 2.25, 400),
        ];
        let words: Vec<String> = findings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(words.join("\n"));
    }
}
