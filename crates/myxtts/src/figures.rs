//! What a model of a given size needs, before anything is allocated.

use std::fmt;

use myxtts_audio::MelSpec;
use myxtts_device::{Precision, Savings};
use myxtts_model::ModelSize;
use myxtts_model::gpt::{BatchShape, Kernels, ParameterCount, TrainingMemory};
use myxtts_train::demand::moment_bytes;
use serde::Serialize;

use crate::settings::{Config, Sizes};

const MIB: f64 = 1024.0 * 1024.0;

/// The parameters and memory of one training.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ModelFigures {
    /// The named size, or the nearest one.
    size: ModelSize,
    has_name: bool,
    gpt_parameters: usize,
    dvae_parameters: usize,
    precision: Precision,
    /// The size of the vocabulary that the counts are for.
    text_tokens: usize,
    /// The memory of weights, gradients and both moments, in bytes.
    weights_and_optimiser: u64,
    /// The memory for one sample of each shape, shortest first.
    per_sample: Vec<SampleMemory>,
}

/// What one sample of a shape keeps for the backward pass.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct SampleMemory {
    text: usize,
    codes: usize,
    bytes: u64,
}

impl ModelFigures {
    /// Computes the figures for the sizes and the longest lengths of a configuration.
    pub(crate) fn of(
        config: &Config,
        sizes: &Sizes,
        precision: Precision,
        savings: Savings,
        on_cpu: bool,
    ) -> Self {
        let size = config.model.size;
        let Sizes { gpt, dvae } = sizes;
        let kernels = Kernels {
            own: on_cpu,
            half: precision != Precision::F32,
            recompute: savings.recompute,
        };
        let shapes = &config.data.shapes;
        let conditioning = shapes.conditioning(config.data.audio.sample_rate);
        let frames = MelSpec::CONDITIONING.frames(conditioning.max).0;
        let longest_text = shapes.max_text_length as usize;
        let longest_codes = (shapes.max_mel_frames as usize).div_ceil(dvae.stride());
        let parts = (shapes.buckets as usize).clamp(1, 4);
        let memory = |part: usize| {
            let shape = BatchShape {
                text: (longest_text * part).div_ceil(parts),
                codes: (longest_codes * part).div_ceil(parts),
                frames,
            };
            let memory = TrainingMemory::of(gpt, shape, 1, kernels);
            let memory = match savings.adapters {
                0 => memory,
                rank => memory.with_adapters(gpt, rank as usize),
            };
            (shape, memory)
        };
        let (_, longest) = memory(parts);
        let dvae = dvae.parameters();
        Self {
            size,
            has_name: ModelSize::of(gpt.layers, gpt.channels, gpt.heads) == Some(size),
            gpt_parameters: ParameterCount::of(gpt).total(),
            dvae_parameters: dvae.encoder + dvae.decoder,
            precision,
            text_tokens: gpt.vocabulary.text_tokens,
            weights_and_optimiser: longest.parameters
                + longest.gradients
                + moment_bytes(savings.moments, longest.gradients),
            per_sample: (1..=parts)
                .map(memory)
                .map(|(shape, memory)| SampleMemory {
                    text: shape.text,
                    codes: shape.codes,
                    bytes: memory.activations,
                })
                .collect(),
        }
    }
}

impl fmt::Display for ModelFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let megabytes = |bytes: u64| bytes as f64 / MIB;
        writeln!(
            f,
            "Model {}: {} parameters in the GPT ({} text tokens), {} in the DVAE",
            match self.has_name {
                true => self.size.name().to_owned(),
                false => format!("of a custom size, near {}", self.size.name()),
            },
            grouped(self.gpt_parameters),
            grouped(self.text_tokens),
            grouped(self.dvae_parameters)
        )?;
        writeln!(
            f,
            "  training in {}: {:.0} MB for weights, gradients and the optimizer, and for each sample",
            self.precision.name(),
            megabytes(self.weights_and_optimiser)
        )?;
        for sample in &self.per_sample {
            writeln!(
                f,
                "    {:>5.0} MB at {} text tokens and {} codes",
                megabytes(sample.bytes),
                sample.text,
                sample.codes
            )?;
        }
        Ok(())
    }
}

/// Formats a number with commas: `441,018,563`.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
