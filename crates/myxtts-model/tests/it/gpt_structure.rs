//! What must hold for any weights: who sees whom, and what padding is worth.

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{Device, Int, Tensor, TensorData};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{Gpt, GptBatch, GptConfig, GptOutput, Quirks, StepDropout, Vocabulary};
use myxtts_model::init::Init;

use crate::fixtures::values;
use crate::gpt_fixture::gradients;

const TEXT: usize = 6;
const CODES: usize = 9;
const FRAMES: usize = 5;
const BANDS: usize = 8;

fn device() -> Device {
    Device::flex()
}

fn model() -> Gpt {
    let config = GptConfig {
        layers: 2,
        channels: 32,
        heads: 4,
        vocabulary: Vocabulary {
            text_tokens: 20,
            start_text: 18,
            stop_text: 0,
            max_text_tokens: 12,
            codes: 16,
            max_audio_tokens: 20,
        },
        mel_bands: BANDS,
        encoder_blocks: 1,
        perceiver: PerceiverConfig {
            latents: 3,
            depth: 1,
            heads: 2,
            head_channels: 8,
        },
        dropout: 0.1,
        embedding_std: 1.0,
    };
    Gpt::new(&Init::new(5, &device()), &config).train()
}

/// One clip.
#[derive(Clone)]
struct Clip {
    text: Vec<i64>,
    codes: Vec<i64>,
    mel: Vec<f32>,
    prompt: [i64; 2],
}

/// A clip unlike those of other numbers.
fn clip(number: i64, text: i64, codes: i64) -> Clip {
    let frames = (FRAMES * BANDS) as i64;
    Clip {
        text: (0..text).map(|i| 1 + (i * 5 + number * 3) % 17).collect(),
        codes: (0..codes).map(|i| (i * 7 + number * 5) % 16).collect(),
        mel: (0..frames)
            .map(|i| ((i * 13 + number * 29) % 23) as f32 / 10.0 - 1.0)
            .collect(),
        prompt: [1024 * (number % 2), 1024 * (2 + number % 2) + 100],
    }
}

/// Clips in a static shape; whatever stands in the padding is `filler`.
fn batch(clips: &[Clip], text: usize, codes: usize, filler: i64) -> GptBatch {
    let rows = clips.len();
    let padded = |ids: &dyn Fn(&Clip) -> &Vec<i64>, width: usize| {
        let values: Vec<i64> = clips
            .iter()
            .flat_map(|clip| {
                let padding = std::iter::repeat(filler);
                ids(clip).iter().copied().chain(padding).take(width)
            })
            .collect();
        Tensor::<2, Int>::from_data(TensorData::new(values, [rows, width]), &device())
    };
    let lengths = |ids: &dyn Fn(&Clip) -> &Vec<i64>| {
        let lengths: Vec<i64> = clips.iter().map(|clip| ids(clip).len() as i64).collect();
        Tensor::<1, Int>::from_data(lengths.as_slice(), &device())
    };
    let mel: Vec<f32> = clips.iter().flat_map(|clip| clip.mel.clone()).collect();
    let prompts: Vec<i64> = clips.iter().flat_map(|clip| clip.prompt).collect();
    GptBatch {
        text_bt: padded(&|clip| &clip.text, text),
        text_lengths_b: lengths(&|clip| &clip.text),
        codes_bm: padded(&|clip| &clip.codes, codes),
        code_lengths_b: lengths(&|clip| &clip.codes),
        conditioning_bcs: Tensor::from_data(TensorData::new(mel, [rows, BANDS, FRAMES]), &device()),
        prompts_b2: Some(Tensor::from_data(
            TensorData::new(prompts, [rows, 2]),
            &device(),
        )),
    }
}

/// Losses and gradients.
struct Outcome {
    text: f32,
    mel: f32,
    gradients: BTreeMap<String, Vec<f32>>,
}

fn outcome(gpt: &Gpt, batch: &GptBatch, quirks: Quirks) -> Outcome {
    let losses = gpt.forward(batch, quirks, None).unwrap().losses(0.0);
    Outcome {
        text: losses.text.clone().into_scalar(),
        mel: losses.mel.clone().into_scalar(),
        gradients: gradients(gpt, &losses),
    }
}

fn largest_difference(ours: &[f32], theirs: &[f32]) -> f32 {
    assert_eq!(ours.len(), theirs.len());
    let pairs = ours.iter().zip(theirs);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn assert_same(ours: &Outcome, theirs: &Outcome) {
    assert!((ours.text - theirs.text).abs() < 1e-5, "text loss");
    assert!((ours.mel - theirs.mel).abs() < 1e-5, "mel loss");
    for (name, gradient) in &ours.gradients {
        let difference = largest_difference(gradient, &theirs.gradients[name]);
        assert!(difference < 1e-5, "{name}: {difference}");
    }
}

fn clips() -> Vec<Clip> {
    vec![clip(1, 6, 9), clip(2, 3, 4), clip(3, 5, 7)]
}

#[test]
fn no_position_sees_a_later_one() {
    let gpt = model();
    let run = |clip: &Clip| -> GptOutput {
        let batch = batch(std::slice::from_ref(clip), TEXT, CODES, 0);
        gpt.forward(&batch, Quirks::Fixed, None).unwrap()
    };
    let rows = |logits: &Tensor<3>| -> Vec<Vec<f32>> {
        let [_, _, width] = logits.dims();
        values(logits).chunks(width).map(<[f32]>::to_vec).collect()
    };
    let whole = clip(1, 6, 9);
    let before = run(&whole);
    for changed in 0..whole.codes.len() {
        let mut other = whole.clone();
        other.codes[changed] = (other.codes[changed] + 1) % 16;
        let after = run(&other);
        assert_eq!(
            rows(&before.text_logits_btv),
            rows(&after.text_logits_btv),
            "text comes before code {changed}"
        );
        let [old, new] = [&before, &after].map(|output| rows(&output.mel_logits_bmv));
        // Row i predicts code i, and reads codes up to i - 1.
        assert_eq!(old[..=changed], new[..=changed], "code {changed}");
        assert_ne!(old[changed + 1], new[changed + 1], "code {changed}");
    }
    for changed in 0..whole.text.len() {
        let mut other = whole.clone();
        other.text[changed] = other.text[changed] % 17 + 1;
        let after = run(&other);
        let [old, new] = [&before, &after].map(|output| rows(&output.text_logits_btv));
        assert_eq!(old[..=changed], new[..=changed], "token {changed}");
        assert_ne!(old[changed + 1], new[changed + 1], "token {changed}");
        let [old, new] = [&before, &after].map(|output| rows(&output.mel_logits_bmv));
        assert_ne!(old[0], new[0], "codes hear token {changed}");
    }
}

#[test]
fn padding_is_worth_nothing() {
    let gpt = model();
    for quirks in [Quirks::Fixed, Quirks::Compat] {
        let tight = outcome(&gpt, &batch(&clips(), TEXT, CODES, 0), quirks);
        for (text, codes, filler) in [
            (TEXT, CODES, 7),
            (TEXT + 4, CODES, 3),
            (TEXT + 2, CODES + 5, 15),
        ] {
            let loose = outcome(&gpt, &batch(&clips(), text, codes, filler), quirks);
            assert_same(&loose, &tight);
        }
    }
}

#[test]
fn a_row_that_is_no_clip_is_worth_nothing() {
    let gpt = model();
    for quirks in [Quirks::Fixed, Quirks::Compat] {
        let full = outcome(&gpt, &batch(&clips(), TEXT, CODES, 0), quirks);
        let mut with_empty = clips();
        with_empty.push(clip(4, 0, 0));
        assert_same(
            &outcome(&gpt, &batch(&with_empty, TEXT, CODES, 2), quirks),
            &full,
        );
        // Text without codes is no clip either.
        with_empty.push(clip(5, 4, 0));
        assert_same(
            &outcome(&gpt, &batch(&with_empty, TEXT, CODES, 2), quirks),
            &full,
        );
    }
    let nothing = outcome(
        &gpt,
        &batch(&[clip(1, 0, 0)], TEXT, CODES, 0),
        Quirks::Fixed,
    );
    assert_eq!((nothing.text, nothing.mel), (0.0, 0.0));
    assert!(nothing.gradients.values().flatten().all(|x| *x == 0.0));
}

#[test]
fn a_batch_is_the_mean_of_its_rows() {
    let gpt = model();
    let same_length = [clip(1, 6, 9), clip(3, 6, 9), clip(5, 6, 9)];
    let whole = outcome(&gpt, &batch(&same_length, TEXT, CODES, 0), Quirks::Fixed);
    let rows: Vec<Outcome> = same_length
        .iter()
        .map(|clip| {
            let row = batch(std::slice::from_ref(clip), TEXT, CODES, 0);
            outcome(&gpt, &row, Quirks::Fixed)
        })
        .collect();
    let mean =
        |number: &dyn Fn(&Outcome) -> f32| rows.iter().map(number).sum::<f32>() / rows.len() as f32;
    let gradients = whole.gradients.keys().map(|name| {
        let count = whole.gradients[name].len();
        let values = (0..count).map(|i| mean(&|row: &Outcome| row.gradients[name][i]));
        (name.clone(), values.collect())
    });
    let expected = Outcome {
        text: mean(&|row| row.text),
        mel: mean(&|row| row.mel),
        gradients: gradients.collect(),
    };
    assert_same(&whole, &expected);
}

#[test]
fn the_order_of_a_batch_matters_only_to_the_reference() {
    let gpt = model();
    let mut reversed = clips();
    reversed.reverse();
    let run = |clips: &[Clip], quirks| outcome(&gpt, &batch(clips, TEXT, CODES, 0), quirks);
    assert_same(
        &run(&reversed, Quirks::Fixed),
        &run(&clips(), Quirks::Fixed),
    );
    let [one, other] = [
        run(&reversed, Quirks::Compat),
        run(&clips(), Quirks::Compat),
    ];
    assert_ne!(one.mel, other.mel, "only the last row is masked");
}

/// Targets left of each row, as the two modes see the prompt.
#[test]
fn prompts_are_hidden_by_code_or_by_frame() {
    let gpt = model();
    let mut clips = vec![clip(1, 3, 9), clip(2, 3, 9)];
    for clip in &mut clips {
        clip.prompt = [2 * 1024 + 5, 4 * 1024 + 1023];
    }
    let targets = |quirks| -> Vec<Vec<i64>> {
        let output = gpt
            .forward(&batch(&clips, TEXT, CODES, 0), quirks, None)
            .unwrap();
        let targets = output.mel_targets_bm.try_to_vec_as::<i64>().unwrap();
        targets.chunks(CODES + 5).map(<[i64]>::to_vec).collect()
    };
    let hidden = |row: &[i64]| -> Vec<usize> {
        let all = row.iter().enumerate().filter(|(_, id)| **id < 0);
        all.map(|(index, _)| index).collect()
    };
    // Nine codes and four STOPs count; the last place never does.
    let [fixed, compat] = [Quirks::Fixed, Quirks::Compat].map(targets);
    assert_eq!(hidden(&fixed[0]), [2, 3, 13]);
    assert_eq!(hidden(&fixed[1]), [2, 3, 13]);
    assert_eq!(hidden(&compat[0]), [13]);
    assert_eq!(hidden(&compat[1]), [8, 9, 10, 11, 12, 13]);
    assert_eq!(compat[0][9..13], [17; 4]);
}

#[test]
fn dropout_follows_the_key() {
    let gpt = model();
    let batch = batch(&clips(), TEXT, CODES, 0);
    let loss = |drop: Option<StepDropout>| -> f32 {
        let output = gpt.forward(&batch, Quirks::Fixed, drop.as_ref()).unwrap();
        output.losses(0.0).mel.into_scalar()
    };
    let with = |key| loss(Some(StepDropout::new(0.1, key)));
    assert_eq!(with(7), with(7));
    assert_ne!(with(7), with(8));
    assert_ne!(with(7), loss(None));
    assert_eq!(loss(Some(StepDropout::new(0.0, 7))), loss(None));
}

#[test]
fn a_batch_beyond_the_positions_is_refused() {
    let gpt = model();
    let refusal = |text, codes| {
        let error = gpt
            .forward(&batch(&clips(), text, codes, 0), Quirks::Fixed, None)
            .unwrap_err();
        error.to_string()
    };
    insta::assert_snapshot!(refusal(13, CODES), @r"
    13 text tokens do not fit the model, which has positions for 12
      fix:   shorten the clip or the text, or use a model with more positions
    ");
    insta::assert_snapshot!(refusal(TEXT, 19), @r"
    19 audio codes do not fit the model, which has positions for 18
      fix:   shorten the clip or the text, or use a model with more positions
    ");
    gpt.forward(&batch(&clips(), 12, 18, 0), Quirks::Fixed, None)
        .unwrap();
}

#[test]
fn latents_of_a_padded_batch_are_those_of_each_clip() {
    let gpt = model().valid();
    let clips = [clip(1, 4, 7), clip(2, 6, 9), clip(3, 2, 3)];
    let forced = gpt.teacher_forced(&batch(&clips, TEXT, CODES, 11)).unwrap();
    for (row, clip) in clips.iter().enumerate() {
        let (text, codes) = (clip.text.len(), clip.codes.len());
        let alone = batch(std::slice::from_ref(clip), text, codes, 0);
        let voice_1nd = gpt.condition(alone.conditioning_bcs);
        let expected = gpt.latents(voice_1nd.clone(), alone.text_bt, alone.codes_bm);
        let found_1md = forced.latents_bmd.clone().narrow(0, row, 1);
        let pairs = [
            (found_1md.narrow(1, 0, codes), expected.unwrap()),
            (forced.voice_bnd.clone().narrow(0, row, 1), voice_1nd),
        ];
        for (found, expected) in pairs {
            let apart: f32 = (found - expected).abs().max().into_scalar();
            assert!(apart < 1e-4, "clip {row}: {apart}");
        }
    }
}
