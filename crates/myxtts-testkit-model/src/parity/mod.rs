//! The model against the reference implementation's own numbers, on any device.
//!
//! The bodies stand here because they run twice: on the CPU with the tests of the model, and on
//! software GPUs. [`parity_tests`](crate::parity_tests) makes the tests of a binary.

pub mod dvae;
pub mod gpt;
pub mod hifigan;
pub mod mel;
pub mod speaker;

use burn::tensor::Device;

use crate::fixtures::{Part, Set};

/// Every set of reference numbers with the device to compare a part on.
pub type Cases = fn(Part) -> Vec<(Set, Device)>;

/// Makes a test of every comparison, on the sets and devices of `$cases`.
#[macro_export]
macro_rules! parity_tests {
    ($cases:path) => {
        // Tests start in the order of their names: on software GPUs those of the GPT, which are on
        // one device, are to come between those of the codec, which are on the other.
        $crate::parity_tests!(@ $cases, parity_dvae, dvae: encodes_and_decodes, padded_waves_have_the_codes_of_the_padded_wave, training_step_gradients_and_codebook);
        $crate::parity_tests!(@ $cases, parity_hifigan, hifigan: waveform_and_the_way_to_it, first_stage, gradients_reach_length_and_direction);
        $crate::parity_tests!(@ $cases, parity_mel, mel: mel_front_ends);
        $crate::parity_tests!(@ $cases, parity_of_gpt, gpt: training_step, prompt_masking_as_the_reference_has_it, inference, sampling_processors);
        $crate::parity_tests!(@ $cases, parity_speaker, speaker: mel_and_embedding);
    };
    (@ $cases:path, $name:ident, $part:ident: $($test:ident),+) => {
        mod $name {
            $(
                #[test]
                fn $test() {
                    $crate::parity::$part::$test($cases);
                }
            )+
        }
    };
}
