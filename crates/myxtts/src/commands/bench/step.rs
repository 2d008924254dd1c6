//! `myxtts bench step`

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use burn::tensor::Device;
use clap::ArgMatches;
use myxtts_base::report;
use myxtts_device::Host;
use myxtts_device::discover::host;
use myxtts_train::bench::{CASES, StepFigures, median_step};
use serde::{Deserialize, Serialize};

use crate::output::{Failure, Output};

/// The figures and what they were measured on.
#[derive(Serialize)]
struct Document {
    machine: Host,
    steps: usize,
    /// The first case, by the names people script against.
    #[serde(flatten)]
    main: Measured,
    cases: Vec<Measured>,
}

#[derive(Clone, Serialize)]
struct Measured {
    case: &'static str,
    parameters: usize,
    #[serde(flatten)]
    figures: StepFigures,
    /// Our step over the peer's; absent without its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_pytorch: Option<f64>,
}

/// What `benchmarks/step_vs_pytorch --record` writes of the peer, by case.
type Peer = BTreeMap<String, PeerStep>;

#[derive(Deserialize)]
struct PeerStep {
    step_s: f64,
}

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let steps = matches.get_one::<u32>("steps").copied().unwrap_or(1);
    let steps = usize::try_from(steps).unwrap_or(usize::MAX);
    let peer = matches.get_one::<PathBuf>("peer").map(read_peer);
    let peer = peer.transpose()?.unwrap_or_default();
    let mut cases = Vec::new();
    for case in CASES {
        output.log(format_args!("{}: {} steps", case.name, steps));
        let figures = median_step(&case.bench(), &Device::flex(), steps);
        let figures = figures.map_err(Failure::job)?;
        cases.push(Measured {
            case: case.name,
            parameters: case.parameters(),
            figures,
            ratio_to_pytorch: peer.get(case.name).map(|peer| figures.step_s / peer.step_s),
        });
    }
    let Some(main) = cases.first().cloned() else {
        return Err(Failure::Job("no case was measured".into()));
    };
    let document = Document {
        machine: host(),
        steps,
        main,
        cases,
    };
    output.result(&document, &document)
}

fn read_peer(path: &PathBuf) -> Result<Peer, Failure> {
    let problem = |why: String| {
        Failure::Usage(report!(
            "{} is not a record of the peer: {why}", path.display();
            fix: "write one with `benchmarks/step_vs_pytorch --record FILE`"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|why| problem(why.to_string()))?;
    serde_json::from_str(&text).map_err(|why| problem(why.to_string()))
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}, {} cores", self.machine.name, self.machine.cores)?;
        writeln!(
            f,
            "a training step on the CPU with dropout, median of {}: 200 text tokens, 200 codes, 6 s of voice",
            self.steps
        )?;
        writeln!(
            f,
            "\n{:<18} {:>8} {:>9} {:>9} {:>9} {:>9} {:>10}",
            "", "step s", "forward", "backward", "AdamW", "peak MB", "x PyTorch"
        )?;
        for case in &self.cases {
            let figures = &case.figures;
            let peak = figures
                .peak_bytes
                .map_or("unavailable".to_owned(), |bytes| {
                    format!("{:.0}", bytes as f64 / 1e6)
                });
            let ratio = case
                .ratio_to_pytorch
                .map_or("no record".to_owned(), |ratio| format!("{ratio:.2}"));
            writeln!(
                f,
                "{:<18} {:>8.3} {:>9.3} {:>9.3} {:>9.3} {peak:>9} {ratio:>10}",
                case.case,
                figures.step_s,
                figures.forward_s,
                figures.backward_s,
                figures.optimizer_s
            )?;
        }
        Ok(())
    }
}
