//! A GPT whose blocks are frozen and learn through adapters.
//!
//! Of XTTS-v2's 440 million parameters some 20 million are then trained: gradients and moments are
//! a twentieth of what they were. The four projections of every block have an adapter. The
//! embedding and the head of text are trained as they are, because the tokens of a grown vocabulary
//! have rows that no adapter reaches. All the rest is frozen: norms, positions, the codes' embedding
//! and head, and what hears a voice.

use burn::module::Module;

use super::config::GptConfig;
use super::count::ParameterCount;
use super::{Gpt, TrainingMemory};
use crate::adapter::Adapter;
use crate::init::Init;
use crate::params::{Unread, unread};

impl Gpt {
    /// Freezes the model but for its text, and gives every projection of its blocks an adapter.
    #[must_use]
    pub fn with_adapters(self, init: &Init, rank: usize) -> Self {
        let mut gpt = self.no_grad();
        let Self {
            text_embedding,
            text_head,
            ..
        } = &mut gpt;
        text_embedding.weight = text_embedding.weight.clone().set_require_grad(true);
        text_head.weight = text_head.weight.clone().set_require_grad(true);
        text_head.bias = text_head
            .bias
            .take()
            .map(|bias| bias.set_require_grad(true));
        for block in &mut gpt.gpt.h {
            for (_, layer) in block.projections() {
                layer.adapter = Some(Adapter::new(init, layer.weight.dims(), rank));
            }
        }
        gpt
    }

    /// Whether the blocks learn through adapters.
    pub fn has_adapters(&self) -> bool {
        let mut blocks = self.gpt.h.iter();
        blocks.any(|block| block.attn.has_adapter())
    }

    /// Returns the model that the adapters made of it, which has none.
    #[must_use]
    pub fn merged(mut self) -> Self {
        for block in &mut self.gpt.h {
            for (_, layer) in block.projections() {
                if let Some(adapter) = layer.adapter.take() {
                    let weight = layer.weight.clone();
                    layer.weight = weight.map(|weight_io| adapter.merged_with(weight_io));
                }
            }
        }
        self
    }

    /// Lists the parameters of the [`merged`](Self::merged) model, unread. A weight is merged when
    /// it is read, so that one at a time is in memory twice.
    pub fn merged_unread(&self) -> Vec<Unread> {
        let mut plain = self.valid();
        let mut merged = vec![];
        for (index, block) in plain.gpt.h.iter_mut().enumerate() {
            for (name, layer) in block.projections() {
                if let Some(adapter) = layer.adapter.take() {
                    let weight_io = layer.weight.val();
                    let read = move || {
                        let merged_io = adapter.merged_with(weight_io.clone());
                        merged_io.try_into_data().map_err(|why| why.to_string())
                    };
                    let name = format!("gpt.h.{index}.{name}.weight");
                    merged.push(Unread::with(name, layer.weight.shape().to_vec(), read));
                }
            }
        }
        let in_place = |tensor: Unread| {
            let found = merged.iter().position(|own| own.name() == tensor.name());
            found.map_or(tensor, |index| merged.swap_remove(index))
        };
        unread(&plain).into_iter().map(in_place).collect()
    }
}

impl ParameterCount {
    /// Counts the parameters of adapters of a rank.
    pub fn adapters(config: &GptConfig, rank: usize) -> usize {
        // Inputs and outputs of the four projections: 1 + 3, 1 + 1, 1 + 4, 4 + 1.
        config.layers * rank * 16 * config.channels
    }
}

impl TrainingMemory {
    /// Changes the estimate to that of a training with adapters of a rank, which keeps as much of a
    /// forward pass: an adapter needs the inputs that its layer would have needed.
    #[must_use]
    pub fn with_adapters(self, config: &GptConfig, rank: usize) -> Self {
        let count = ParameterCount::of(config);
        let adapters = ParameterCount::adapters(config, rank);
        let trained = (adapters + count.text_embedding + count.text_head) as u64;
        let bytes = size_of::<f32>() as u64;
        Self {
            parameters: self.parameters + adapters as u64 * bytes,
            gradients: trained * bytes,
            moments: 2 * trained * bytes,
            ..self
        }
    }
}
