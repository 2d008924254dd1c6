//! The feed's device stage.

use std::sync::Arc;

use burn::tensor::{Device, Int, Tensor};
use myxtts_audio::units::Samples;
use myxtts_audio::{AudioConfig, Limits};
use myxtts_data::generated_corpus::generate;
use myxtts_data::host_stage::{Clip, HostStage, HostStageConfig, PreparedBatch, Segments};
use myxtts_data::schedule::{Batch, BucketShape, ClipIndex, ConditioningSpec};
use myxtts_data::units::{Codes, Tokens};
use myxtts_model::dvae::{Dvae, DvaeConfig};
use myxtts_model::gpt::GptBatch;
use myxtts_model::init::Init;
use myxtts_text::{CleanOptions, Training, Vocabulary};
use myxtts_train::feed::{DeviceFeed, FrontEnd, ShapeTracker};

use crate::fixtures::Part;
use crate::place;

const SMALL: DvaeConfig = DvaeConfig {
    hidden: 16,
    codes: 32,
    codebook_dim: 16,
    ..DvaeConfig::TINY
};
const CONDITIONING: ConditioningSpec = ConditioningSpec {
    min: Samples(11_025),
    max: Samples(22_050),
};

/// A generated clip and an empty row.
fn filled() -> PreparedBatch {
    let folder = tempfile::tempdir().unwrap();
    generate(folder.path(), 1).unwrap();
    let clip = Clip {
        audio: folder.path().join("wavs/clip-00000.wav"),
        span: None,
        text: "seven lamps".to_owned(),
        language: "en".parse().unwrap(),
    };
    let training = Training {
        languages: vec![clip.language.clone()],
        ..Training::default()
    };
    let vocabulary = Vocabulary::train([clip.text.clone()], &training).unwrap();
    let config = HostStageConfig {
        audio: AudioConfig::default(),
        limits: Limits::default(),
        text: CleanOptions::default(),
        conditioning: CONDITIONING,
        segments: Segments::Drawn { seed: 0 },
    };
    let stage = HostStage::new(vec![clip], Arc::new(vocabulary), config);
    let shape = BucketShape {
        text: Tokens(20),
        audio: Codes(210),
    };
    let rows = vec![Some(ClipIndex(0)), None];
    let batch = Batch {
        bucket: 0,
        shape,
        rows,
    };
    let mut buffer = stage.buffer(&batch);
    let mut scratch = stage.scratch();
    stage.fill(0, &batch, &mut buffer, &mut scratch).unwrap();
    PreparedBatch::new(buffer)
}

fn on(device: &Device, filled: &PreparedBatch) -> GptBatch {
    let dvae = Dvae::new(&Init::new(3, device), &SMALL).unwrap();
    let tracker = Arc::new(ShapeTracker::default());
    let feed = DeviceFeed::new(device, dvae, &FrontEnd::XTTS, true, tracker);
    feed.unwrap().batch(filled).unwrap()
}

#[test]
fn a_batch_is_what_it_is_on_the_cpu() {
    let Some(gpu) = place::device(Part::Codec) else {
        return;
    };
    let filled = filled();
    let (ours, theirs) = (on(&gpu, &filled), on(&Device::flex(), &filled));
    assert_eq!(ours.conditioning_bcs.dims(), theirs.conditioning_bcs.dims());
    let mel = |batch: &GptBatch| -> Vec<f32> {
        let data = batch.conditioning_bcs.clone().into_data();
        data.iter().collect()
    };
    for (ours, theirs) in mel(&ours).iter().zip(mel(&theirs)) {
        assert!((ours - theirs).abs() < 1e-2, "{ours} {theirs}");
    }
    let integers = |tensor: Tensor<2, Int>| -> Vec<i64> { tensor.into_data().iter().collect() };
    assert_eq!(integers(ours.text_bt), integers(theirs.text_bt));
    let prompts = [ours.prompts_b2, theirs.prompts_b2].map(|p| integers(p.unwrap()));
    assert_eq!(prompts[0], prompts[1]);
    assert!(prompts[0][1] > prompts[0][0], "{prompts:?}");
    // Two entries of the codebook may be equally near but for rounding.
    let (ours, theirs) = (integers(ours.codes_bm), integers(theirs.codes_bm));
    assert_eq!(ours.len(), theirs.len());
    let other = ours.iter().zip(&theirs).filter(|(a, b)| a != b).count();
    assert!(other <= 4, "{other} of {} codes differ", ours.len());
    assert!(
        ours[..210].iter().any(|code| *code != ours[0]),
        "all codes alike"
    );
}
