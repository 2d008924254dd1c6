//! What holds for any DVAE.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_model::dvae::{Codebook, Dvae, DvaeConfig, MovingAverage, Reconstruction};
use myxtts_model::init::Init;
use myxtts_model::params;
use proptest::prelude::*;

use crate::fixtures::{gradients, scalar, values, whole};

fn small() -> DvaeConfig {
    DvaeConfig {
        channels: 6,
        hidden: 8,
        codes: 12,
        codebook_dim: 5,
        ..DvaeConfig::RELEASED
    }
}

fn noise<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Init::new(9, device).normal(shape, 1.0).val().detach()
}

fn rows(list: &[[f32; 2]], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(list.concat(), [list.len(), 2]), device)
}

/// A codebook of pairs.
fn book(list: &[[f32; 2]], device: &Device) -> Codebook {
    let mut book = Codebook::new(&Init::new(0, device), 2, list.len());
    let embed = rows(list, device).transpose();
    book.embed = book.embed.map(|_| embed.clone());
    book.embed_avg = book.embed_avg.map(|_| embed);
    book.cluster_size = book.cluster_size.map(|x| x.ones_like());
    book
}

/// The encoder's last layer gets the gradient the decoder has at its input.
#[test]
fn straight_through_gradient_is_the_decoders() {
    let device = Device::flex().autodiff();
    let dvae = Dvae::new(&Init::new(3, &device), &small()).unwrap();
    let mel = noise([2, 6, 16], &device);
    let step = dvae.step(mel.clone(), Reconstruction::Mse).unwrap();
    let ours = gradients(&dvae, &step.reconstruction_bct.mean().backward());
    // By hand: a decoder fed with the codes' vectors, then the encoder with that gradient.
    let codes = dvae.encode(mel.clone());
    let q = dvae
        .codebook
        .vectors(codes.reshape([8]))
        .reshape([2, 4, 5])
        .swap_dims(1, 2);
    let q = q.detach().require_grad();
    let output = dvae
        .decoder
        .iter()
        .fold(q.clone(), |x, layer| layer.forward(x));
    let at_q = (mel.clone() - output).square().mean().backward();
    let at_q = Tensor::from_inner(q.grad(&at_q).unwrap());
    let by_hand = gradients(&dvae, &(dvae.vectors(mel) * at_q).sum().backward());
    let encoder = by_hand.keys().filter(|name| name.starts_with("encoder."));
    let mut compared = 0;
    for name in encoder {
        for (a, b) in ours[name].iter().zip(&by_hand[name]) {
            assert!((a - b).abs() < 1e-6, "{name}: {a} {b}");
        }
        compared += 1;
    }
    assert_eq!(compared, 2 * 12);
}

#[test]
fn the_first_of_equal_codes_is_taken() {
    let device = Device::flex();
    let book = book(&[[5.0, 5.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], &device);
    let codes = book.lookup(rows(
        &[[1.0, 0.1], [0.0, 1.0], [9.0, 9.0], [1.0, 0.0]],
        &device,
    ));
    assert_eq!(whole(codes), [1, 3, 0, 1]);
}

/// Clusters around three points: each code moves to the mean of its own.
#[test]
fn the_moving_average_finds_the_clusters() {
    let device = Device::flex();
    let centres = [[2.0, 0.0], [-1.0, 2.0], [0.0, -3.0]];
    let mut book = book(&[[0.5, 0.0], [-0.5, 0.5], [0.0, -0.5]], &device);
    for step in 0..600_u16 {
        let batch: Vec<[f32; 2]> = (0..30_u16)
            .map(|i| {
                let [x, y] = centres[usize::from(i) % 3];
                let wobble = f32::from((step * 31 + i * 17) % 11) / 50.0 - 0.1;
                [x + wobble, y - wobble]
            })
            .collect();
        let batch = rows(&batch, &device);
        let codes = book.lookup(batch.clone());
        book = book.moved(batch, codes, MovingAverage::default());
    }
    let embed = values(book.embed.val().transpose());
    for (found, wanted) in embed.iter().zip(centres.iter().flatten()) {
        assert!((found - wanted).abs() < 0.05, "{embed:?}");
    }
    let uses = values(book.cluster_size.val());
    assert!(uses.iter().all(|n| (n - 10.0).abs() < 0.1), "{uses:?}");
}

#[test]
fn unused_codes_are_revived_and_used_ones_are_not() {
    let device = Device::flex();
    let start = [[1.0, 0.0], [50.0, 50.0], [0.0, 1.0], [-60.0, 9.0]];
    let mut book = book(&start, &device);
    let batch = rows(&[[1.0, 0.2], [0.1, 1.0], [-2.0, -2.0], [3.0, 3.0]], &device);
    let mut revived_at = None;
    for step in 0..400_u64 {
        let codes = book.lookup(batch.clone());
        book = book.moved(batch.clone(), codes, MovingAverage::default());
        let before = values(book.embed.val());
        book = book.revived(batch.clone(), 0.05, step);
        if values(book.embed.val()) != before {
            revived_at.get_or_insert(step);
        }
    }
    // 0.99^n < 0.05.
    assert_eq!(revived_at, Some(298));
    let mut codes = whole(book.lookup(batch.clone()));
    codes.sort_unstable();
    codes.dedup();
    assert!(codes.len() >= 3, "{codes:?}");
    assert!(values(book.cluster_size.val()).iter().all(|n| *n > 0.05));
}

#[test]
fn a_seeded_codebook_is_made_of_the_encoders_vectors() {
    let device = Device::flex();
    let dvae = Dvae::new(&Init::new(3, &device), &small()).unwrap();
    let mel = noise([4, 6, 32], &device);
    let seeded = dvae.clone().with_seeded_codebook(mel.clone(), 7);
    let codes = whole(seeded.encode(mel.clone()));
    let mut used = codes.clone();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used.len(), 12, "every code is somebody's own vector");
    let again = dvae.clone().with_seeded_codebook(mel.clone(), 7);
    assert_eq!(
        values(again.codebook.embed.val()),
        values(seeded.codebook.embed.val())
    );
    let other = dvae.with_seeded_codebook(mel, 8);
    assert_ne!(
        values(other.codebook.embed.val()),
        values(seeded.codebook.embed.val())
    );
}

#[test]
fn smooth_l1_is_square_within_one_and_straight_beyond() {
    let device = Device::flex();
    let target = Tensor::<3>::from_floats([[[0.5, -0.5, 3.0, -3.0, 0.0]]], &device);
    let loss = Reconstruction::SmoothL1.loss(target.clone(), target.zeros_like());
    assert_eq!(values(loss), [0.125, 0.125, 2.5, 2.5, 0.0]);
}

#[test]
fn a_ragged_segment_is_refused() {
    let device = Device::flex();
    let dvae = Dvae::new(&Init::new(3, &device), &small()).unwrap();
    let refused = dvae
        .step(noise([1, 6, 18], &device), Reconstruction::Mse)
        .unwrap_err();
    insta::assert_snapshot!(refused);
    assert_eq!(small().codes_of(18), 5);
    assert_eq!(dvae.encode(noise([1, 6, 18], &device)).dims(), [1, 5]);
}

/// A few steps of plain gradient descent make the loss smaller.
#[test]
fn training_reduces_the_loss() {
    use burn::module::{ModuleMapper, Param};
    use burn::tensor::Gradients;
    struct Descend<'a>(&'a Gradients);
    impl ModuleMapper for Descend<'_> {
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            let Some(gradient) = param.val().grad(self.0) else {
                return param;
            };
            param.map(|x| {
                let stepped = x.inner() - gradient * 0.05;
                Tensor::from_inner(stepped).require_grad()
            })
        }
    }
    let device = Device::flex().autodiff();
    let mel = noise([2, 6, 16], &device);
    let new = Dvae::new(&Init::new(3, &device), &small()).unwrap();
    let mut dvae = new.with_seeded_codebook(mel.clone(), 1);
    let mut losses = vec![];
    for _ in 0..60 {
        let step = dvae.step(mel.clone(), Reconstruction::Mse).unwrap();
        let loss = step.reconstruction_bct.clone().mean() + step.commitment.clone();
        losses.push(scalar(loss.clone()));
        let gradients = loss.backward();
        dvae = burn::module::Module::map(dvae, &mut Descend(&gradients));
        dvae = dvae.with_moved_codebook(&step, MovingAverage::default());
    }
    let (first, last) = (losses[0], losses[59]);
    assert!(last < 0.9 * first, "{first} {last}");
}

proptest! {
    /// What is written is what is read, whatever the sizes.
    #[test]
    fn weights_survive_a_round_trip(hidden in 1_usize..6, blocks in 0_usize..3, seed: u64) {
        let device = Device::flex();
        let config = DvaeConfig { hidden, resnet_blocks: blocks, ..small() };
        let one = Dvae::new(&Init::new(seed, &device), &config).unwrap();
        let other = Dvae::new(&Init::new(seed ^ 1, &device), &config).unwrap();
        let written = params::state_dict(&one).unwrap();
        let read = params::load(other, &written, "").unwrap();
        prop_assert_eq!(params::state_dict(&read).unwrap(), written);
    }
}
