//! The generator on the CPU, with layers that process a stream.

use std::sync::Arc;

use burn::tensor::{Device, Tensor};
use myxtts_ops::inference::{Columns, Convolution, HostTensor, Transposed, Window};
use myxtts_ops::{each_on_compute_pool, on_compute_pool};

use super::super::generator::{Generator, LAST_SLOPE, ResBlock, SLOPE};
use super::WaveError;
use crate::layers::Conv1d;
use crate::weight_norm::NormedConv1d;

/// Frames that go through all layers together: their columns stay in a core's cache, and fill
/// whole tiles.
const FRAMES: usize = 24;

/// A convolution that keeps the length.
#[derive(Debug)]
struct Layer {
    convolution: Convolution,
    bias: Vec<f32>,
}

impl Layer {
    fn of(weight: Tensor<3>, bias: Option<Tensor<1>>, dilation: usize) -> Option<Self> {
        let shape = weight.dims();
        let bias = match bias {
            Some(bias) => HostTensor::of(bias)?.elements().to_vec(),
            None => vec![],
        };
        Some(Self {
            convolution: Convolution::new(HostTensor::of(weight)?.elements(), shape, dilation),
            bias,
        })
    }

    fn plain(conv: &Conv1d) -> Option<Self> {
        let bias = conv.bias.as_ref().map(|bias| bias.val());
        Self::of(conv.weight.val(), bias, conv.shape().dilation)
    }

    fn normed(conv: &NormedConv1d) -> Option<Self> {
        Self::of(conv.weight(), Some(conv.bias.val()), conv.shape().dilation)
    }

    /// Returns the number of zeros at each end.
    fn padding(&self) -> usize {
        self.convolution.reach() / 2
    }

    fn window(&self) -> Window {
        Window::new(self.convolution.inputs(), self.padding())
    }

    fn hear(&self, window: &mut Window, last: bool) -> Columns {
        self.hear_with(window, &self.bias, last)
    }

    /// Does the same, replacing what is in `out`.
    fn hear_into(&self, window: &mut Window, last: bool, out: &mut Columns) {
        if last {
            window.push_zeros(self.padding());
        }
        self.convolution.heard_into(window, &self.bias, out);
    }

    fn hear_with(&self, window: &mut Window, bias: &[f32], last: bool) -> Columns {
        if last {
            window.push_zeros(self.padding());
        }
        self.convolution.heard(window, bias)
    }
}

/// The generator's weights in the order in which they are read; clones share them.
#[derive(Clone, Debug)]
pub(super) struct HostGenerator(Arc<Layers>);

#[derive(Debug)]
struct Layers {
    first: Layer,
    stages: Vec<Stage>,
    last: Layer,
}

#[derive(Debug)]
struct Stage {
    up: Transposed,
    bias: Vec<f32>,
    inputs: usize,
    /// Columns of the whole transposed convolution that come before the first and after the last
    /// one kept.
    around: [usize; 2],
    blocks: Vec<Vec<[Layer; 2]>>,
}

impl HostGenerator {
    /// Takes the weights of a generator; `None` on devices other than the CPU.
    pub(super) fn of(generator: &Generator) -> Option<Self> {
        let per_stage = generator.resblocks.len() / generator.ups.len().max(1);
        let blocks = generator.resblocks.chunks(per_stage.max(1));
        let stages = generator.ups.iter().zip(blocks).map(|(up, blocks)| {
            let weight = up.weight();
            let shape = weight.dims();
            let raised = Transposed::new(HostTensor::of(weight)?.elements(), shape, up.stride());
            let spread = raised.reach() * up.stride();
            Some(Stage {
                bias: HostTensor::of(up.bias.val())?.elements().to_vec(),
                inputs: shape[0],
                around: [up.padding(), spread.saturating_sub(up.padding())],
                up: raised,
                blocks: blocks.iter().map(block).collect::<Option<_>>()?,
            })
        });
        Some(Self(Arc::new(Layers {
            first: Layer::plain(&generator.conv_pre)?,
            stages: stages.collect::<Option<_>>()?,
            last: Layer::plain(&generator.conv_post)?,
        })))
    }

    /// Returns the biases with a speaker in them, before the stages and at each: a speaker does
    /// not change over time, so it is part of the biases.
    pub(super) fn voice(
        &self,
        generator: &Generator,
        speaker_1c1: Tensor<3>,
    ) -> Result<Vec<Vec<f32>>, WaveError> {
        let added = |conv: &Conv1d, bias: &[f32]| {
            let added = conv.forward(speaker_1c1.clone()).try_into_vec_as::<f32>();
            let added = added.map_err(|why| WaveError(why.to_string()))?;
            Ok(bias.iter().zip(added).map(|(a, b)| a + b).collect())
        };
        let mut biases = vec![added(&generator.cond_layer, &self.0.first.bias)?];
        for (stage, layer) in self.0.stages.iter().enumerate() {
            biases.push(match generator.conds.get(stage) {
                Some(cond) => added(cond, &layer.bias)?,
                None => layer.bias.clone(),
            });
        }
        Ok(biases)
    }
}

fn block(block: &ResBlock) -> Option<Vec<[Layer; 2]>> {
    let pairs = block.convs1.iter().zip(&block.convs2);
    pairs
        .map(|(first, second)| Some([Layer::normed(first)?, Layer::normed(second)?]))
        .collect()
}

/// A waveform in progress.
#[derive(Debug)]
pub(super) struct HostStream {
    generator: HostGenerator,
    /// The biases with the speaker in them, before the stages and at each.
    voice: Vec<Vec<f32>>,
    first: Window,
    stages: Vec<StageStream>,
    last: Window,
}

#[derive(Debug)]
struct StageStream {
    up: Window,
    /// Samples of the padding that are still to be skipped.
    skip: usize,
    blocks: Vec<BlockStream>,
}

#[derive(Debug)]
struct BlockStream {
    pairs: Vec<PairStream>,
    /// What the other blocks of the stage are not yet ready for.
    ready: Window,
    /// What lies between the two convolutions of a pair. `outer` is what comes out of one pair
    /// and of the next. They are few, so that they stay in a core's cache.
    inner: Columns,
    outer: [Columns; 2],
}

#[derive(Debug)]
struct PairStream {
    first: Window,
    second: Window,
    /// The input, which is added to the output.
    input: Window,
}

impl HostStream {
    pub(super) fn new(generator: HostGenerator, voice: Vec<Vec<f32>>) -> Self {
        let layers = &generator.0;
        let stages = layers.stages.iter().map(StageStream::new).collect();
        Self {
            first: layers.first.window(),
            stages,
            last: layers.last.window(),
            voice,
            generator,
        }
    }

    /// Takes frames, one after the other, and returns the samples that are certain.
    pub(super) fn push(&mut self, frames: &[f32], last: bool) -> Vec<f32> {
        let channels = self.generator.0.first.convolution.inputs();
        on_compute_pool(&Device::flex(), || {
            let mut samples = vec![];
            for piece in frames.chunks(FRAMES * channels) {
                samples.extend(self.piece(&by_channel(piece, channels), false));
            }
            if last {
                samples.extend(self.piece(&Columns::zeros(channels, 0), true));
            }
            samples
        })
    }

    fn piece(&mut self, frames: &Columns, last: bool) -> Vec<f32> {
        let layers = self.generator.0.clone();
        self.first.push(frames, |x| x);
        let mut x = layers
            .first
            .hear_with(&mut self.first, &self.voice[0], last);
        let stages = layers.stages.iter().zip(&mut self.stages);
        for ((stage, stream), bias) in stages.zip(&self.voice[1..]) {
            x = stream.push(stage, bias, &x, last);
        }
        self.last.push(&x, leaky(LAST_SLOPE));
        let mut samples = layers.last.hear(&mut self.last, last).data;
        for sample in &mut samples {
            *sample = sample.tanh();
        }
        samples
    }
}

impl StageStream {
    fn new(stage: &Stage) -> Self {
        let block = |pairs: &Vec<[Layer; 2]>| {
            let channels = pairs
                .first()
                .map_or(0, |[first, _]| first.convolution.inputs());
            BlockStream {
                pairs: pairs.iter().map(PairStream::new).collect(),
                ready: Window::new(channels, 0),
                inner: Columns::zeros(channels, 0),
                outer: [Columns::zeros(channels, 0), Columns::zeros(channels, 0)],
            }
        };
        Self {
            up: Window::new(stage.inputs, stage.up.reach()),
            skip: stage.around[0],
            blocks: stage.blocks.iter().map(block).collect(),
        }
    }

    fn push(&mut self, stage: &Stage, bias: &[f32], x: &Columns, last: bool) -> Columns {
        self.up.push(x, leaky(SLOPE));
        if last {
            self.up.push_zeros(stage.up.reach());
        }
        let mut raised = stage.up.heard(&mut self.up, bias);
        let skip = self.skip.min(raised.width());
        self.skip -= skip;
        let behind = if last { stage.around[1] } else { 0 };
        let kept = raised.width().saturating_sub(skip + behind);
        if kept < raised.width() {
            let mut whole = Window::new(raised.channels, 0);
            whole.push(&raised, |x| x);
            whole.take(skip);
            raised = whole.take(kept);
        }
        let blocks = self.blocks.iter_mut().zip(&stage.blocks).collect();
        each_on_compute_pool(blocks, |(block, pairs)| block.push(pairs, &raised, last));
        Window::take_mean(self.blocks.iter_mut().map(|block| &mut block.ready))
    }
}

impl BlockStream {
    fn push(&mut self, pairs: &[[Layer; 2]], x: &Columns, last: bool) {
        let [mut from, mut to] = self.outer.each_mut();
        for (index, (stream, layers)) in self.pairs.iter_mut().zip(pairs).enumerate() {
            let x = if index == 0 { x } else { &*from };
            stream.push(layers, x, last, &mut self.inner, to);
            std::mem::swap(&mut from, &mut to);
        }
        let out = if pairs.is_empty() { x } else { &*from };
        self.ready.push(out, |x| x);
    }
}

impl PairStream {
    fn new([first, second]: &[Layer; 2]) -> Self {
        Self {
            first: first.window(),
            second: second.window(),
            input: Window::new(first.convolution.inputs(), 0),
        }
    }

    fn push(
        &mut self,
        [first, second]: &[Layer; 2],
        x: &Columns,
        last: bool,
        inner: &mut Columns,
        outer: &mut Columns,
    ) {
        self.first.push(x, leaky(SLOPE));
        self.input.push(x, |x| x);
        first.hear_into(&mut self.first, last, inner);
        self.second.push(inner, leaky(SLOPE));
        second.hear_into(&mut self.second, last, outer);
        self.input.take_into(outer);
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a constant")]
fn leaky(slope: f64) -> impl Fn(f32) -> f32 {
    let slope = slope as f32;
    move |x| if x < 0.0 { slope * x } else { x }
}

/// Transposes frames from one after the other to one channel after the other.
fn by_channel(frames: &[f32], channels: usize) -> Columns {
    let width = frames.len() / channels.max(1);
    let mut columns = Columns::zeros(channels, width);
    for (at, frame) in frames.chunks_exact(channels.max(1)).enumerate() {
        for (channel, &x) in frame.iter().enumerate() {
            columns.data[channel * width + at] = x;
        }
    }
    columns
}
