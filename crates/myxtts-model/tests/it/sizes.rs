//! Parameter counts and memory, from sizes alone.

use burn::module::Module;
use burn::tensor::Device;
use myxtts_model::ModelSize;
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::gpt::{
    BatchShape, Gpt, GptConfig, Kernels, ParameterCount, TrainingMemory, Vocabulary, rows_within,
};
use myxtts_model::init::Init;

fn with_tokens(text_tokens: usize) -> Vocabulary {
    Vocabulary {
        text_tokens,
        ..Vocabulary::XTTS_V2
    }
}

#[test]
fn the_public_model_by_part() {
    let count = ParameterCount::of(&ModelSize::XttsV2.gpt(Vocabulary::XTTS_V2));
    let expected = ParameterCount {
        transformer: 377_888_768,
        conditioning_encoder: 25_285_632,
        conditioning_perceiver: 21_014_184,
        text_embedding: 6_841_344,
        text_head: 6_848_025,
        mel_embedding: 1_050_624,
        mel_head: 1_051_650,
        mel_positions: 622_592,
        text_positions: 413_696,
        final_norm: 2_048,
    };
    assert_eq!(count, expected);
    assert_eq!(count.total(), 441_018_563);
    let older = ModelSize::XttsV2.gpt(with_tokens(6153));
    assert_eq!(ParameterCount::of(&older).total(), 439_936_691);
}

/// Totals of the reference at other sizes, in millions to two places.
#[test]
fn other_sizes_of_the_reference() {
    for (layers, channels, heads, millions) in [
        (2, 64, 4, 1.60),
        (4, 128, 4, 4.10),
        (8, 512, 8, 46.30),
        (12, 768, 12, 124.54),
        (20, 1024, 16, 315.06),
        (36, 1280, 20, 800.41),
    ] {
        let config = GptConfig {
            layers,
            channels,
            heads,
            ..ModelSize::XttsV2.gpt(Vocabulary::XTTS_V2)
        };
        let total = ParameterCount::of(&config).total() as f64 / 1e6;
        assert!(
            (total - millions).abs() <= 0.005,
            "{layers} x {channels}: {total} M, and the reference has {millions} M"
        );
    }
}

#[test]
fn a_count_is_what_a_model_has() {
    let device = Device::flex();
    let vocabulary = Vocabulary {
        text_tokens: 50,
        codes: 30,
        max_text_tokens: 20,
        max_audio_tokens: 25,
        ..Vocabulary::XTTS_V2
    };
    let odd = GptConfig {
        layers: 3,
        channels: 40,
        heads: 5,
        encoder_blocks: 1,
        perceiver: PerceiverConfig {
            latents: 7,
            depth: 3,
            heads: 2,
            head_channels: 9,
        },
        mel_bands: 11,
        ..ModelSize::Tiny.gpt(vocabulary)
    };
    for config in [ModelSize::Tiny.gpt(vocabulary), odd] {
        let gpt = Gpt::new(&Init::new(1, &device), &config);
        let count = ParameterCount::of(&config);
        assert_eq!(gpt.num_params(), count.total());
        assert_eq!(gpt.gpt.num_params(), count.transformer);
        let [encoder, perceiver] = [count.conditioning_encoder, count.conditioning_perceiver];
        assert_eq!(gpt.conditioning_encoder.num_params(), encoder);
        assert_eq!(gpt.conditioning_perceiver.num_params(), perceiver);
        assert_eq!(gpt.text_head.num_params(), count.text_head);
        assert_eq!(gpt.mel_pos_embedding.num_params(), count.mel_positions);
    }
}

#[test]
fn the_table_of_sizes() {
    // The longest bucket of the public recipe: 11.6 s, 200 tokens, 6 s of voice.
    let shape = BatchShape {
        text: 200,
        codes: 250,
        frames: 517,
    };
    let mut table = String::from("size      parameters  weights, gradients, moments  per sample\n");
    for size in ModelSize::ALL {
        let config = size.gpt(Vocabulary::XTTS_V2);
        let memory = TrainingMemory::of(&config, shape, 1, Kernels::GPU);
        let megabytes = |bytes: u64| bytes >> 20;
        let name = serde_json::to_value(size).unwrap();
        table += &format!(
            "{:<8} {:>11}  {:>24} MB  {:>7} MB\n",
            name.as_str().unwrap(),
            ParameterCount::of(&config).total(),
            megabytes(memory.total() - memory.activations),
            megabytes(memory.activations),
        );
    }
    insta::assert_snapshot!(table);
}

#[test]
fn activations_grow_with_the_batch_and_the_rest_does_not() {
    let config = ModelSize::Small.gpt(Vocabulary::XTTS_V2);
    let shape = BatchShape {
        text: 50,
        codes: 100,
        frames: 200,
    };
    let [one, four] =
        [1, 4].map(|samples| TrainingMemory::of(&config, shape, samples, Kernels::GPU));
    assert_eq!(four.activations, 4 * one.activations);
    assert_eq!(four.moments, one.moments);
    assert_eq!(one.moments, 2 * one.parameters);
}

/// A batch of short clips has more rows and needs no more memory: their
/// conditioning is as long as that of long clips.
#[test]
fn rows_of_a_short_shape_need_no_more_than_the_longest() {
    let config = ModelSize::XttsV2.gpt(Vocabulary::XTTS_V2);
    let shape = |text, codes| BatchShape {
        text,
        codes,
        frames: 517,
    };
    let longest = shape(200, 200);
    for rows in [1, 4, 16] {
        for short in [shape(25, 30), shape(60, 40), shape(120, 150), longest] {
            let within = rows_within(&config, longest, rows, short);
            assert!(within >= rows);
            for kernels in [Kernels::CPU, Kernels::GPU] {
                let of =
                    |shape, rows| TrainingMemory::of(&config, shape, rows, kernels).activations;
                assert!(
                    of(short, within) <= of(longest, rows),
                    "{within} of {short:?}"
                );
            }
        }
    }
    // By positions alone it would be seven.
    assert_eq!(rows_within(&config, longest, 1, shape(25, 30)), 3);
}

#[test]
fn half_precision_keeps_copies_beside_f32() {
    let config = ModelSize::Small.gpt(Vocabulary::XTTS_V2);
    let shape = BatchShape {
        text: 50,
        codes: 100,
        frames: 200,
    };
    let of = |half| {
        let kernels = Kernels {
            half,
            ..Kernels::GPU
        };
        TrainingMemory::of(&config, shape, 1, kernels)
    };
    let (half, whole) = (of(true), of(false));
    assert_eq!(half.parameters, whole.parameters * 3 / 2);
    assert!(half.activations > whole.activations);
}
