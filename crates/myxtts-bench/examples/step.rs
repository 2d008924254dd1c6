//! One training step for every line on standard input, its figures as a line of JSON.
//!
//! `benchmarks/step_vs_pytorch` takes turns between this and the same step in PyTorch.

use std::io::{BufRead, Write};

use burn::tensor::Device;
use myxtts_bench::step::CASES;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1);
    let case = CASES.iter().find(|case| Some(case.name) == name.as_deref());
    let case = case.ok_or("name a case of `myxtts_bench::step::CASES`")?;
    let mut training = case.bench().start(&Device::flex());
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        line?;
        let (next, figures) = training.step()?;
        training = next;
        writeln!(output, "{}", serde_json::to_string(&figures)?)?;
        output.flush()?;
    }
    Ok(())
}
