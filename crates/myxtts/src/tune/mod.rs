//! Searches for the settings that train fastest on this machine.
//!
//! ```text
//! batch size (memory on a GPU, speed on the CPU) -> workers -> device ring -> precision -> recomputation
//!     -> all against none
//! ```
//!
//! This process opens no device. Every configuration is measured in a process of its own
//! (`steps`), so that running out of memory ends only that process and is a result.

mod batch;
mod knobs;
mod record;
mod report;
mod search;

use std::path::Path;

use myxtts_base::report;
use myxtts_config::{Keys, Settings};
use myxtts_device::{Backend, Machine, Plan};
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use serde_json::Value;

use crate::error::Error;
use crate::new_file::NewFile;
use crate::settings::{Config, chosen_yaml};
use crate::steps::{self, Candidate, Effort, Ended, Measured, StepFigures, medians};
use crate::train::plan;
use record::Record;
pub use record::Verified;
pub use report::Report;
use report::Trial;

/// A gain below this share does not count.
const LEAST_GAIN: f64 = 0.02;

type Edits = Vec<(String, Option<Value>)>;

/// A setting that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knob {
    /// The batch size.
    Batch,
    /// The number of host threads.
    Workers,
    /// The depth of the device ring.
    Ring,
    /// The precision of products.
    Precision,
    /// Whether the backward pass computes the GPT's blocks again.
    Recompute,
}

impl Knob {
    /// Every knob, in the order of the search.
    pub const ALL: [Self; 5] = [
        Self::Batch,
        Self::Workers,
        Self::Ring,
        Self::Precision,
        Self::Recompute,
    ];

    /// Returns the word for the knob.
    pub fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::Workers => "workers",
            Self::Ring => "ring",
            Self::Precision => "precision",
            Self::Recompute => "recompute",
        }
    }
}

/// What is tuned, and how.
pub struct Tuner<'a> {
    keys: &'a Keys,
    settings: &'a Settings<Config>,
    plan: Plan,
    effort: Effort,
    stop: StopRequest,
    observer: &'a dyn Observer,
}

impl<'a> Tuner<'a> {
    /// Plans the configuration that the search begins with.
    ///
    /// # Errors
    /// When the machine does not have what the configuration asks for.
    pub fn new(
        keys: &'a Keys,
        settings: &'a Settings<Config>,
        machine: &Machine,
        effort: Effort,
        stop: StopRequest,
        observer: &'a dyn Observer,
    ) -> Result<Self, Error> {
        Ok(Self {
            keys,
            settings,
            plan: plan(settings, machine)?,
            effort,
            stop,
            observer,
        })
    }

    /// Searches for the settings that train fastest, and writes them to `out`, which must not
    /// exist yet unless `replaces`.
    ///
    /// # Errors
    /// When the file cannot be written, or the configuration cannot be measured at all.
    pub fn tune(&self, knobs: &[Knob], out: &Path, replaces: bool) -> Result<Report, Error> {
        let file = new_file(out, replaces)?;
        let (plan, observer) = (&self.plan, self.observer);
        observer.line(&format!(
            "tuning for {}: every configuration is trained for {} steps in a process of its own",
            device(plan),
            self.effort.steps
        ));
        steps::prepare_once(self.settings, plan, &self.stop, observer)?;
        let mut trials = vec![];
        let mut tell = |trial: Trial| {
            observer.line(&trial.to_string());
            trials.push(trial);
        };
        let settled = self.search(knobs, &mut tell)?;
        let record = Record::of(&settled.tuned, device(plan), self.effort.steps);
        let report = Report {
            file: out.display().to_string(),
            device: device(plan),
            edits: shown(self, &settled.edits),
            default: settled.default,
            tuned: settled.tuned,
            trials,
        };
        let body = chosen_yaml(self.keys, self.settings, &settled.edits);
        let text = format!("{}{}\n{body}", report.comments(), record.line());
        let written = match replaces {
            true => file.keep(text.as_bytes()),
            false => file.keep_new(text.as_bytes()),
        };
        written
            .map_err(|why| Error::Failed(report!("{} was not written: {why}", out.display())))?;
        Ok(report)
    }

    /// Measures a tuned file, which this tuner's configuration was loaded from, against the speed
    /// that it records.
    ///
    /// # Errors
    /// When the file has no record, or cannot be measured.
    pub fn verify(&self, file: &Path) -> Result<Verified, Error> {
        record::verify(self, file)
    }

    /// Turns one knob after the other, and judges what came of it as a whole.
    fn search(&self, knobs: &[Knob], tell: &mut dyn FnMut(Trial)) -> Result<Settled, Error> {
        let mut edits: Edits = vec![];
        if knobs.contains(&Knob::Batch) {
            batch::tune(self, &mut edits, tell)?;
        }
        knobs::tune(self, knobs, &mut edits, tell)?;
        let [default, tuned] = self.against(&[], &edits)?;
        let mut settled = settle(edits, default, tuned)?;
        settled.trial.take().into_iter().for_each(tell);
        Ok(settled)
    }

    fn is_gpu(&self) -> bool {
        let models = &self.plan.model_devices;
        models.iter().any(|device| device.backend != Backend::Cpu)
    }

    /// Returns the configuration with these edits. Measuring decides what fits, not the
    /// estimate.
    fn candidate(&self, edits: &[(String, Option<Value>)]) -> Candidate<'_> {
        let mut edits = edits.to_vec();
        edits.push(("data.memory_check".to_owned(), Some("warn".into())));
        Candidate {
            keys: self.keys,
            settings: self.settings,
            stop: &self.stop,
            edits,
        }
    }

    /// Measures both configurations in turn.
    fn against(
        &self,
        now: &[(String, Option<Value>)],
        then: &[(String, Option<Value>)],
    ) -> Result<[Result<Measured, Ended>; 2], Error> {
        let candidates = [self.candidate(now), self.candidate(then)];
        let measured = medians(&candidates, self.effort, |_, _, _| {})?;
        <[_; 2]>::try_from(measured)
            .map_err(|_| Error::Failed("a configuration was not measured".into()))
    }
}

/// Returns the file that the settings go to. An unwritable file is reported before hours of
/// measuring, and so is one that exists and may not be replaced.
fn new_file(out: &Path, is_forced: bool) -> Result<NewFile, Error> {
    if out.exists() && !is_forced {
        return Err(Error::Refused(report!(
            "{} already exists", out.display();
            fix: "give another name with --out, or --force to replace it"
        )));
    }
    NewFile::beside(out).map_err(|why| {
        Error::Refused(report!(
            "{} cannot be written: {why}", out.display();
            fix: "name a file in a folder that exists and may be written to"
        ))
    })
}

/// What is kept of the edits, and the two configurations measured in turn.
#[derive(Debug)]
struct Settled {
    edits: Edits,
    /// The comparison, if there was anything to compare.
    trial: Option<Trial>,
    default: StepFigures,
    tuned: StepFigures,
}

/// Judges all edits together against none: what each gains alone need not add up, and on a GPU
/// the largest batch that fits need not be the fastest. Edits that make a training slower are
/// dropped.
fn settle(
    edits: Edits,
    default: Result<Measured, Ended>,
    tuned: Result<Measured, Ended>,
) -> Result<Settled, Error> {
    const ALL: &str = "all together";
    let is_changed = !edits.is_empty();
    match (default, tuned) {
        (Ok(default), Ok(tuned)) => {
            let was = default.figures.audio_per_s;
            let is_kept = tuned.figures.audio_per_s >= was;
            let trial = Trial::of(ALL, "the default", &tuned, was, is_kept);
            let default = default.figures;
            let (edits, tuned) = match is_kept {
                true => (edits, tuned.figures),
                false => (vec![], default.clone()),
            };
            Ok(Settled {
                edits,
                trial: is_changed.then_some(trial),
                default,
                tuned,
            })
        }
        // The original configuration may not fit: then only the tuned one has figures.
        (Err(Ended::NoMemory(_)), Ok(tuned)) if is_changed => Ok(Settled {
            edits,
            trial: None,
            default: tuned.figures.clone(),
            tuned: tuned.figures,
        }),
        // A measurement may need more than the trial that asked whether a batch fits. What runs
        // out in it is not worth a file, and what nobody changed is still good.
        (Ok(default), Err(ended @ (Ended::NoMemory(_) | Ended::Died(_)))) if is_changed => {
            Ok(Settled {
                edits: vec![],
                trial: Some(Trial::without_figures(ALL, &ended)),
                tuned: default.figures.clone(),
                default: default.figures,
            })
        }
        (Err(ended), _) => Err(ended.error("the configuration as it is")),
        (_, Err(ended)) => Err(ended.error("the configuration that was found")),
    }
}

fn device(plan: &Plan) -> String {
    let names: Vec<&str> = plan.model_devices.iter().map(|d| d.name.as_str()).collect();
    names.join(", ")
}

/// Returns keys with their old and new values; the old ones are those of the plan, which start
/// values become.
fn shown(tuner: &Tuner<'_>, edits: &Edits) -> Vec<[String; 3]> {
    let show = |value: Option<&Value>| match value {
        Some(value) => value.to_string().trim_matches('"').to_owned(),
        None => "not set".to_owned(),
    };
    let plan = &tuner.plan;
    let old = |key: &str| match key {
        "data.batch_size" => plan.batch_size.to_string(),
        "data.num_workers" => plan.workers.to_string(),
        "data.prefetch_buffer_size" => plan.ring_depth.to_string(),
        "training.gradient_accumulation_steps" => plan.gradient_accumulation_steps.to_string(),
        "training.precision" => plan.precision.name().to_owned(),
        "training.recompute" => knobs::recompute_name(plan).to_owned(),
        other => show(
            tuner
                .settings
                .layer()
                .get(other)
                .map(|setting| &setting.value),
        ),
    };
    let rows = edits
        .iter()
        .map(|(key, value)| [key.clone(), old(key), show(value.as_ref())]);
    rows.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(audio_per_s: f64) -> Result<Measured, Ended> {
        Ok(Measured {
            figures: StepFigures::sample(audio_per_s),
            signals: myxtts_doctor::Signals::default(),
            rounds: vec![audio_per_s],
        })
    }

    fn larger() -> Edits {
        vec![("data.batch_size".to_owned(), Some(64.into()))]
    }

    fn no_memory() -> Result<Measured, Ended> {
        Err(Ended::NoMemory("the process ended by signal 9".to_owned()))
    }

    #[test]
    fn what_is_slower_is_dropped_however_well_it_fits() {
        let kept = settle(larger(), measured(10.0), measured(10.0)).unwrap();
        assert_eq!(kept.edits, larger());
        let dropped = settle(larger(), measured(10.0), measured(9.9)).unwrap();
        assert_eq!(dropped.edits, vec![]);
        assert_eq!(dropped.tuned, dropped.default);
        assert_eq!(dropped.tuned.audio_per_s.to_string(), "10");
        let words = dropped.trial.unwrap().to_string();
        assert!(
            words.ends_with("-1.0 % against the default: not kept"),
            "{words}"
        );
        let unchanged = settle(vec![], measured(10.0), measured(9.9)).unwrap();
        assert!(unchanged.trial.is_none());
    }

    #[test]
    fn what_runs_out_of_memory_at_the_end_is_dropped_and_told() {
        let settled = settle(larger(), measured(10.0), no_memory()).unwrap();
        assert_eq!(settled.edits, vec![]);
        assert_eq!(settled.tuned, settled.default);
        let words = settled.trial.unwrap().to_string();
        assert!(
            words.contains("out of memory: the process ended"),
            "{words}"
        );
    }

    #[test]
    fn a_default_that_does_not_fit_leaves_the_tuned_one() {
        let settled = settle(larger(), no_memory(), measured(9.0)).unwrap();
        assert_eq!(settled.edits, larger());
        assert!(settle(vec![], no_memory(), no_memory()).is_err());
        assert!(settle(larger(), no_memory(), no_memory()).is_err());
    }
}
