//! One training step for every line on standard input, its figures as a line of JSON.
//!
//! `benchmarks/step_vs_pytorch` takes turns between this and the same step in PyTorch.

use std::io::{BufRead, Write};

use burn::tensor::Device;
use myxtts_model::ModelSize;
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{GptConfig, Vocabulary};
use myxtts_train::bench::StepBench;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args()
        .skip(1)
        .map(|word| word.parse())
        .collect::<Result<_, _>>()?;
    let [layers, channels, heads, batch] = numbers[..] else {
        return Err("give LAYERS CHANNELS HEADS BATCH".into());
    };
    // The public model's conditioning whatever the size, as the peer has it.
    let config = GptConfig {
        layers,
        channels,
        heads,
        encoder_blocks: 6,
        perceiver: PerceiverConfig::XTTS_V2,
        ..ModelSize::Small.gpt(Vocabulary::XTTS_V2)
    };
    let bench = StepBench {
        config,
        batch,
        text: 200,
        codes: 200,
        frames: 517,
    };
    let mut training = bench.start(&Device::flex());
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
