//! `myxtts bench train`

use std::path::PathBuf;

use clap::ArgMatches;
use myxtts::internal::train_request;
use myxtts::prepare;
use myxtts_bench::train::{PEER, PeerTraining, TrainReport, measure};
use myxtts_device::plan;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::session::TrainRequest;

use super::print;
use crate::config::{self, Given, GivenFlag};
use crate::output::{Failure, Output};

const DEFAULT: [&str; 2] = ["tiny", "small"];

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let number = |name| matches.get_one::<u32>(name).copied().unwrap_or(1);
    let (steps, batch_size) = (number("steps"), number("batch-size"));
    let peer = matches.get_one::<PathBuf>("peer");
    let peer = peer.map(|path| PEER.read::<PeerTraining>(path)).transpose();
    let peer = peer.map_err(Failure::usage)?;
    let asked: Vec<String> = match matches.get_many::<String>("size") {
        Some(sizes) => sizes.cloned().collect(),
        None => DEFAULT.map(str::to_owned).to_vec(),
    };
    let mut sizes = vec![];
    for size in asked {
        output.log(format_args!("{size}: an epoch, then {steps} steps"));
        let (training, placement) = bench_training(&size, batch_size, output)?;
        let figures = measure(&training, &placement, u64::from(steps));
        sizes.push((size, figures.map_err(Failure::job)?));
    }
    let Some(report) = TrainReport::of(batch_size, sizes, peer.as_ref()) else {
        return Err(Failure::Usage("no size was given".into()));
    };
    print(report, output)
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
