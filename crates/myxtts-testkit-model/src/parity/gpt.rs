//! The GPT against the reference implementation's own numbers.

use std::collections::BTreeMap;

use burn::tensor::{Int, Tensor};
use myxtts_model::generate::{
    SamplingConfig, generate, repetition_penalty, temperature, top_k, top_p,
};
use myxtts_model::gpt::{Gpt, GptLosses, Quirks};

use super::Cases;
use crate::fixtures::{ACTIVATION, GRADIENT, Part, Set, norm, scalar, values};
use crate::gpt_fixture::{batch, gpt, gradients, number, training_gpt};

/// Losses and every gradient norm of one of the manifest's cases.
fn compare_case(
    set: &Set,
    case: &str,
    gpt: &Gpt,
    losses: &GptLosses,
) -> BTreeMap<String, Vec<f32>> {
    let expected = &set.manifest["gpt"][case];
    for (name, loss) in [("loss_text", &losses.text), ("loss_mel", &losses.mel)] {
        let what = format!("{case} {name}");
        set.scalar(
            &what,
            scalar(loss.clone()),
            number(expected, name),
            ACTIVATION,
        );
    }
    let ours = gradients(gpt, losses);
    let norms = expected["grad_norms"].as_object().unwrap();
    let mut names: Vec<&String> = norms.keys().collect();
    names.sort();
    assert_eq!(
        ours.keys().collect::<Vec<_>>(),
        names,
        "parameters with a gradient"
    );
    for (name, reference) in norms {
        set.scalar(
            &format!("{case} |grad {name}|"),
            norm(&ours[name]),
            reference.as_f64().unwrap(),
            GRADIENT,
        );
    }
    let total = ours.values().map(|x| norm(x).powi(2)).sum::<f64>().sqrt();
    let reference = number(expected, "grad_norm_total");
    set.scalar(&format!("{case} |grad|"), total, reference, GRADIENT);
    ours
}

pub fn training_step(cases: Cases) {
    for (set, device) in cases(Part::Gpt) {
        let file = set.tensors("fx_gpt");
        let gpt = training_gpt(&set, &device);
        let batch = batch(&set, &file, &device);
        let encoded_bds = gpt
            .conditioning_encoder
            .forward(batch.conditioning_bcs.clone(), gpt.compute());
        let perceived_bnd = gpt.condition(batch.conditioning_bcs.clone());
        let output = gpt.forward(&batch, Quirks::Compat, None).unwrap();
        for (name, ours) in [
            ("cond_encoder_out", values(&encoded_bds)),
            ("perceiver_out_b_n_d", values(&perceived_bnd)),
            ("gpt_last_hidden", values(&output.hidden_bpd)),
            ("text_logits_b_t_v", values(&output.text_logits_btv)),
            (
                "mel_logits_b_v_t",
                values(output.mel_logits_bmv.clone().swap_dims(1, 2)),
            ),
        ] {
            set.relative(name, &ours, &file.values(name), ACTIVATION);
        }
        let smoothed = output.losses(0.1);
        let expected = &set.manifest["gpt"]["label_smoothing_0.1"];
        for (name, loss) in [("loss_text", &smoothed.text), ("loss_mel", &smoothed.mel)] {
            let what = format!("label smoothing {name}");
            set.scalar(
                &what,
                scalar(loss.clone()),
                number(expected, name),
                ACTIVATION,
            );
        }
        let ours = compare_case(&set, "nomask", &gpt, &output.losses(0.0));
        let stored = &file.0;
        for (name, ours) in stored
            .keys()
            .filter_map(|key| key.strip_prefix("grad."))
            .map(|name| (name, &ours[name]))
        {
            let reference = file.values(&format!("grad.{name}"));
            set.relative_norm(&format!("grad {name}"), ours, &reference, GRADIENT);
        }
    }
}

pub fn prompt_masking_as_the_reference_has_it(cases: Cases) {
    for (set, device) in cases(Part::Gpt) {
        let file = set.tensors("fx_gpt");
        let gpt = training_gpt(&set, &device);
        let mut batch = batch(&set, &file, &device);
        batch.prompts_b2 = Some(file.ints_on("cond_idxs_samples", &device));
        let output = gpt.forward(&batch, Quirks::Compat, None).unwrap();
        let ours = compare_case(&set, "condidx", &gpt, &output.losses(0.0));
        let reference = file.values("grad_condidx.mel_head.bias");
        set.relative_norm(
            "grad_condidx mel_head.bias",
            &ours["mel_head.bias"],
            &reference,
            GRADIENT,
        );
    }
}

/// How many codes come before one that has a rival within the tolerance of
/// activations: there rounding decides, and everything after follows from it.
fn before_a_tie(set: &Set, scores: &[f32], codes: &[i64], penalty: f32) -> usize {
    let rows = scores.chunks_exact(scores.len() / codes.len());
    let is_tied = |(step, row): (usize, &[f32])| {
        let mut row = row.to_vec();
        let seen: Vec<u32> = codes[..step].iter().map(|code| *code as u32).collect();
        repetition_penalty(&mut row, &seen, penalty);
        let scale = row.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        row.sort_by(|a, b| b.total_cmp(a));
        f64::from(row[0] - row[1]) < set.tolerance(ACTIVATION) * f64::from(scale)
    };
    rows.enumerate().position(is_tied).unwrap_or(codes.len())
}

pub fn inference(cases: Cases) {
    for (set, device) in cases(Part::Gpt) {
        let file = set.tensors("fx_gpt_infer");
        let gpt = gpt(&set, &device);
        let mel: Tensor<4> = file.on("cond_mel", &device);
        let voice_1nd = gpt.condition(mel.squeeze_dim(1));
        set.relative(
            "cond_latents",
            &values(&voice_1nd),
            &file.values("cond_latents"),
            ACTIVATION,
        );
        let vocabulary = gpt.config().vocabulary;
        let most = &set.manifest["gpt_infer"]["max_gen_mel_tokens"];
        assert_eq!(Some(vocabulary.max_new_codes() as u64), most.as_u64());

        let text: Vec<u32> = file
            .ints("text")
            .iter()
            .map(|id| u32::try_from(*id).unwrap())
            .collect();
        for (name, penalty) in [("greedy_codes", 1.0), ("greedy_codes_rp10", 10.0)] {
            let config = SamplingConfig {
                repetition_penalty: penalty,
                quirks: Quirks::Compat,
                ..SamplingConfig::greedy()
            };
            let generated =
                generate(&gpt.for_speaking(), voice_1nd.clone(), &text, config).unwrap();
            let codes: Vec<i64> = generated.codes.iter().map(|&code| code.into()).collect();
            let reference = file.ints(name);
            let at_once = gpt
                .latents(
                    voice_1nd.clone(),
                    file.ints_on("text", &device),
                    file.ints_on(name, &device),
                )
                .unwrap();
            let scores = values(gpt.mel_head.forward(at_once.clone()));
            let sure = before_a_tie(&set, &scores, &reference, penalty);
            assert_eq!(codes[..sure], reference[..sure], "{}: {name}", set.name());
            println!("{}: {name:<56} {sure} codes equal", set.name());
            // What the vocoder gets is the same whether codes are made one by
            // one or given all at once.
            if codes == reference {
                set.relative(
                    "latents one by one",
                    &values(&generated.latents_1nd),
                    &values(&at_once),
                    ACTIVATION,
                );
            }
        }
        let latents_1nd = gpt
            .latents(
                voice_1nd,
                file.ints_on("text", &device),
                file.ints_on("forced_codes", &device),
            )
            .unwrap();
        for name in ["latents", "stream_latents"] {
            set.relative(name, &values(&latents_1nd), &file.values(name), ACTIVATION);
        }
    }
}

pub fn sampling_processors(cases: Cases) {
    for (set, device) in cases(Part::Gpt) {
        let file = set.tensors("fx_gpt_infer");
        let gpt = gpt(&set, &device);
        let prefix = file.ints("prefix_ids");
        let start = i64::from(gpt.config().vocabulary.start_audio());
        let started = prefix.iter().position(|id| *id == start).unwrap();
        // The codes after START, and one more whose latent has the scores.
        let codes: Vec<i64> = prefix[started + 1..].iter().copied().chain([0]).collect();
        let latents_1nd = gpt
            .latents(
                file.on("cond_latents", &device),
                file.ints_on("text", &device),
                Tensor::<1, Int>::from_data(codes.as_slice(), &device).unsqueeze(),
            )
            .unwrap();
        let last_11d = latents_1nd.narrow(1, codes.len() - 1, 1);
        let raw = values(gpt.mel_head.forward(last_11d));
        set.relative(
            "next_logits_raw",
            &raw,
            &file.values("next_logits_raw"),
            ACTIVATION,
        );

        let seen: Vec<u32> = prefix
            .iter()
            .map(|id| u32::try_from(*id).unwrap())
            .collect();
        let mut scores = file.values("next_logits_raw");
        let mut check = |name: &str, process: &dyn Fn(&mut [f32])| {
            process(&mut scores);
            let reference = file.values(name);
            let left_out = |scores: &[f32]| -> Vec<usize> {
                let infinite = scores.iter().enumerate().filter(|(_, x)| x.is_infinite());
                infinite.map(|(id, _)| id).collect()
            };
            assert_eq!(
                left_out(&scores),
                left_out(&reference),
                "{name}: codes left out"
            );
            let finite = |scores: &[f32]| -> Vec<f32> {
                scores.iter().copied().filter(|x| x.is_finite()).collect()
            };
            set.relative(name, &finite(&scores), &finite(&reference), 1e-6);
        };
        check("next_rp10", &|scores| {
            repetition_penalty(scores, &seen, 10.0)
        });
        check("next_rp10_t075", &|scores| temperature(scores, 0.75));
        check("next_topk50", &|scores| top_k(scores, 50));
        check("next_topp085", &|scores| top_p(scores, 0.85));
        let kept = scores.iter().filter(|x| x.is_finite()).count() as u64;
        let reference = &set.manifest["gpt_infer"]["kept_after_top_p"];
        assert_eq!(Some(kept), reference.as_u64());
    }
}
