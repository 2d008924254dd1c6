//! Trains on the CPU for two steps of each stage: `train DATASET RUN`. Prints every step, and at
//! last a sentence that the model can be asked to say.

use std::io::Write;
use std::sync::Arc;

use myxtts::{Given, Observer, Silent, StepMetrics, StopRequest};

/// Shows the loss of every step.
struct Losses;

impl Observer for Losses {
    fn step(&self, metrics: &StepMetrics<'_>) {
        let StepMetrics {
            step, stage, loss, ..
        } = metrics;
        let _ = writeln!(std::io::stdout(), "{stage} step {step}: loss {loss}");
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(dataset), Some(run)) = (arguments.next(), arguments.next()) else {
        return Err("name a dataset and a folder for the run".into());
    };
    let (machine, stop) = (myxtts::cpu(), StopRequest::install()?);
    let settings = Given::default()
        .with("data.train_data", dataset)
        .with("data.batch_size", 2)
        .with("training.max_steps", 2)
        .with("training.sample_count", 0)
        .with("training.checkpoint_dir", run)
        .load(&machine)?;
    let plan = myxtts::plan(&settings, &machine)?;
    let dataset = myxtts::prepare(&settings, &stop, &Silent)?;
    let finished = myxtts::train(&settings, &machine, &plan, dataset, &stop, Arc::new(Losses))?;
    let sentence = finished.sentence.unwrap_or_default();
    writeln!(std::io::stdout(), "{sentence}")?;
    Ok(())
}
