//! How long a training step of the GPT takes.

use std::time::Instant;

use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_model::gpt::{Gpt, GptBatch, GptConfig, Quirks, StepDropout, TooLong};
use myxtts_model::init::Init;
use serde::Serialize;

use crate::optim::{AdamW, AdamWConfig, NamedGradients};

/// What is measured.
#[derive(Clone, Debug)]
pub struct StepBench {
    /// The model.
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

/// What one step took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepFigures {
    /// All of it, in seconds.
    pub step_s: f64,
    /// From the batch to the losses.
    pub forward_s: f64,
    /// From the loss to the gradients.
    pub backward_s: f64,
    /// From the gradients to the new parameters.
    pub optimizer_s: f64,
    /// Processor time of all threads; absent where the system does not say.
    pub cpu_s: Option<f64>,
    /// Most memory the process has had; absent where the system does not say.
    pub peak_bytes: Option<u64>,
    /// The loss: two runs that differ here did not compute the same.
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
    /// A new model on `device`.
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
    /// One step: forward, backward, AdamW, with dropout.
    pub fn step(mut self) -> Result<(Self, StepFigures), TooLong> {
        let cpu = cpu_seconds();
        let start = Instant::now();
        self.steps += 1;
        let drop = StepDropout::new(self.dropout, self.steps);
        let output = self
            .gpt
            .forward(&self.batch, Quirks::default(), Some(&drop))?;
        let loss = output.losses(0.0).total(0.01, 1.0);
        drop_now(output);
        let value = loss.clone().into_data().iter::<f64>().sum();
        let forward = start.elapsed();
        let gradients = NamedGradients::collect(&self.gpt, loss.backward());
        let backward = start.elapsed();
        self.gpt = self.optimizer.step(self.gpt, gradients, 1e-4);
        let all = start.elapsed();
        let figures = StepFigures {
            step_s: all.as_secs_f64(),
            forward_s: forward.as_secs_f64(),
            backward_s: (backward - forward).as_secs_f64(),
            optimizer_s: (all - backward).as_secs_f64(),
            cpu_s: cpu.zip(cpu_seconds()).map(|(before, after)| after - before),
            peak_bytes: peak_bytes(),
            loss: value,
        };
        Ok((self, figures))
    }
}

/// Logits that nobody holds become their own gradients.
fn drop_now<T>(_: T) {}

/// User and system time of this process.
fn cpu_seconds() -> Option<f64> {
    let line = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name, in parentheses, may hold anything; 11 and 12 fields follow it.
    let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = fields.get(11)?.parse::<f64>().ok()? + fields.get(12)?.parse::<f64>().ok()?;
    Some(ticks / 100.0)
}

fn peak_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes * 1024)
}
