//! Choosing codes: each processor against a plain reading of its definition.

use burn::module::Param;
use burn::tensor::{Device, Int, Tensor};
use myxtts_model::ModelSize;
use myxtts_model::generate::{
    Choice, Generation, Sampler, SamplingConfig, generate, repetition_penalty, top_k, top_p,
};
use myxtts_model::gpt::{Gpt, Quirks, Vocabulary};
use myxtts_model::init::Init;
use proptest::prelude::*;

const VOCABULARY: Vocabulary = Vocabulary {
    text_tokens: 30,
    start_text: 28,
    stop_text: 0,
    max_text_tokens: 20,
    codes: 40,
    max_audio_tokens: 90,
};

fn kept(scores: &[f32]) -> Vec<usize> {
    let all = scores.iter().enumerate().filter(|(_, x)| x.is_finite());
    all.map(|(id, _)| id).collect()
}

fn distinct_scores() -> impl Strategy<Value = Vec<f32>> {
    prop::collection::btree_set(-1000_i32..1000, 1..40).prop_map(|set| {
        // Neither sorted nor equal.
        let mut scores: Vec<f32> = set.into_iter().map(|x| x as f32 / 100.0).collect();
        let middle = scores.len() / 2;
        scores.rotate_left(middle);
        scores
    })
}

proptest! {
    #[test]
    fn top_k_keeps_the_k_best(mut scores in distinct_scores(), k in 1_usize..50) {
        let before = scores.clone();
        top_k(&mut scores, k);
        let better = |id: usize| before.iter().filter(|x| **x > before[id]).count();
        let expected: Vec<usize> = (0..before.len()).filter(|id| better(*id) < k).collect();
        prop_assert_eq!(kept(&scores), expected);
    }

    #[test]
    fn top_p_keeps_the_smallest_set_that_is_likely_enough(
        mut scores in distinct_scores(),
        p in 0.01_f32..0.99,
    ) {
        let before = scores.clone();
        top_p(&mut scores, p);
        let weights: Vec<f64> = before.iter().map(|x| f64::from(*x).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let better = |id: usize| {
            let all = before.iter().zip(&weights).filter(|(x, _)| **x > before[id]);
            all.map(|(_, weight)| weight / sum).sum::<f64>()
        };
        for (id, score) in scores.iter().enumerate() {
            // A code stays when those before it are not enough; near the
            // border rounding decides.
            let enough = better(id) - f64::from(p);
            if enough.abs() > 1e-9 {
                prop_assert_eq!(score.is_finite(), enough < 0.0, "code {}", id);
            }
        }
    }

    #[test]
    fn a_penalty_counts_a_code_once(mut scores in distinct_scores(), seen in 0_u32..40) {
        let before = scores.clone();
        repetition_penalty(&mut scores, &[seen, seen, 1000], 2.0);
        for (id, (score, old)) in scores.iter().zip(&before).enumerate() {
            let expected = match id as u32 == seen {
                true if *old < 0.0 => old * 2.0,
                true => old / 2.0,
                false => *old,
            };
            prop_assert_eq!(*score, expected);
        }
    }
}

fn sampler(config: SamplingConfig) -> Sampler {
    Sampler::new(config, &VOCABULARY)
}

#[test]
fn draws_follow_the_distribution_and_the_seed() {
    let config = SamplingConfig {
        repetition_penalty: 1.0,
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        ..SamplingConfig::new(3)
    };
    let shares = [0.5_f32, 0.3, 0.2];
    let scores: Vec<f32> = shares.iter().map(|share| share.ln()).collect();
    let draw = |config| -> Vec<u32> {
        let mut sampler = sampler(config);
        (0..20_000).map(|_| sampler.next(scores.clone())).collect()
    };
    let drawn = draw(config);
    for (id, share) in (0..).zip(shares) {
        let found = drawn.iter().filter(|code| **code == id).count() as f32 / 20_000.0;
        assert!((found - share).abs() < 0.015, "code {id}: {found}");
    }
    assert_eq!(draw(config), drawn);
    let other = SamplingConfig {
        choice: Choice::Sample { seed: 4 },
        ..config
    };
    assert_ne!(draw(other), drawn);
}

#[test]
fn code_one_starts_penalised_only_in_the_reference() {
    let scores = || vec![0.0, 1.0, 0.9];
    let choose = |quirks| {
        let config = SamplingConfig {
            repetition_penalty: 10.0,
            quirks,
            ..SamplingConfig::greedy()
        };
        sampler(config).next(scores())
    };
    assert_eq!(choose(Quirks::Fixed), 1);
    assert_eq!(choose(Quirks::Compat), 2);
}

fn model() -> (Gpt, Tensor<3>) {
    let device = Device::flex();
    let mut gpt = Gpt::new(&Init::new(2, &device), &ModelSize::Tiny.gpt(VOCABULARY));
    // Never STOP of its own accord.
    let mut bias = vec![0.0; VOCABULARY.audio_tokens()];
    bias[VOCABULARY.stop_audio() as usize] = -1e4;
    gpt.mel_head.bias = Some(Param::from_data(bias.as_slice(), &device));
    let voice_1nd = gpt.condition(Tensor::ones([1, 80, 12], &device));
    (gpt, voice_1nd)
}

#[test]
fn a_seed_gives_the_same_codes_and_streaming_too() {
    let (gpt, voice_1nd) = model();
    // Beyond 64 positions, where the cache grows.
    let config = SamplingConfig {
        max_codes: Some(60),
        ..SamplingConfig::new(9)
    };
    let text = [3, 4, 5];
    let whole = generate(&gpt, voice_1nd.clone(), &text, config).unwrap();
    assert_eq!(whole.codes.len(), 60);
    assert!(!whole.stopped);
    let mut generation = Generation::new(&gpt, voice_1nd.clone(), &text, config).unwrap();
    let mut codes = vec![];
    while let Some(step) = generation.step().unwrap() {
        assert_eq!(step.latent_11d.dims(), [1, 1, 192]);
        codes.push(step.code);
    }
    assert_eq!(codes, whole.codes);
    assert_eq!(whole.latents_1nd.dims(), [1, codes.len(), 192]);
    let ids = |ids: &[u32]| {
        let ids: Vec<i64> = ids.iter().map(|&id| id.into()).collect();
        let row = Tensor::<1, Int>::from_data(ids.as_slice(), &Device::flex());
        row.unsqueeze()
    };
    let at_once = gpt
        .latents(voice_1nd.clone(), ids(&text), ids(&codes))
        .unwrap();
    let difference = (at_once - whole.latents_1nd)
        .abs()
        .max()
        .into_scalar::<f32>();
    assert!(difference < 1e-4, "{difference}");
    let longest = generate(&gpt, voice_1nd, &text, SamplingConfig::new(9)).unwrap();
    assert_eq!(longest.codes.len(), VOCABULARY.max_new_codes());
    assert_eq!(longest.codes[..60], whole.codes);
}

#[test]
fn a_text_beyond_the_positions_is_refused() {
    let (gpt, voice_1nd) = model();
    let error = generate(&gpt, voice_1nd, &[1; 21], SamplingConfig::greedy()).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @"21 text tokens do not fit the model, which has positions for 20: shorten the clip or the text, or use a model with more positions");
}
