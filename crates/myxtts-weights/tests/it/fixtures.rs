//! Files torch itself wrote.

use std::fs;

use myxtts_weights::read_torch;
use myxtts_weights::torch::{Scalar, TorchFile};

use crate::support::{fixture, open, weights};

#[test]
fn a_dvae_is_what_the_reference_says_it_is() {
    let read = read_torch(&fixture("tiny_dvae.pth")).unwrap();
    let expected = weights("dvae", "");
    assert_eq!(read.len(), 56);
    assert_eq!(read, expected);
}

#[test]
fn one_tensor_has_no_name() {
    let read = read_torch(&fixture("tiny_mel_stats.pth")).unwrap();
    assert_eq!(read.names().collect::<Vec<_>>(), [""]);
    let stats = read.get("").unwrap();
    assert_eq!(stats.shape(), [80]);
    assert!(stats.to_f32().iter().all(|mean| mean.is_finite()));
}

#[test]
fn a_trainers_checkpoint_has_weights_and_state() {
    let file = TorchFile::open(&fixture("tiny_trainer_ckpt.pth")).unwrap();
    let names: Vec<&str> = file.names().collect();
    assert_eq!(
        names,
        [
            "model.dvae.codebook.embed",
            "model.xtts.gpt.gpt.ln_f.weight",
            "model.xtts.gpt.mel_head.bias",
            "model.xtts.mel_stats",
        ]
    );
    assert_eq!(file.scalars()["step"], Scalar::Int(7));
    assert_eq!(file.scalars()["config.lr"], Scalar::Float(5e-6));
    assert_eq!(file.scalars()["model_loss.eval_loss"], Scalar::None);
    assert_eq!(
        file.scalars()["optimizer.param_groups.0.betas.1"],
        Scalar::Float(0.999)
    );
    let dvae = weights("dvae", "");
    let gpt = weights("gpt", "");
    let read = |name: &str| file.read(name).unwrap();
    assert_eq!(
        Some(&read("model.dvae.codebook.embed")),
        dvae.get("codebook.embed")
    );
    assert_eq!(
        Some(&read("model.xtts.gpt.mel_head.bias")),
        gpt.get("mel_head.bias")
    );
    assert_eq!(
        Some(&read("model.xtts.gpt.gpt.ln_f.weight")),
        gpt.get("gpt.ln_f.weight")
    );
}

#[test]
fn cut_anywhere_a_file_is_an_error() {
    for name in [
        "tiny_dvae.pth",
        "tiny_mel_stats.pth",
        "tiny_trainer_ckpt.pth",
    ] {
        let bytes = fs::read(fixture(name)).unwrap();
        for length in (0..bytes.len()).step_by(64) {
            let error = open(bytes[..length].to_vec()).unwrap_err();
            assert!(error.to_string().contains("fix:"), "{error}");
        }
    }
}

#[test]
fn a_flipped_bit_in_a_tensor_is_found() {
    let mut bytes = fs::read(fixture("tiny_trainer_ckpt.pth")).unwrap();
    let embed = weights("dvae", "");
    let embed = embed.get("codebook.embed").unwrap().bytes();
    let at = bytes
        .windows(64)
        .position(|window| window == &embed[..64])
        .unwrap();
    bytes[at + 9] ^= 4;
    let error = open(bytes)
        .unwrap()
        .read("model.dvae.codebook.embed")
        .unwrap_err();
    insta::assert_snapshot!(error);
}
