//! Choosing codes: each processor against a plain reading of its definition.

use burn::module::Param;
use burn::tensor::{Device, Int, Tensor};
use myxtts_model::ModelSize;
use myxtts_model::generate::{
    Choice, Ending, Generated, Generation, Guards, RowId, Sampler, SamplingConfig, SpeakingGpt,
    generate, repetition_penalty, top_k, top_p,
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
    let speaking = gpt.for_speaking();
    let whole = generate(&speaking, voice_1nd.clone(), &text, config).unwrap();
    assert_eq!(whole.codes.len(), 60);
    assert_eq!(whole.ended, Ending::Limit);
    let mut generation = Generation::new(&speaking);
    let row = generation.admit(voice_1nd.clone(), &text, config).unwrap();
    let mut codes = vec![];
    while generation.is_live(row) {
        for step in generation.step().unwrap() {
            assert_eq!(step.row, row);
            assert_eq!(step.latent_11d.dims(), [1, 1, 192]);
            codes.push(step.code);
        }
    }
    assert!(generation.step().unwrap().is_empty());
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
    let longest = generate(&speaking, voice_1nd, &text, SamplingConfig::new(9)).unwrap();
    assert_eq!(longest.codes.len(), VOCABULARY.max_new_codes());
    assert_eq!(longest.codes[..60], whole.codes);
}

#[test]
fn a_text_beyond_the_positions_is_refused() {
    let (gpt, voice_1nd) = model();
    let speaking = gpt.for_speaking();
    let error = generate(&speaking, voice_1nd, &[1; 21], SamplingConfig::greedy()).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @r"
    21 text tokens do not fit the model, which has positions for 20
      fix:   shorten the clip or the text, or use a model with more positions
    ");
}

/// On the CPU by blocks of our own, by guesses as large models do, and by the
/// engine's operations as on any device.
fn ways(gpt: &Gpt) -> [SpeakingGpt; 3] {
    [
        gpt.for_speaking(),
        gpt.for_speaking().drafting(),
        SpeakingGpt::plain(gpt),
    ]
}

fn apart(a: &Generated, b: &Generated) -> f32 {
    let difference = a.latents_1nd.clone() - b.latents_1nd.clone();
    difference.abs().max().into_scalar::<f32>()
}

#[test]
fn the_fast_way_is_the_plain_one() {
    let (gpt, voice_1nd) = model();
    let [fast, drafting, plain] = ways(&gpt);
    for text in [&[7_u32][..], &[3, 4, 5], &[9; 20]] {
        for config in [SamplingConfig::greedy(), SamplingConfig::new(5)] {
            let plain = generate(&plain, voice_1nd.clone(), text, config).unwrap();
            for fast in [&fast, &drafting] {
                let fast = generate(fast, voice_1nd.clone(), text, config).unwrap();
                assert_eq!(fast.codes, plain.codes);
                assert!(apart(&fast, &plain) < 1e-4);
            }
        }
    }
}

/// The vectors of codes that are given are those from which they were drawn.
#[test]
fn codes_that_are_told_have_the_vectors_of_those_that_are_made() {
    let (gpt, voice_1nd) = model();
    let told = |speaking: &SpeakingGpt, made: &Generated| {
        let latents_1nd = speaking.latents(voice_1nd.clone(), &[3, 4, 5], &made.codes);
        let difference = latents_1nd.unwrap() - made.latents_1nd.clone();
        difference.abs().max().into_scalar::<f32>()
    };
    let [fast, _, plain] = ways(&gpt);
    let config = SamplingConfig::new(5);
    let made = generate(&fast, voice_1nd.clone(), &[3, 4, 5], config).unwrap();
    assert!(made.codes.len() > 3);
    assert_eq!(told(&fast, &made), 0.0);
    assert!(told(&plain, &made) < 1e-4);
    let refused = [&fast, &plain].map(|speaking| {
        let codes = [1; 1000];
        let refused = speaking.latents(voice_1nd.clone(), &[3], &codes);
        refused.unwrap_err().to_string()
    });
    assert_eq!(refused[0], refused[1]);
}

/// What was computed of a voice is kept from text to text, and changes nothing.
#[test]
fn a_voice_that_was_heard_says_the_same() {
    let (gpt, voice_1nd) = model();
    let other_1nd = gpt.condition(Tensor::ones([1, 80, 12], &Device::flex()) * 0.3);
    let config = SamplingConfig {
        max_codes: Some(6),
        ..SamplingConfig::new(5)
    };
    let [fast, drafting, _] = ways(&gpt);
    for speaking in [fast, drafting] {
        for voice_1nd in [&voice_1nd, &other_1nd, &voice_1nd] {
            for text in [&[9_u32; 20][..], &[7], &[3, 4, 5]] {
                let say =
                    |gpt: &SpeakingGpt| generate(gpt, (*voice_1nd).clone(), text, config).unwrap();
                let (first, later) = (say(&speaking.without_voices()), say(&speaking));
                assert_eq!(first.codes, later.codes);
                assert_eq!(apart(&first, &later), 0.0);
            }
        }
    }
}

/// Rows of other lengths that come and go beside a row leave its codes as they are.
#[test]
fn a_row_does_not_depend_on_its_neighbours() {
    let (gpt, voice_1nd) = model();
    let other_1nd = gpt.condition(Tensor::ones([1, 80, 12], &Device::flex()) * 0.3);
    let config = |max_codes: usize, seed: u64| SamplingConfig {
        max_codes: Some(max_codes),
        repetition_penalty: 1.0,
        ..SamplingConfig::new(seed)
    };
    // The step at which each comes, its voice, text and sampling.
    let rows = [
        (0, &voice_1nd, vec![3, 4, 5], config(70, 1)),
        (0, &other_1nd, vec![8; 17], config(30, 2)),
        (0, &voice_1nd, vec![6], SamplingConfig::greedy()),
        (20, &other_1nd, vec![1, 2], config(80, 3)),
        // Long after the first are gone: slots of theirs are given back.
        (75, &voice_1nd, vec![9, 9], config(60, 4)),
    ];
    for speaking in ways(&gpt) {
        let mut generation = Generation::new(&speaking);
        let mut ids: Vec<Option<RowId>> = vec![None; rows.len()];
        let mut codes = vec![vec![]; rows.len()];
        for step in 0.. {
            for (index, (at, voice_1nd, text, config)) in rows.iter().enumerate() {
                if *at == step {
                    let voice_1nd = (*voice_1nd).clone();
                    ids[index] = Some(generation.admit(voice_1nd, text, *config).unwrap());
                }
            }
            if step > 75 && generation.live() == 0 {
                break;
            }
            for made in generation.step().unwrap() {
                let index = ids.iter().position(|id| *id == Some(made.row)).unwrap();
                codes[index].push(made.code);
            }
        }
        for ((_, voice_1nd, text, config), codes) in rows.iter().zip(codes) {
            let alone = generate(&speaking, (*voice_1nd).clone(), text, *config).unwrap();
            assert_eq!(alone.codes, codes);
        }
    }
}

#[test]
fn a_cancelled_row_ends_and_the_others_continue() {
    let (gpt, voice_1nd) = model();
    for speaking in ways(&gpt) {
        let mut generation = Generation::new(&speaking);
        let mut admit = |text: &[u32]| {
            let config = SamplingConfig::greedy();
            generation.admit(voice_1nd.clone(), text, config).unwrap()
        };
        let [first, second, third] = [admit(&[1]), admit(&[2, 3]), admit(&[4])];
        generation.cancel(third);
        assert_eq!(generation.step().unwrap().len(), 2);
        generation.cancel(first);
        generation.cancel(first);
        assert!(!generation.is_live(first) && generation.is_live(second));
        let step = generation.step().unwrap();
        assert_eq!(step.len(), 1);
        assert_eq!(step[0].row, second);
    }
}

#[test]
fn a_model_that_lost_its_way_is_stopped() {
    let (mut gpt, voice_1nd) = model();
    // Always code 7.
    let mut bias = vec![0.0; VOCABULARY.audio_tokens()];
    bias[7] = 1e4;
    gpt.mel_head.bias = Some(Param::from_data(bias.as_slice(), &Device::flex()));
    let speaking = gpt.for_speaking();
    let with = |guards: Guards| {
        let config = SamplingConfig {
            guards,
            ..SamplingConfig::greedy()
        };
        generate(&speaking, voice_1nd.clone(), &[3, 4, 5], config).unwrap()
    };
    let left_alone = with(Guards::default());
    assert_eq!(left_alone.ended, Ending::Limit);
    assert_eq!(left_alone.codes.len(), VOCABULARY.max_new_codes());
    let looping = with(Guards {
        loop_codes: Some(30),
        ..Guards::default()
    });
    assert_eq!(looping.ended, Ending::Loop { from: 0 });
    assert_eq!(looping.codes.len(), 30);
    let long = with(Guards {
        codes_per_token: Some(16.0),
        ..Guards::default()
    });
    assert_eq!((long.codes.len(), long.ended), (48, Ending::Limit));
}

#[test]
fn stop_comes_no_earlier_than_asked() {
    let (mut gpt, voice_1nd) = model();
    let mut bias = vec![0.0; VOCABULARY.audio_tokens()];
    bias[VOCABULARY.stop_audio() as usize] = 1e4;
    gpt.mel_head.bias = Some(Param::from_data(bias.as_slice(), &Device::flex()));
    let config = SamplingConfig {
        min_codes: 4,
        ..SamplingConfig::greedy()
    };
    let said = generate(&gpt.for_speaking(), voice_1nd, &[3], config).unwrap();
    assert_eq!(said.codes.len(), 5);
    assert!(said.stopped());
}

/// With more beams than codes nothing is left out: the best of all pairs is found.
#[test]
fn a_wide_search_finds_the_best_of_all() {
    let device = Device::flex();
    let (mut gpt, voice_1nd) = model();
    gpt.mel_head.bias = Some(Param::from_tensor(Tensor::zeros(
        [VOCABULARY.audio_tokens()],
        &device,
    )));
    let text = [3, 4, 5];
    let row = |ids: &[u32]| {
        let ids: Vec<i64> = ids.iter().map(|&id| id.into()).collect();
        Tensor::<1, Int>::from_data(ids.as_slice(), &device).unsqueeze::<2>()
    };
    // Log-probabilities of the code after these, by the whole sequence at once.
    let after = |codes: &[u32]| -> Vec<f64> {
        let with_one_more: Vec<u32> = codes.iter().copied().chain([0]).collect();
        let latents = gpt
            .latents(voice_1nd.clone(), row(&text), row(&with_one_more))
            .unwrap();
        let last = latents.narrow(1, codes.len(), 1);
        let scores: Vec<f64> = gpt.mel_head.forward(last).into_data().iter().collect();
        let sum: f64 = scores.iter().map(|score| score.exp()).sum();
        scores.iter().map(|score| score - sum.ln()).collect()
    };
    let stop = VOCABULARY.stop_audio();
    for length_penalty in [0.0, 1.0, 3.0] {
        let mut best = (f64::NEG_INFINITY, vec![]);
        let by_length = |score: f64, codes: &[u32]| {
            score / (codes.len() as f64).powf(f64::from(length_penalty))
        };
        for (first, score) in (0..).zip(after(&[])) {
            if first == stop {
                let alone = (by_length(score, &[first]), vec![first]);
                best = if alone.0 > best.0 { alone } else { best };
                continue;
            }
            for (second, more) in (0..).zip(after(&[first])) {
                let pair = vec![first, second];
                let pair = (by_length(score + more, &pair), pair);
                best = if pair.0 > best.0 { pair } else { best };
            }
        }
        let config = SamplingConfig {
            num_beams: VOCABULARY.audio_tokens(),
            length_penalty,
            max_codes: Some(2),
            ..SamplingConfig::greedy()
        };
        for speaking in ways(&gpt) {
            let found = generate(&speaking, voice_1nd.clone(), &text, config).unwrap();
            assert_eq!(found.codes, best.1, "length penalty {length_penalty}");
            assert_eq!(found.stopped(), best.1.last() == Some(&stop));
            assert_eq!(found.latents_1nd.dims(), [1, best.1.len(), 192]);
        }
    }
}

/// One beam is the greedy choice, and beams are not drawn.
#[test]
fn a_search_is_not_drawn() {
    let (gpt, voice_1nd) = model();
    let speaking = gpt.for_speaking();
    let config = SamplingConfig {
        num_beams: 3,
        ..SamplingConfig::new(1)
    };
    let error = generate(&speaking, voice_1nd.clone(), &[3], config).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @r"
    3 beams cannot be drawn at random: a search with beams keeps the best
      fix:   choose greedily, or leave it at 1 beam
    ");
    let mut generation = Generation::new(&speaking);
    let error = generation.admit(voice_1nd, &[3], config).unwrap_err();
    insta::assert_snapshot!(error.to_string(), @r"
    3 beams cannot run beside other rows: their rows are all of one text
      fix:   search texts one at a time, or leave it at 1 beam
    ");
}

/// Cards and requests written before a setting existed mean what they meant.
#[test]
fn sampling_is_read_without_the_newer_settings() {
    let old = r#"{"choice":"greedy","repetition_penalty":1.0,"temperature":0.75,"top_k":50,
        "top_p":0.85,"max_codes":null,"quirks":"fixed"}"#;
    let read: SamplingConfig = serde_json::from_str(old).unwrap();
    assert_eq!(read, SamplingConfig::greedy());
}
