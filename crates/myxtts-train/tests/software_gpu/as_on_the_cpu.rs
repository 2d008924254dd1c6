//! What must be the CPU's to the bit, so that a run may go on another device.

use burn::tensor::{Device, Tensor};
use myxtts_model::generate::{Generation, SamplingConfig, generate};

use crate::fixtures::{ACTIVATION, Part, values, whole};
use crate::gpt_fixture::gpt;
use crate::place;
use crate::place::cases;

#[test]
fn dropped_elements() {
    let Some(gpu) = place::device(Part::Codec) else {
        return;
    };
    let drop = myxtts_ops::Dropout {
        probability: 0.1,
        key: u64::MAX - 5,
        first_row: 0,
    };
    let [gpu, cpu] = [gpu, Device::flex()].map(|device| {
        let ones = Tensor::<2>::ones([7, 1001], &device);
        values(myxtts_ops::dropout(ones, &drop))
    });
    assert_eq!(gpu, cpu);
    assert!(gpu.contains(&0.0) && gpu.iter().any(|&x| x > 1.0));
}

/// The first of equal values, as a code is chosen.
#[test]
fn the_first_of_equals() {
    let Some(gpu) = place::device(Part::Codec) else {
        return;
    };
    let firsts = Tensor::<2>::ones([4, 30], &gpu).argmin(1);
    assert_eq!(whole(firsts), [0; 4]);
}

/// Rows that share a cache on the device, one of which comes while others run:
/// each says what it says alone on the CPU.
#[test]
fn codes_of_rows_together() {
    let Some((set, gpu)) = cases(Part::Gpt).into_iter().next() else {
        return;
    };
    let file = set.tensors("fx_gpt_infer");
    let text: Vec<u32> = file.ints("text").iter().map(|&id| id as u32).collect();
    // The step at which each comes, how much of the text, and how many codes.
    let rows = [(0, 11, 8), (0, 4, 3), (2, 7, 6)];
    let sampling = |codes: usize| SamplingConfig {
        max_codes: Some(codes),
        repetition_penalty: 2.0,
        ..SamplingConfig::greedy()
    };
    let voice_1nd = file.on::<3>("cond_latents", &gpu);
    let mut generation = Generation::new(&gpt(&set, &gpu).for_speaking());
    let mut ids = vec![];
    let mut made = vec![(vec![], vec![]); rows.len()];
    for step in 0.. {
        for (_, length, codes) in rows.iter().filter(|(at, ..)| *at == step) {
            let text = &text[..*length];
            ids.push(
                generation
                    .admit(voice_1nd.clone(), text, sampling(*codes))
                    .unwrap(),
            );
        }
        if generation.live() == 0 {
            break;
        }
        for step in generation.step().unwrap() {
            let row = ids.iter().position(|id| *id == step.row).unwrap();
            made[row].0.push(step.code);
            made[row].1.extend(values(step.latent_11d));
        }
    }
    let cpu = Device::flex();
    let speaking = gpt(&set, &cpu).for_speaking();
    for ((_, length, codes), (found, latents)) in rows.into_iter().zip(made) {
        let voice_1nd = file.on::<3>("cond_latents", &cpu);
        let alone = generate(&speaking, voice_1nd, &text[..length], sampling(codes)).unwrap();
        assert_eq!(found, alone.codes);
        set.relative(
            "latents together",
            &latents,
            &values(alone.latents_1nd),
            ACTIVATION,
        );
    }
}
