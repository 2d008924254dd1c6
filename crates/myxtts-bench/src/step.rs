//! How long a training step of the GPT takes.

use std::collections::BTreeMap;
use std::fmt;
use std::mem;

use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_base::process::{forget_peak, peak_memory};
use myxtts_model::ModelSize;
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{
    Gpt, GptBatch, GptConfig, ParameterCount, Quirks, StepDropout, TooLong, Vocabulary,
};
use myxtts_model::init::Init;
use myxtts_train::optim::{AdamW, AdamWConfig, NamedGradients};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::frame::{PeerScript, median};

/// A training step to measure: the model and the shape of its batch.
#[derive(Clone, Debug)]
pub struct StepBench {
    /// The sizes of the GPT that is trained.
    pub config: GptConfig,
    /// Clips in a batch.
    pub batch: usize,
    /// Text tokens of a clip.
    pub text: usize,
    /// Codes of a clip.
    pub codes: usize,
    /// Frames of the conditioning mel.
    pub frames: usize,
}

/// A size that is measured, the same in `benchmarks/gpt_step.py`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Case {
    /// The name that records use for this size.
    pub name: &'static str,
    /// Transformer blocks of the GPT.
    pub layers: usize,
    /// Channels of a position.
    pub channels: usize,
    /// Heads of a block.
    pub heads: usize,
    /// Clips in a batch.
    pub batch: usize,
}

/// The sizes of the baseline; the first is the one that is quoted.
pub const CASES: [Case; 3] = [
    Case {
        name: "8 x 512, batch 4",
        layers: 8,
        channels: 512,
        heads: 8,
        batch: 4,
    },
    Case {
        name: "8 x 512, batch 1",
        layers: 8,
        channels: 512,
        heads: 8,
        batch: 1,
    },
    Case {
        name: "2 x 64, batch 4",
        layers: 2,
        channels: 64,
        heads: 4,
        batch: 4,
    },
];

impl Case {
    /// Returns the bench of this size. The conditioning encoder is the public model's whatever
    /// the size, as in the Python peer.
    pub fn bench(&self) -> StepBench {
        let config = GptConfig {
            layers: self.layers,
            channels: self.channels,
            heads: self.heads,
            encoder_blocks: 6,
            perceiver: PerceiverConfig::XTTS_V2,
            ..ModelSize::Small.gpt(Vocabulary::XTTS_V2)
        };
        StepBench {
            config,
            batch: self.batch,
            text: 200,
            codes: 200,
            frames: 517,
        }
    }

    /// Counts the parameters of the model.
    pub(crate) fn parameters(&self) -> usize {
        ParameterCount::of(&self.bench().config).total()
    }
}

/// Steps that are not measured: they allocate the moments and warm the caches.
const WARM_UP: usize = 2;

/// What `benchmarks/step_vs_pytorch --record` writes about PyTorch.
pub const PEER: PeerScript = PeerScript {
    peer: "the peer",
    command: "benchmarks/step_vs_pytorch --record FILE",
};

/// The steps of the peer, by the name of the case.
pub type PeerSteps = BTreeMap<String, PeerStep>;

/// One case of the peer.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct PeerStep {
    /// The whole step, in seconds.
    pub step_s: f64,
}

/// What was measured of every case.
#[derive(Clone, Debug, Serialize)]
pub struct StepReport {
    steps: usize,
    /// The first case, by the names people script against.
    #[serde(flatten)]
    main: MeasuredCase,
    cases: Vec<MeasuredCase>,
}

#[derive(Clone, Debug, Serialize)]
struct MeasuredCase {
    case: &'static str,
    parameters: usize,
    #[serde(flatten)]
    figures: StepFigures,
    /// Our step over the peer's; absent without its record.
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio_to_pytorch: Option<f64>,
}

/// Measures every case on the CPU, with `steps` steps each; `begins` is given each case first.
pub fn measure(
    steps: usize,
    peer: &PeerSteps,
    begins: impl Fn(&Case),
) -> Result<StepReport, TooLong> {
    let measured = |case: &Case| {
        begins(case);
        let figures = median_step(&case.bench(), &Device::flex(), steps)?;
        Ok::<_, TooLong>(MeasuredCase {
            case: case.name,
            parameters: case.parameters(),
            figures,
            ratio_to_pytorch: peer.get(case.name).map(|peer| figures.step_s / peer.step_s),
        })
    };
    let [main, others @ ..] = &CASES;
    let main = measured(main)?;
    let mut cases = vec![main.clone()];
    for case in others {
        cases.push(measured(case)?);
    }
    Ok(StepReport { steps, main, cases })
}

/// Returns medians over `steps` steps, taken after the warm-up.
fn median_step(bench: &StepBench, device: &Device, steps: usize) -> Result<StepFigures, TooLong> {
    forget_peak();
    let mut training = bench.start(device);
    let mut all = Vec::with_capacity(steps);
    for number in 0..WARM_UP + steps.max(1) {
        let (next, figures) = training.step()?;
        training = next;
        if number >= WARM_UP {
            all.push(figures);
        }
    }
    let median = |part: fn(&StepFigures) -> f64| median(all.iter().map(part).collect());
    let last = all.last();
    Ok(StepFigures {
        step_s: median(|f| f.step_s),
        forward_s: median(|f| f.forward_s),
        backward_s: median(|f| f.backward_s),
        optimizer_s: median(|f| f.optimizer_s),
        cpu_s: last
            .and_then(|figures| figures.cpu_s)
            .map(|_| median(|f| f.cpu_s.unwrap_or_default())),
        peak_bytes: last.and_then(|figures| figures.peak_bytes),
        loss: last.map_or(0.0, |figures| figures.loss),
    })
}

/// What one step took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepFigures {
    /// The whole step, in seconds.
    pub step_s: f64,
    /// From the batch to the losses, in seconds.
    pub forward_s: f64,
    /// From the loss to the gradients, in seconds.
    pub backward_s: f64,
    /// From the gradients to the new parameters, in seconds.
    pub optimizer_s: f64,
    /// Processor time of all threads, in seconds; absent where the system does not report it.
    pub cpu_s: Option<f64>,
    /// The most memory the process has held since the case began; absent where the system does
    /// not report it.
    pub peak_bytes: Option<u64>,
    /// The loss. Two runs whose losses differ did not compute the same thing.
    pub loss: f64,
}

/// A model in training on a made-up batch.
#[derive(Debug)]
pub struct Training {
    gpt: Gpt,
    optimizer: AdamW,
    batch: GptBatch,
    dropout: f64,
    steps: u64,
}

impl StepBench {
    /// Makes a new model on `device`, with a batch to train on.
    pub fn start(&self, device: &Device) -> Training {
        let device = device.clone().autodiff();
        Training {
            gpt: Gpt::new(&Init::new(0, &device), &self.config),
            optimizer: AdamW::new(AdamWConfig::default()),
            batch: self.batch(&device),
            dropout: self.config.dropout,
            steps: 0,
        }
    }

    fn batch(&self, device: &Device) -> GptBatch {
        let rows = self.batch;
        let ids = |length: usize, ids: i64| -> Tensor<2, Int> {
            let ids: Vec<i64> = (0..(rows * length) as i64)
                .map(|i| 2 + i * 37 % ids)
                .collect();
            Tensor::from_data(TensorData::new(ids, [rows, length]), device)
        };
        let lengths = |length: usize| Tensor::<1, Int>::full([rows], length as i64, device);
        let bands = self.config.mel_bands;
        let mel: Vec<f32> = (0_u16..=u16::MAX)
            .cycle()
            .take(rows * bands * self.frames)
            .map(|i| (f32::from(i) * 0.7).sin())
            .collect();
        GptBatch {
            text_bt: ids(self.text, 250),
            text_lengths_b: lengths(self.text),
            codes_bm: ids(self.codes, 1000),
            code_lengths_b: lengths(self.codes),
            conditioning_bcs: Tensor::from_data(
                TensorData::new(mel, [rows, bands, self.frames]),
                device,
            ),
            prompts_b2: None,
        }
    }
}

impl Training {
    /// Takes one step: forward, backward and AdamW, with dropout.
    pub fn step(mut self) -> Result<(Self, StepFigures), TooLong> {
        let clock = Clock::of_process();
        self.steps += 1;
        let drop = StepDropout::new(self.dropout, self.steps);
        let output = self
            .gpt
            .forward(&self.batch, Quirks::default(), Some(&drop))?;
        let loss = output.losses(0.0).total(0.01, 1.0);
        // Once nobody else holds the logits, their memory can be reused for their gradients.
        mem::drop(output);
        let value = loss.clone().into_data().iter::<f64>().sum();
        let forward = clock.wall();
        let gradients = NamedGradients::collect(&self.gpt, loss.backward());
        let backward = clock.wall();
        self.gpt = self.optimizer.step(self.gpt, gradients, 1e-4);
        let all = clock.elapsed();
        let figures = StepFigures {
            step_s: all.wall.as_secs_f64(),
            forward_s: forward.as_secs_f64(),
            backward_s: (backward - forward).as_secs_f64(),
            optimizer_s: (all.wall - backward).as_secs_f64(),
            cpu_s: all.cpu.map(|cpu| cpu.as_secs_f64()),
            peak_bytes: peak_memory(),
            loss: value,
        };
        Ok((self, figures))
    }
}

impl fmt::Display for StepReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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
