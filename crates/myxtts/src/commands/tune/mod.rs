//! `myxtts tune`: the settings that train fastest on this machine.
//!
//! ```text
//! batch size (memory on a GPU, speed on the CPU) -> workers -> device ring -> precision -> all against none
//! ```
//!
//! This process opens no device. Every configuration is measured in a process of its own
//! (`steps`), so that running out of memory ends only that process and is a result.

mod batch;
mod knobs;
mod record;
mod report;
mod search;

use std::path::{Path, PathBuf};

use clap::ArgMatches;
use myxtts_device::{Backend, Plan, plan};
use serde_json::Value;

use super::config::chosen_yaml;
use super::memory;
use super::steps::{self, Candidate, Effort, Ended, Measured, StepFigures, medians};
use crate::config;
use crate::new_file::NewFile;
use crate::output::{Failure, Output};
use record::Record;
use report::{Report, Trial};

/// A gain below this share does not count.
const LEAST_GAIN: f64 = 0.02;

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let machine = super::machine()?;
    let mut given = super::given(matches)?;
    let verified = matches.get_one::<PathBuf>("verify");
    if let Some(path) = verified {
        given.file = Some(path.clone());
    }
    let keys = config::keys();
    let settings = config::load(&keys, &given, || machine.clone()).map_err(Failure::usage)?;
    let request = memory::training_request(&settings, None)?;
    let plan = plan(&request, &machine);
    // A batch that the estimate refuses is measured anyway.
    let plan = plan.map_err(Failure::usage)?;
    let tuner = Tuner {
        keys: &keys,
        settings: &settings,
        plan: &plan,
        effort: steps::effort(matches),
        output,
    };
    match verified {
        Some(path) => record::verify(&tuner, path),
        None => tune(&tuner, matches),
    }
}

type Edits = Vec<(String, Option<Value>)>;

/// What is tuned, and how.
struct Tuner<'a> {
    keys: &'a myxtts_config::Keys,
    settings: &'a myxtts_config::Settings<config::Config>,
    plan: &'a Plan,
    effort: Effort,
    output: &'a Output,
}

impl Tuner<'_> {
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
            edits,
        }
    }

    /// Measures both configurations in turn.
    fn against(
        &self,
        now: &[(String, Option<Value>)],
        then: &[(String, Option<Value>)],
    ) -> Result<[Result<Measured, Ended>; 2], Failure> {
        let candidates = [self.candidate(now), self.candidate(then)];
        let measured = medians(&candidates, self.effort, |_, _, _| {})?;
        <[_; 2]>::try_from(measured)
            .map_err(|_| Failure::Job("a configuration was not measured".into()))
    }
}

fn tune(tuner: &Tuner<'_>, matches: &ArgMatches) -> Result<(), Failure> {
    let out = matches.get_one::<PathBuf>("out");
    let out = out.map_or(Path::new("myxtts.tuned.yaml"), PathBuf::as_path);
    let is_forced = matches.get_flag("force");
    if out.exists() && !is_forced {
        return Err(Failure::Usage(myxtts_base::report!(
            "{} already exists", out.display();
            fix: "give another name with --out, or --force to replace it"
        )));
    }
    // An unwritable file is reported before hours of measuring.
    let file = NewFile::beside(out).map_err(|why| {
        Failure::Usage(myxtts_base::report!(
            "{} cannot be written: {why}", out.display();
            fix: "name a file in a folder that exists and may be written to"
        ))
    })?;
    let Tuner { output, plan, .. } = tuner;
    output.log(format_args!(
        "tuning for {}: every configuration is trained for {} steps in a process of its own",
        device(plan),
        tuner.effort.steps
    ));
    steps::prepare_once(tuner.settings, plan, output)?;
    let mut trials = vec![];
    let mut tell = |trial: Trial| {
        output.log(&trial);
        trials.push(trial);
    };
    let mut edits: Edits = vec![];
    let is_asked = |what: &str| match matches.get_many::<String>("only") {
        Some(mut only) => only.any(|asked| asked == what),
        None => true,
    };
    if is_asked("batch") {
        batch::tune(tuner, &mut edits, &mut tell)?;
    }
    knobs::tune(tuner, &is_asked, &mut edits, &mut tell)?;
    let (edits, standing) = settle(tuner, edits, &mut tell)?;
    let record = Record::of(&standing.tuned, device(plan), tuner.effort.steps);
    let report = Report {
        file: out.display().to_string(),
        device: device(plan),
        edits: shown(tuner, &edits),
        default: standing.default,
        tuned: standing.tuned,
        trials,
    };
    let body = chosen_yaml(tuner.keys, tuner.settings, &edits);
    let text = format!("{}{}\n{body}", report.comments(), record.line());
    let written = match is_forced {
        true => file.keep(text.as_bytes()),
        false => file.keep_new(text.as_bytes()),
    };
    written.map_err(|why| {
        Failure::Job(myxtts_base::report!(
            "{} was not written: {why}",
            out.display()
        ))
    })?;
    output.result(&report, &report)
}

/// The default and the tuned configuration, measured in turn.
struct Standing {
    default: StepFigures,
    tuned: StepFigures,
}

/// Measures all edits together against none: what each gains alone need not add up. Edits that
/// do not are dropped.
fn settle(
    tuner: &Tuner<'_>,
    edits: Edits,
    tell: &mut dyn FnMut(Trial),
) -> Result<(Edits, Standing), Failure> {
    let is_changed = !edits.is_empty();
    let [default, tuned] = tuner.against(&[], &edits)?;
    let grows = edits.iter().any(|(key, _)| key == "data.batch_size") && tuner.is_gpu();
    match (default, tuned) {
        (Ok(default), Ok(tuned)) => {
            let (was, is) = (default.figures.audio_per_s, tuned.figures.audio_per_s);
            // On a GPU the batch was chosen by memory, and is kept.
            let is_kept = is >= was || grows;
            if is_changed {
                tell(Trial::of(
                    "all together",
                    "the default",
                    &tuned,
                    was,
                    is_kept,
                ));
            }
            let (edits, tuned) = match is_kept {
                true => (edits, tuned.figures),
                false => (vec![], default.figures.clone()),
            };
            let default = default.figures;
            Ok((edits, Standing { default, tuned }))
        }
        // The original configuration may not fit: then only the tuned one has figures.
        (Err(Ended::NoMemory(_)), Ok(tuned)) if is_changed => {
            let tuned = tuned.figures;
            let default = tuned.clone();
            Ok((edits, Standing { default, tuned }))
        }
        // A measurement may need more than the trial that asked whether a batch fits. What runs
        // out in it is not worth a file, and what nobody changed is still good.
        (Ok(default), Err(ended @ (Ended::NoMemory(_) | Ended::Died(_)))) if is_changed => {
            tell(Trial::without_figures("all together", &ended));
            let default = default.figures;
            let tuned = default.clone();
            Ok((vec![], Standing { default, tuned }))
        }
        (Err(ended), _) => Err(ended.failure("the configuration as it is")),
        (_, Err(ended)) => Err(ended.failure("the configuration that was found")),
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
    let plan = tuner.plan;
    let old = |key: &str| match key {
        "data.batch_size" => plan.batch_size.to_string(),
        "data.num_workers" => plan.workers.to_string(),
        "data.prefetch_buffer_size" => plan.ring_depth.to_string(),
        "training.gradient_accumulation_steps" => plan.gradient_accumulation_steps.to_string(),
        "training.precision" => plan.precision.name().to_owned(),
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
