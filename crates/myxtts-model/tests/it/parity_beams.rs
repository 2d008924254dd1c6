//! The search with beams against the reference implementation's.

use myxtts_model::generate::{SamplingConfig, SpeakingGpt, generate};
use myxtts_model::gpt::Quirks;
use serde_json::Value;

use crate::fixtures::Part;
use crate::gpt_fixture::{gpt, number};
use crate::place::cases;

/// As `tools/make-beam-fixture` wrote them; sets without are left out.
#[test]
fn beams() {
    let mut compared = 0;
    for (set, device) in cases(Part::Gpt) {
        let Some(searches) = set.json("beams") else {
            continue;
        };
        let file = set.tensors("fx_gpt_infer");
        let gpt = gpt(&set, &device);
        let voice_1nd = file.on::<3>("cond_latents", &device);
        let text: Vec<u32> = file.ints("text").iter().map(|&id| id as u32).collect();
        for search in searches.as_array().unwrap() {
            let config = SamplingConfig {
                num_beams: search["num_beams"].as_u64().unwrap() as usize,
                length_penalty: number(search, "length_penalty") as f32,
                repetition_penalty: number(search, "repetition_penalty") as f32,
                quirks: Quirks::Compat,
                ..SamplingConfig::greedy()
            };
            for speaking in [gpt.for_speaking(), SpeakingGpt::plain(&gpt)] {
                let found = generate(&speaking, voice_1nd.clone(), &text, config).unwrap();
                let found: Vec<Value> = found.codes.iter().map(|&code| code.into()).collect();
                assert_eq!(search["codes"], Value::from(found), "{config:?}");
            }
            compared += 1;
        }
    }
    println!("{compared} searches are the reference's");
    let committed = std::env::var_os("MYXTTS_PARITY_DIR").is_none();
    assert!(!committed || compared == 18, "{compared} searches compared");
}
