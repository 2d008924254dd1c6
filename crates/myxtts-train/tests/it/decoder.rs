//! The waveform decoder in training, on clips of the sample corpus. The GPT and
//! the DVAE are random: their latents say which sound is where, and that is all
//! that these tests need.

use std::sync::Arc;

use burn::tensor::Device;
use myxtts_audio::units::SampleRate;
use myxtts_infer::{VoiceKind, VoiceVectors};
use myxtts_model::ModelSize;
use myxtts_model::gpt::{Gpt, GptConfig, Vocabulary};
use myxtts_model::hifigan::{Discriminator, DiscriminatorConfig, HifiganConfig, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::StateDict;
use myxtts_pipeline::{DeviceStage, Ticket};
use myxtts_train::feed::{Cutting, DecoderBatch, DecoderFeed, DeviceBatch};
use myxtts_train::objective::{DecoderCurriculum, DecoderObjective, Objective};
use myxtts_train::optim::{AdamW, AdamWConfig};
use myxtts_weights::TensorMap;

use crate::world::{WORLD, device as data_feed, host};

const CHANNELS: usize = 32;
const FRAMES: usize = 12;

fn gpt() -> Gpt {
    let words = &WORLD.vocabulary;
    let vocabulary = Vocabulary {
        text_tokens: words.text_tokens(),
        start_text: words.start(),
        stop_text: words.stop(),
        codes: 32,
        ..Vocabulary::XTTS_V2
    };
    let config = GptConfig {
        layers: 2,
        channels: CHANNELS,
        heads: 2,
        encoder_blocks: 1,
        ..ModelSize::Tiny.gpt(vocabulary)
    };
    Gpt::new(&Init::new(4, &Device::flex()), &config)
}

fn config() -> HifiganConfig {
    HifiganConfig {
        channels: 32,
        resblock_kernels: vec![3],
        resblock_dilations: vec![vec![1, 3]],
        ..HifiganConfig::tiny(CHANNELS, CHANNELS)
    }
}

fn feed(seed: u64) -> DecoderFeed {
    let cutting = Cutting {
        frames: FRAMES,
        seed,
        steps_per_epoch: WORLD.schedule.steps_per_epoch(),
    };
    let device = Device::flex();
    let kind = VoiceKind::Conditioning;
    let voices = VoiceVectors::new(kind, &TensorMap::new(), SampleRate::XTTS, &device).unwrap();
    let feed = data_feed(None, Arc::default());
    DecoderFeed::new(&device, feed, gpt(), voices, &config(), cutting).unwrap()
}

fn device_batch(feed: &mut DecoderFeed, step: u64) -> DeviceBatch<DecoderBatch> {
    let ticket = Ticket { step, lane: 0 };
    let filled = host(None).prepare(ticket, None).unwrap();
    feed.process(ticket, &filled).unwrap()
}

fn objective() -> DecoderObjective {
    let init = Init::new(7, &Device::flex().autodiff());
    let discriminator = DiscriminatorConfig {
        periods: vec![2, 3],
        scales: 1,
        ..DiscriminatorConfig::tiny()
    };
    DecoderObjective::new(
        HifiganDecoder::new(&init, &config()).unwrap(),
        Discriminator::new(&init, &discriminator).unwrap(),
    )
    .unwrap()
}

/// One phase of a step; gives what was learned and the parts of the loss.
fn phase(
    objective: DecoderObjective,
    phase: usize,
    batch: &DecoderBatch,
    optimizer: &mut AdamW,
) -> (DecoderObjective, Vec<(&'static str, f32)>) {
    let loss = objective.loss(phase, batch, &[1.0], 0).unwrap();
    let parts = loss.parts.into_iter();
    let parts = parts.map(|(name, value)| (name, value.into_scalar::<f32>()));
    let parts = parts.collect();
    let gradients = objective.gradients(phase, loss.total.backward());
    (objective.apply(phase, optimizer, gradients, 2e-3), parts)
}

#[test]
fn segments_are_drawn_by_seed_epoch_and_clip() {
    let epoch = WORLD.schedule.steps_per_epoch();
    let wave = |seed, step| {
        device_batch(&mut feed(seed), step)
            .batch
            .wave_b1t
            .into_data()
    };
    let first = device_batch(&mut feed(1), 0);
    let [rows, one, samples] = first.batch.wave_b1t.dims();
    assert_eq!((one, samples), (1, FRAMES * 256));
    assert_eq!(first.batch.frames_bct.dims(), [rows, CHANNELS, FRAMES]);
    assert_eq!(first.batch.voice_bc1.dims(), [rows, CHANNELS, 1]);
    assert_eq!(first.stats.targets, [rows]);
    let lengths = first.batch.voice_bc1.square().sum_dim(1).into_data();
    assert!(
        lengths
            .iter::<f32>()
            .all(|length| (length - 1.0).abs() < 1e-5)
    );
    assert!(wave(1, 0) == wave(1, 0));
    assert!(wave(1, 0) != wave(2, 0), "another seed");
    // Clips of a later epoch are in another order, too: only the seed of the
    // feed may change what the same clips give.
    assert!(wave(1, epoch) != wave(2, epoch), "another seed, later");
}

#[test]
fn each_phase_moves_its_own_part_only() {
    let batch = device_batch(&mut feed(1), 0).batch;
    let parts = |objective: &DecoderObjective| -> (StateDict, StateDict) {
        let state = objective.state().unwrap().into_iter();
        state.partition(|(name, _)| name.starts_with("waveform_decoder."))
    };
    let mut optimizer = AdamW::new(AdamWConfig::default());
    let objective = objective();
    let before = parts(&objective);
    assert!(!before.0.is_empty() && !before.1.is_empty());
    let (objective, losses) = phase(objective, 0, &batch, &mut optimizer);
    let names = |losses: &[(&'static str, f32)]| -> Vec<&str> {
        losses.iter().map(|(name, _)| *name).collect()
    };
    assert_eq!(names(&losses), ["loss_discriminator"]);
    let judged = parts(&objective);
    assert!(judged.0 == before.0, "the generator stays");
    assert!(judged.1.iter().all(|(name, data)| *data != before.1[name]));
    let mut optimizer = AdamW::new(AdamWConfig::default());
    let (objective, losses) = phase(objective, 1, &batch, &mut optimizer);
    assert_eq!(
        names(&losses),
        ["loss_mel", "loss_features", "loss_adversarial"]
    );
    let made = parts(&objective);
    assert!(made.1 == judged.1, "the judges stay");
    assert!(made.0.iter().all(|(name, data)| *data != judged.0[name]));
}

#[test]
fn a_tiny_decoder_learns_a_batch_by_heart() {
    let batch = device_batch(&mut feed(1), 0).batch;
    let row = |x: burn::tensor::Tensor<3>| x.narrow(0, 0, 1);
    let batch = DecoderBatch {
        frames_bct: row(batch.frames_bct),
        voice_bc1: row(batch.voice_bc1),
        wave_b1t: row(batch.wave_b1t),
    };
    let mut objective = objective();
    let mut optimizers = [0, 1].map(|_| AdamW::new(AdamWConfig::default()));
    let mut mels: Vec<f32> = vec![];
    for _ in 0..80 {
        for (number, optimizer) in optimizers.iter_mut().enumerate() {
            let losses;
            (objective, losses) = phase(objective, number, &batch, optimizer);
            let mel = losses.iter().find(|(name, _)| *name == "loss_mel");
            mels.extend(mel.map(|(_, value)| *value));
        }
    }
    let (first, last) = (mels[0], mels[mels.len() - 1]);
    assert!(last < 0.5 * first, "{first} to {last}");
}

/// Spectra first, then the discriminators alone, then both; the generator's rate rises
/// again after it stood still.
#[test]
fn a_stage_goes_through_its_acts() {
    let curriculum = DecoderCurriculum {
        spectral: 2,
        discriminator: 3,
        rise: 4,
        generator_lr_scale: 0.5,
    };
    let mut objective = objective().with_curriculum(curriculum);
    let mut seen = vec![];
    for step in 0..10 {
        let is_new = objective.begin_step(step);
        let phases: Vec<usize> = (0..2)
            .filter(|phase| objective.is_phase_active(*phase))
            .collect();
        seen.push((is_new, phases, objective.lr_scale(0), objective.lr_scale(1)));
    }
    let expected = [
        (false, vec![1], 1.0, 0.5),
        (false, vec![1], 1.0, 0.5),
        (true, vec![0], 1.0, 0.5),
        (false, vec![0], 1.0, 0.5),
        (false, vec![0], 1.0, 0.5),
        (true, vec![0, 1], 1.0, 0.125),
        (false, vec![0, 1], 1.0, 0.25),
        (false, vec![0, 1], 1.0, 0.375),
        (false, vec![0, 1], 1.0, 0.5),
        (false, vec![0, 1], 1.0, 0.5),
    ];
    assert_eq!(seen, expected);
    let batch = device_batch(&mut feed(1), 0).batch;
    let names = |objective: &DecoderObjective| -> Vec<&str> {
        let loss = objective.loss(1, &batch, &[1.0], 0).unwrap();
        loss.parts.iter().map(|(name, _)| *name).collect()
    };
    objective.begin_step(1);
    assert_eq!(names(&objective), ["loss_spectra"]);
    objective.begin_step(5);
    assert_eq!(
        names(&objective),
        ["loss_mel", "loss_features", "loss_adversarial"]
    );
}
