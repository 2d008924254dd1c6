//! Parameters have the names of the public files.

use burn::tensor::Device;
use myxtts_model::params;
use myxtts_testkit_model::parity::{dvae, hifigan, speaker};

use crate::fixtures::Set;
use crate::gpt_fixture;

#[test]
fn of_the_gpt() {
    for set in Set::all() {
        let mut ours = params::names(&gpt_fixture::gpt(&set, &Device::flex()));
        ours.sort();
        let theirs: Vec<String> = set.tensors("weights_gpt").0.into_keys().collect();
        assert_eq!(ours, theirs);
    }
}

#[test]
fn of_the_dvae() {
    for set in Set::all() {
        let ours = params::names(&dvae::dvae(&set, &Device::flex()));
        let theirs = set.tensors("weights_dvae").0;
        let mut missing: Vec<_> = theirs.keys().filter(|key| !ours.contains(key)).collect();
        missing.retain(|key| !key.starts_with("discrete_loss."));
        assert_eq!(missing, Vec::<&String>::new());
        assert_eq!(ours.len(), theirs.len() - 3);
    }
}

#[test]
fn of_the_waveform_decoder() {
    for set in Set::all() {
        let mut ours = params::names(&hifigan::decoder(&set, &Device::flex()));
        ours.sort();
        assert!(ours.iter().eq(set.tensors("weights_hifidec").0.keys()));
    }
}

#[test]
fn of_the_speaker_encoder() {
    for set in Set::all() {
        let mut ours = params::names(&speaker::encoder(&set, &Device::flex()));
        ours.sort();
        let theirs = set.tensors("weights_spk").0;
        let counted = theirs
            .keys()
            .filter(|key| !key.starts_with("torch_spec.") && !key.ends_with("num_batches_tracked"));
        assert!(ours.iter().eq(counted));
    }
}
