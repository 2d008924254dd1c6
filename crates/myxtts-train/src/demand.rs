//! What a training asks of the memory of its devices: a pure function of sizes.
//!
//! The plan asks before any clip is known. Then a batch of every length that
//! the configuration allows may come, and none of them needs more than
//! `batch_size` rows of the longest: [`Demand::rows_within`] is the bound that
//! the schedule keeps. A training asks again with the shapes it really has.

use myxtts_audio::MelSpec;
use myxtts_data::schedule::{BucketShape, ClipLength, ConditioningSpec, Schedule, choose_buckets};
use myxtts_data::units::{Codes, Tokens};
use myxtts_device::{
    ClipsPerStep, LongestShape, MemoryNeeds, MomentBits, Precision, Share, Workload,
};
use myxtts_model::dvae::DvaeConfig;
use myxtts_model::gpt::{
    BatchShape, GptConfig, Kernels, ParameterCount, TrainingMemory, rows_within,
};
use myxtts_model::hifigan::HifiganConfig;
use myxtts_ops::Packed;

use crate::config::StageName;
use crate::feed::{LargestBatch, Shapes, device_bytes};
use crate::objective::is_divided;
use crate::session::MOST_VALIDATED;

/// Bytes of an f32.
const F32: u64 = 4;
/// What a convolution keeps for each number it puts out: its input, its output and the output of
/// the activation.
const CONVOLUTION: u64 = 3;
/// The program on the host: its code, its threads, a dataset's index.
const PROGRAM: u64 = 200 << 20;
/// What an allocator or the engine's pools hold beyond what is asked of them, in percent. It is
/// low because activations and gradients are added up here, although the backward pass frees the
/// one as it makes the other.
const WASTE: u64 = 5;
/// Lengths that the plan tries between zero and the longest.
const PARTS: u32 = 4;

/// What is trained, and how long its clips may be.
#[derive(Clone, Debug)]
pub struct Demand {
    /// The sizes of the GPT.
    pub gpt: GptConfig,
    /// The sizes of the DVAE.
    pub dvae: DvaeConfig,
    /// The sizes of the waveform decoder.
    pub decoder: HifiganConfig,
    /// The stages to be trained.
    pub stages: Vec<StageName>,
    /// The longest text and the longest audio that a batch may hold.
    pub longest: BucketShape,
    /// The shortest and longest conditioning segment.
    pub conditioning: ConditioningSpec,
    /// Frames of a DVAE segment, and segments in a batch.
    pub segments: [usize; 2],
    /// Frames of a decoder segment.
    pub decoder_frames: usize,
    /// Whether a moving average of the weights is kept, on the host.
    pub has_average: bool,
    /// Whether the training starts from weights that are loaded, which stay on the host.
    pub has_start: bool,
    /// The clips, once the dataset is known.
    pub clips: Option<Clips>,
}

/// The lengths of the clips, and how they are divided into batches.
#[derive(Clone, Debug)]
pub struct Clips {
    /// The length of every clip that is trained on.
    pub lengths: Vec<ClipLength>,
    /// The number of bucket shapes.
    pub buckets: usize,
    /// The seed of the schedule.
    pub seed: u64,
}

/// Bucket shapes, each with the rows of its batches.
type Batches = Vec<(BucketShape, u32)>;

impl Demand {
    /// Returns the most rows of `shape` that need no more memory than `batch_size` rows of the
    /// longest.
    pub(crate) fn rows_within(&self, batch_size: u32, shape: BucketShape) -> u32 {
        let rows = rows_within(
            &self.gpt,
            self.sample(self.longest),
            batch_size as usize,
            self.sample(shape),
        );
        u32::try_from(rows).unwrap_or(u32::MAX)
    }

    /// Returns what a device with this share of the work needs for batches of these shapes, in
    /// the stage that needs most.
    pub(crate) fn needs_for(&self, share: &Share, batches: &[(BucketShape, u32)]) -> MemoryNeeds {
        let stages = self.stages.iter();
        let needs = stages.map(|stage| self.stage(*stage, share, batches));
        needs.max_by_key(MemoryNeeds::total).unwrap_or_default()
    }

    fn sample(&self, shape: BucketShape) -> BatchShape {
        BatchShape {
            text: shape.text.0 as usize,
            codes: shape.audio.0 as usize,
            frames: self.conditioning_frames(),
        }
    }

    fn conditioning_frames(&self) -> usize {
        let padded = self.conditioning.max.max(self.conditioning.min);
        MelSpec::CONDITIONING.frames(padded).0
    }

    /// Lists every kind of batch that clips up to the longest can make.
    fn possible(&self, share: &Share) -> Batches {
        let codes = match share.mel_frames {
            Some(frames) => codes_of(frames, &self.dvae),
            None => self.longest.audio.0,
        };
        let longest = BucketShape {
            text: self.longest.text,
            audio: Codes(codes),
        };
        let within = Self {
            longest,
            ..self.clone()
        };
        let part = |whole: u32, part: u32| (whole * part).div_ceil(PARTS).max(1);
        let shapes = (0..=PARTS).flat_map(|text| {
            (0..=PARTS).map(move |audio| BucketShape {
                text: Tokens(part(longest.text.0, text)),
                audio: Codes(part(longest.audio.0, audio)),
            })
        });
        let rows = |shape: BucketShape| {
            let positions = u64::from(share.batch_size) * longest.cost() / shape.cost().max(1);
            let positions = u32::try_from(positions).unwrap_or(u32::MAX);
            positions
                .min(within.rows_within(share.batch_size, shape))
                .max(1)
        };
        shapes.map(|shape| (shape, rows(shape))).collect()
    }

    fn stage(
        &self,
        stage: StageName,
        share: &Share,
        batches: &[(BucketShape, u32)],
    ) -> MemoryNeeds {
        let mut needs = match stage {
            StageName::Dvae => self.dvae_stage(share),
            StageName::Gpt => self.gpt_stage(share, batches),
            StageName::Decoder => self.decoder_stage(share, batches),
        };
        let largest = LargestBatch::of_shapes(
            batches.iter().copied(),
            self.conditioning,
            &MelSpec::CONDITIONING,
        );
        needs.batches = largest.device * u64::from(share.ring);
        if share.is_host && share.prepares {
            let waiting = largest.host * u64::from(share.in_flight);
            needs.batches += waiting.min(share.host_ring.0 << 20);
        }
        needs.overhead = needs.total() * WASTE / 100;
        if share.is_host && share.prepares {
            needs.overhead += PROGRAM;
        }
        needs
    }

    fn gpt_stage(&self, share: &Share, batches: &[(BucketShape, u32)]) -> MemoryNeeds {
        let mut needs = MemoryNeeds::default();
        let weights = self.gpt_weights();
        if share.trains {
            let kernels = Kernels {
                own: share.is_host,
                half: share.precision != Precision::F32,
                recompute: share.savings.recompute,
            };
            let memory = |(shape, rows): &(BucketShape, u32)| {
                let sample = self.sample(*shape);
                let memory = TrainingMemory::of(&self.gpt, sample, *rows as usize, kernels);
                match share.savings.adapters {
                    0 => memory,
                    rank => memory.with_adapters(&self.gpt, rank as usize),
                }
            };
            let fullest = batches.iter().map(memory).max_by_key(|m| m.activations);
            let Some(fullest) = fullest else {
                return needs;
            };
            let most_rows = batches.iter().map(|(_, rows)| *rows as usize).max();
            let divided = share.is_host && is_divided(most_rows.unwrap_or(0));
            needs.weights = fullest.parameters;
            // Gradients that come block by block are added to the sum at once.
            let sets = match share.savings.recompute {
                true => 1 + u64::from(divided),
                false => sets(share, divided),
            };
            needs.gradients = fullest.gradients * sets;
            needs.moments = moment_bytes(share.savings.moments, fullest.gradients);
            needs.activations = fullest.activations;
        }
        if share.prepares {
            needs.data_work = self.data_work(share, batches);
        }
        needs.copies = self.copies(share, weights);
        if share.savings.adapters > 0 && share.trains && share.prepares {
            // Samples are spoken with merged weights between two steps, when nothing of a step is
            // there: no activations, no gradients, no rounded weights.
            let merged = ParameterCount::of(&self.gpt).transformer as u64 * F32;
            let rounded = needs.weights.saturating_sub(weights);
            let of_a_step = needs.activations + needs.gradients + rounded;
            needs.copies += merged.saturating_sub(of_a_step);
        }
        if share.is_host {
            // Two copies of the frozen DVAE: one for checkpoints, one for the next stage.
            needs.copies += 2 * self.dvae_weights();
        }
        needs
    }

    fn dvae_stage(&self, share: &Share) -> MemoryNeeds {
        let weights = self.dvae_weights();
        let mut needs = MemoryNeeds::default();
        if share.trains {
            let [frames, segments] = self.segments;
            let outputs: usize = self.dvae.outputs_per_frame().iter().sum();
            needs.weights = weights;
            needs.gradients = weights * sets(share, false);
            needs.moments = moment_bytes(share.savings.moments, weights);
            needs.activations = (frames * segments * outputs) as u64 * CONVOLUTION * F32;
        }
        needs.copies = self.copies(share, weights);
        needs
    }

    fn decoder_stage(&self, share: &Share, batches: &[(BucketShape, u32)]) -> MemoryNeeds {
        let discriminator = self.decoder.discriminator();
        let count = self.decoder.parameters() + discriminator.parameters();
        let weights = count as u64 * F32;
        let mut needs = MemoryNeeds::default();
        if share.trains {
            let frames = self.decoder_frames;
            let made = frames * self.decoder.outputs_per_frame();
            // Each discriminator hears both the recording and what was generated.
            let judged = 2 * discriminator.outputs(frames * self.decoder.hop());
            needs.weights = weights;
            needs.gradients = weights * sets(share, false);
            needs.moments = moment_bytes(share.savings.moments, weights);
            needs.activations =
                u64::from(share.batch_size) * (made + judged) as u64 * CONVOLUTION * F32;
        }
        if share.prepares {
            // The frozen GPT runs forward only, so one block is in memory at a time.
            let block = GptConfig {
                layers: 1,
                encoder_blocks: 1,
                ..self.gpt.clone()
            };
            let pass = |(shape, rows): &(BucketShape, u32)| {
                let kernels = Kernels {
                    own: share.is_host,
                    ..Kernels::GPU
                };
                let sample = self.sample(*shape);
                TrainingMemory::of(&block, sample, *rows as usize, kernels).activations
            };
            needs.data_work = self.data_work(share, batches)
                + self.gpt_weights()
                + batches.iter().map(pass).max().unwrap_or(0);
        }
        needs.copies = self.copies(share, weights);
        if share.is_host {
            needs.copies += self.gpt_weights();
        }
        needs
    }

    fn gpt_weights(&self) -> u64 {
        ParameterCount::of(&self.gpt).total() as u64 * F32
    }

    fn dvae_weights(&self) -> u64 {
        let parameters = self.dvae.parameters();
        (parameters.encoder + parameters.decoder + parameters.codebook) as u64 * F32
    }

    /// Bytes for the mels of the recordings and of the voices, and for the codes of the
    /// recordings.
    fn data_work(&self, share: &Share, batches: &[(BucketShape, u32)]) -> u64 {
        // The host has its own front end, which makes one mel after the other.
        let framed = |spec: &MelSpec| match share.is_host {
            true => spec.bands,
            false => 3 * spec.n_fft.0,
        };
        let [encoder, _] = self.dvae.outputs_per_frame();
        let (codes, conditioning) = (&MelSpec::DVAE, &MelSpec::CONDITIONING);
        let row = |shape: &BucketShape| {
            let frames = shape.audio.0 as usize * self.dvae.stride();
            let numbers = frames * (framed(codes) + 2 * encoder)
                + self.conditioning_frames() * framed(conditioning);
            numbers as u64
        };
        let largest = batches
            .iter()
            .map(|(shape, rows)| u64::from(*rows) * row(shape));
        self.dvae_weights() + largest.max().unwrap_or(0) * F32
    }

    fn copies(&self, share: &Share, weights: u64) -> u64 {
        // One copy for validation, one for the samples that another thread renders.
        let mut copies = match share.has_copies {
            true => 2,
            false => 0,
        };
        if share.is_host && share.trains {
            copies += u64::from(self.has_average) + u64::from(self.has_start);
        }
        if self.has_average && share.prepares && !share.has_copies {
            copies += 1;
        }
        let row = Shapes {
            rows: MOST_VALIDATED,
            text: self.longest.text.0 as usize,
            codes: self.longest.audio.0 as usize,
            frames: self.conditioning_frames(),
        };
        let validated = match share.prepares {
            true => device_bytes(row, MelSpec::CONDITIONING.bands),
            false => 0,
        };
        copies * weights + validated
    }
}

/// Returns the bytes of both moments of parameters with this many bytes.
pub fn moment_bytes(bits: MomentBits, parameters: u64) -> u64 {
    match bits {
        MomentBits::F32 => 2 * parameters,
        // A code for every number, and a scale for every block of them.
        MomentBits::Int8 => 2 * (parameters / F32 + parameters / Packed::BLOCK as u64),
    }
}

/// Counts the sets of gradients that are in memory at once: the sum so far beside those of the
/// next batch, and on the host those of two halves of a batch.
fn sets(share: &Share, divided: bool) -> u64 {
    1 + u64::from(share.accumulation > 1) + u64::from(divided)
}

/// Returns the number of codes of `mel_frames` mel frames.
pub fn codes_of(mel_frames: u32, dvae: &DvaeConfig) -> u32 {
    u32::try_from(dvae.codes_of(mel_frames as usize)).unwrap_or(u32::MAX)
}

impl Workload for Demand {
    fn needs(&self, share: &Share) -> MemoryNeeds {
        self.needs_for(share, &self.possible(share))
    }

    fn longest(&self) -> LongestShape {
        let stride = u32::try_from(self.dvae.stride()).unwrap_or(1);
        LongestShape {
            text: self.longest.text.0,
            codes: self.longest.audio.0,
            mel_frames: self.longest.audio.0 * stride,
        }
    }

    fn clips(&self, batch_size: u32, replicas: u32) -> Option<ClipsPerStep> {
        let clips = self.clips.as_ref()?;
        let shapes = choose_buckets(&clips.lengths, clips.buckets);
        let most = |shape| self.rows_within(batch_size, shape);
        let schedule = Schedule::within(
            &clips.lengths,
            &shapes,
            batch_size,
            replicas,
            clips.seed,
            most,
        );
        let (least, most, mean) = schedule.ok()?.clips_per_step()?;
        Some(ClipsPerStep { least, most, mean })
    }

    fn may_adapt(&self) -> bool {
        // A new DVAE makes other codes, so the GPT after it is a new one.
        let stages = &self.stages;
        self.has_start && stages.contains(&StageName::Gpt) && !stages.contains(&StageName::Dvae)
    }
}

#[cfg(test)]
mod tests {
    use myxtts_audio::units::Samples;
    use myxtts_device::{PlanRequest, Savings};
    use myxtts_model::ModelSize;
    use myxtts_model::gpt::Vocabulary;

    use super::*;

    fn demand_of(size: ModelSize, conditioning: usize) -> Demand {
        let gpt = size.gpt(Vocabulary::XTTS_V2);
        Demand {
            dvae: size.dvae(),
            decoder: size.decoder(gpt.channels, gpt.channels),
            gpt,
            stages: vec![StageName::Dvae, StageName::Gpt],
            longest: BucketShape {
                text: Tokens(200),
                audio: Codes(200),
            },
            conditioning: ConditioningSpec {
                min: Samples(conditioning),
                max: Samples(conditioning),
            },
            segments: [64, 16],
            decoder_frames: 35,
            has_average: false,
            has_start: false,
            clips: None,
        }
    }

    fn share() -> Share {
        Share {
            trains: true,
            prepares: true,
            has_copies: false,
            is_host: false,
            batch_size: 4,
            accumulation: 1,
            ring: 4,
            in_flight: 8,
            host_ring: PlanRequest::default().pipeline.data_gpu_memory,
            precision: Precision::F32,
            savings: Savings::NONE,
            mel_frames: None,
        }
    }

    fn lengths(texts: u32, audios: u32) -> Vec<ClipLength> {
        let length = |i: u32| ClipLength {
            text: Tokens(texts / 5 + i * 7 % texts),
            audio: Codes(audios / 5 + i * 7 % audios),
        };
        (0..400).map(length).collect()
    }

    fn shapes(demand: &Demand, lengths: &[ClipLength], batch_size: u32) -> [Batches; 2] {
        let shapes = choose_buckets(lengths, 8);
        let bound = |shape| demand.rows_within(batch_size, shape);
        let bounded = Schedule::within(lengths, &shapes, batch_size, 1, 0, bound).unwrap();
        let free = Schedule::new(lengths, &shapes, batch_size, 1, 0).unwrap();
        [free, bounded].map(|schedule| schedule.shapes().collect())
    }

    /// Batches of short clips needed more memory than the longest one, because
    /// their conditioning is as long as any: 7 rows of the public size.
    #[test]
    fn no_bucket_needs_more_than_the_longest_shape() {
        let demand = demand_of(ModelSize::XttsV2, 132_300);
        let [free, bounded] = shapes(&demand, &lengths(150, 150), 4);
        for is_host in [true, false] {
            let share = Share { is_host, ..share() };
            let planned = demand.needs(&share).activations;
            let of = |batches: &Batches| demand.needs_for(&share, batches).activations;
            assert!(of(&bounded) <= planned, "{bounded:?}");
            if !is_host {
                assert!(of(&free) > planned, "the bound has nothing to do: {free:?}");
            }
        }
        let rows = |batches: &Batches| batches.iter().map(|(_, rows)| *rows).max();
        assert!(rows(&bounded) < rows(&free));
    }

    /// Recorded losses and runs that were begun before depend on it.
    #[test]
    fn the_batches_of_the_default_training_are_what_they_were() {
        let demand = demand_of(ModelSize::Tiny, 22_050);
        let [free, bounded] = shapes(&demand, &lengths(60, 90), 16);
        assert_eq!(free, bounded);
    }

    #[test]
    fn every_part_of_the_work_is_counted() {
        let demand = demand_of(ModelSize::Small, 132_300);
        let of = |edit: &dyn Fn(&mut Share)| {
            let mut share = share();
            edit(&mut share);
            demand.needs(&share)
        };
        let plain = of(&|_| {});
        assert_eq!(of(&|s| s.accumulation = 2).gradients, 2 * plain.gradients);
        assert!(of(&|s| s.precision = Precision::Bf16).weights > plain.weights);
        assert!(of(&|s| s.has_copies = true).copies >= plain.copies + 2 * plain.weights);
        assert_eq!(of(&|s| s.prepares = false).data_work, 0);
        assert_eq!(of(&|s| s.trains = false).moments, 0);
        let large = demand_of(ModelSize::XttsV2, 132_300);
        let mut saving = share();
        saving.savings.recompute = true;
        let [kept, recomputed] = [share(), saving]
            .map(|share| large.needs_for(&share, &[(large.longest, 4)]).activations);
        assert!(recomputed < kept / 4, "{recomputed} of {kept}");
        let both = of(&|s| (s.savings.recompute, s.accumulation) = (true, 2));
        assert_eq!(both.gradients, plain.gradients);
        let packed = of(&|s| s.savings.moments = MomentBits::Int8);
        assert!(packed.moments < plain.moments * 26 / 100);
        let on_host = of(&|s| s.is_host = true);
        assert!(on_host.activations < plain.activations);
        assert!(
            on_host.batches > plain.batches,
            "the host ring is there too"
        );
        let average = Demand {
            has_average: true,
            ..demand.clone()
        };
        assert!(average.needs(&share()).copies > plain.copies);
        let decoder = Demand {
            stages: vec![StageName::Decoder],
            ..demand.clone()
        };
        assert!(
            decoder.needs(&share()).data_work > plain.data_work,
            "a frozen GPT"
        );
        let shorter = of(&|s| s.mel_frames = Some(400));
        assert!(shorter.activations < plain.activations);
    }
}
