//! `myxtts bench train`

use std::fmt;
use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::internal::train_request;
use myxtts::prepare;
use myxtts_base::report;
use myxtts_device::plan;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::probe::{TrainFigures, measure};
use myxtts_train::session::TrainRequest;
use serde::{Deserialize, Serialize};

use super::Document;
use crate::config::{self, Given, GivenFlag};
use crate::output::{Failure, Output};

const DEFAULT: [&str; 2] = ["tiny", "small"];

/// The sizes that were measured.
#[derive(Serialize)]
struct Report {
    batch_size: u32,
    /// The first size, by the names people script against.
    #[serde(flatten)]
    main: Measured,
    sizes: Vec<Measured>,
}

#[derive(Clone, Serialize)]
struct Measured {
    size: String,
    #[serde(flatten)]
    figures: TrainFigures,
    /// Our clips per second over the reference's; absent without its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_reference: Option<f64>,
}

/// The part of the reference's record that is read.
#[derive(Deserialize)]
struct Peer {
    samples_per_s: f64,
    settings: PeerSettings,
}

#[derive(Deserialize)]
struct PeerSettings {
    size: String,
    batch_size: u32,
}

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let number = |name| matches.get_one::<u32>(name).copied().unwrap_or(1);
    let (steps, batch_size) = (number("steps"), number("batch-size"));
    let peer = matches.get_one::<PathBuf>("peer").map(read).transpose()?;
    let asked: Vec<String> = match matches.get_many::<String>("size") {
        Some(sizes) => sizes.cloned().collect(),
        None => DEFAULT.map(str::to_owned).to_vec(),
    };
    let mut sizes = vec![];
    for size in asked {
        output.log(format_args!("{size}: an epoch, then {steps} steps"));
        let figures = figures(&size, batch_size, steps, output)?;
        let same =
            |peer: &&Peer| peer.settings.size == size && peer.settings.batch_size == batch_size;
        let ratio = peer.as_ref().filter(same);
        sizes.push(Measured {
            ratio_to_reference: ratio.map(|peer| figures.samples_per_s / peer.samples_per_s),
            size,
            figures,
        });
    }
    let Some(main) = sizes.first().cloned() else {
        return Err(Failure::Usage("no size was given".into()));
    };
    Document::print(
        Report {
            batch_size,
            main,
            sizes,
        },
        output,
    )
}

fn figures(
    size: &str,
    batch_size: u32,
    steps: u32,
    output: &Output,
) -> Result<TrainFigures, Failure> {
    let (training, placement) = bench_training(size, batch_size, output)?;
    measure(&training, &placement, u64::from(steps)).map_err(Failure::job)
}

/// Returns a training of a preset on the sample corpus.
pub(super) fn bench_training(
    size: &str,
    batch_size: u32,
    output: &Output,
) -> Result<(TrainRequest, Placement), Failure> {
    let flag = |key: &str, value: String| GivenFlag {
        flag: "bench".to_owned(),
        key: key.to_owned(),
        value,
    };
    let given = Given {
        flags: vec![
            flag("model.size", size.to_owned()),
            flag("data.batch_size", batch_size.to_string()),
            // The sample corpus has short clips, whatever the size.
            flag("data.conditioning_min", "1".to_owned()),
            flag("data.conditioning_max", "1".to_owned()),
        ],
        ..Given::default()
    };
    let machine = crate::commands::machine()?;
    let settings =
        config::load(&config::keys(), &given, || machine.clone()).map_err(Failure::usage)?;
    let plan = plan(&config::plan_request(&settings), &machine).map_err(Failure::usage)?;
    // Signals end a benchmark as they end any program: it keeps nothing.
    let stop = StopRequest::new();
    let dataset = prepare(&settings, &stop, output)?;
    let training = train_request(&settings, &plan, dataset, String::new())?;
    let placement = Placement::of(&plan).map_err(Failure::job)?;
    Ok((training, placement.reading(&plan, &machine)))
}

fn read(path: &PathBuf) -> Result<Peer, Failure> {
    let wrong = |why: String| {
        Failure::Usage(report!(
            "{} is not a record of the reference: {why}", path.display();
            fix: "write one with `benchmarks/train_vs_reference.py ... > FILE`"
        ))
    };
    let text = std::fs::read_to_string(path).map_err(|why| wrong(why.to_string()))?;
    serde_json::from_str(&text).map_err(|why| wrong(why.to_string()))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "batch size {}, {} clips, codes cached\n",
            self.batch_size, self.main.figures.clips
        )?;
        writeln!(
            f,
            "{:<8} {:>8} {:>10} {:>10} {:>12} {:>9} {:>10}",
            "size", "step s", "clips/s", "audio s/s", "data wait %", "peak MB", "reference"
        )?;
        for Measured {
            size,
            figures,
            ratio_to_reference,
        } in &self.sizes
        {
            let or_dash = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
            writeln!(
                f,
                "{size:<8} {:>8.3} {:>10.2} {:>10.1} {:>12.2} {:>9} {:>10}",
                figures.step_s,
                figures.samples_per_s,
                figures.audio_per_s,
                figures.data_wait_pct,
                or_dash(
                    figures
                        .peak_rss_bytes
                        .map(|bytes| (bytes / 1_000_000).to_string())
                ),
                or_dash(ratio_to_reference.map(|ratio| format!("{ratio:.2}x"))),
            )?;
        }
        for Measured { size, figures, .. } in &self.sizes {
            write!(f, "\n{size}: {}", figures.ledger)?;
        }
        Ok(())
    }
}
