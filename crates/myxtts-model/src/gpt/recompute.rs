//! Gradients without a graph of the whole model.
//!
//! An ordinary backward pass keeps what every block computed until it comes back to the block. Here
//! only the input of each block is kept. Blocks are taken from the last to the first: each is run
//! once more, with a graph of its own, and that graph is walked at once. So the memory is that of
//! the inputs and of one block, for the time of one more forward pass.
//!
//! On the CPU the gradients are those of an ordinary pass to the last bit: dropout draws from a key
//! and not from a state, so a block that runs again drops the same.
//!
//! Suffixes: b batch, p all positions, d channels.

use burn::module::Module;
use burn::tensor::{Gradients, Tensor};

use super::transformer::{EPSILON, drop_embeddings};
use super::{Gpt, GptBatch, GptOutput, Quirks, StepDropout, TooLong};

impl Gpt {
    /// Computes the scores of a batch and the gradients of their loss, a block at a time.
    ///
    /// `loss` makes of the scores what is minimized, and returns beside it what the caller wants to
    /// keep. `collect` is given the gradients of one part of the model after the other; every
    /// parameter is in one part. The model is on an autodiff device, the batch is not.
    pub fn backward_by_blocks<R>(
        &self,
        batch: &GptBatch,
        quirks: Quirks,
        drop: Option<&StepDropout>,
        loss: impl FnOnce(GptOutput) -> (Tensor<1>, R),
        mut collect: impl FnMut(Gradients),
    ) -> Result<R, TooLong> {
        let (mut inputs, last_bpd) = self.block_inputs(batch, drop)?;
        let batch = batch.clone().autodiff();
        let sequences = self.sequences(&batch)?;
        let mask = sequences.mask.clone();

        let last_bpd = leaf(last_bpd);
        let hidden_bpd = self.gpt.ln_f.layer_norm(last_bpd.clone(), EPSILON);
        let (total, kept) = loss(self.score(hidden_bpd, sequences, &batch, quirks));
        let mut gradient_bpd = gradient_of(&last_bpd, total.backward(), &mut collect);

        for (layer, block) in self.gpt.h.iter().enumerate().rev() {
            let Some(input_bpd) = inputs.pop() else { break };
            let input_bpd = leaf(input_bpd);
            let output_bpd = block.forward(input_bpd.clone(), &mask, drop, layer, self.compute);
            let gradients = backward_from(output_bpd, gradient_bpd);
            gradient_bpd = gradient_of(&input_bpd, gradients, &mut collect);
        }
        let voice_bnd = self.condition(batch.conditioning_bcs.clone());
        let x_bpd = self.embed(voice_bnd, &self.sequences(&batch)?);
        collect(backward_from(drop_embeddings(x_bpd, drop), gradient_bpd));
        Ok(kept)
    }

    /// Runs a batch without a graph. Returns what each block reads, and the output of the last.
    fn block_inputs(
        &self,
        batch: &GptBatch,
        drop: Option<&StepDropout>,
    ) -> Result<(Vec<Tensor<3>>, Tensor<3>), TooLong> {
        let plain = self.valid();
        let sequences = plain.sequences(batch)?;
        let voice_bnd = plain.condition(batch.conditioning_bcs.clone());
        let mut x_bpd = drop_embeddings(plain.embed(voice_bnd, &sequences), drop);
        let mut inputs = Vec::with_capacity(plain.gpt.h.len());
        for (layer, block) in plain.gpt.h.iter().enumerate() {
            inputs.push(x_bpd.clone());
            x_bpd = block.forward(x_bpd, &sequences.mask, drop, layer, plain.compute);
        }
        Ok((inputs, x_bpd))
    }
}

/// Puts a tensor at the root of a graph of its own.
fn leaf(x_bpd: Tensor<3>) -> Tensor<3> {
    Tensor::from_inner(x_bpd).require_grad()
}

/// Walks the graph of an output whose gradient is known. The sum of their product has that gradient
/// and no other, and multiplying by the 1 that every walk begins with changes no bit.
fn backward_from(output_bpd: Tensor<3>, gradient_bpd: Tensor<3>) -> Gradients {
    (output_bpd * Tensor::from_inner(gradient_bpd))
        .sum()
        .backward()
}

/// Takes the gradient of an input out of those of a walk, and hands on the rest. An input that
/// nothing depends on has a gradient of 0.
fn gradient_of(
    input_bpd: &Tensor<3>,
    mut gradients: Gradients,
    collect: &mut impl FnMut(Gradients),
) -> Tensor<3> {
    let gradient_bpd = input_bpd.grad_remove(&mut gradients);
    collect(gradients);
    gradient_bpd.unwrap_or_else(|| input_bpd.clone().inner().zeros_like())
}
