//! A GPT that learns adapters starts as what it was, learns nothing else, and is handed on merged.

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use myxtts_device::MomentBits;
use myxtts_model::gpt::{GptBatch, Quirks};
use myxtts_model::init::Init;
use myxtts_model::params::{HandedOver, load};
use myxtts_train::config::{StageWord, Stages};
use myxtts_train::objective::{GptObjective, GptObjectiveConfig, Objective};
use myxtts_train::optim::{AdamW, AdamWConfig, NamedGradients};
use myxtts_train::session::TrainRequest;
use myxtts_train::train_loop::LossFactor;
use myxtts_weights::read_safetensors;

use crate::checkpoints::{checkpoint, job, resumed, train};
use crate::mini;
use crate::pieces::{apart, batch, numbers};
use crate::small_stage::gpt;

const RANK: usize = 4;

fn adapted(recompute: bool) -> GptObjective {
    let device = Device::flex();
    let init = Init::new(5, &device.clone().autodiff());
    let objective_config = GptObjectiveConfig {
        quirks: Quirks::Fixed,
        recompute,
        ..GptObjectiveConfig::default()
    };
    let base = gpt(&device, 3, 0.0).gpt;
    GptObjective::new(base.with_adapters(&init, RANK), objective_config)
}

fn loss(objective: &GptObjective, batch: &GptBatch) -> f32 {
    let loss = objective.loss(0, batch, &[], 11).unwrap();
    loss.total.inner().into_scalar()
}

fn gradients(objective: &GptObjective, batch: &GptBatch) -> NamedGradients {
    let mut sum = NamedGradients::default();
    let pass = objective.forward_backward(0, batch, &[], 11, &LossFactor::Known(1.0), &mut sum);
    pass.unwrap();
    sum
}

/// Takes some steps on one batch.
fn learned(mut objective: GptObjective, batch: &GptBatch) -> GptObjective {
    let mut adamw = AdamW::new(AdamWConfig::default());
    for _ in 0..8 {
        let gradients = gradients(&objective, batch);
        objective = objective.apply(0, &mut adamw, gradients, 1e-3);
    }
    objective
}

#[test]
fn the_first_step_begins_with_the_model_as_it_was() {
    let (base, adapted) = (gpt(&Device::flex(), 3, 0.0), adapted(false));
    let batch = batch(3, &Device::flex());
    assert!(loss(&base, &batch) == loss(&adapted, &batch));
    assert!(base.state().unwrap() == adapted.state().unwrap());
    // What is trained is kept beside it.
    assert!(base.trained().is_none());
    let kept = adapted.trained().unwrap();
    assert_eq!(kept.len(), base.tensors().len() + 2 * 4 * 2);
}

#[test]
fn only_adapters_and_text_have_gradients() {
    let objective = learned(adapted(false), &batch(3, &Device::flex()));
    let found = gradients(&objective, &batch(3, &Device::flex()));
    let names = found.iter().map(|(name, _)| name.to_owned());
    let (adapters, others): (Vec<_>, Vec<_>) = names.partition(|name| name.contains(".adapter."));
    assert_eq!(adapters.len(), 2 * 4 * 2, "{adapters:?}");
    let text = [
        "text_embedding.weight",
        "text_head.bias",
        "text_head.weight",
    ];
    assert_eq!(others, text);
    for (name, values) in numbers(&found) {
        assert!(values.iter().any(|value| *value != 0.0), "{name}");
    }
}

#[test]
fn recomputation_and_pieces_give_the_same_gradients() {
    assert_eq!(apart(&adapted(true), 7), 0.0);
    let divided = apart(&adapted(true), 9);
    assert!(divided > 0.0 && divided < 1e-5, "{divided:e}");
}

#[test]
fn adapters_learn_and_merged_weights_say_the_same() {
    let device = Device::flex();
    let batch = batch(3, &device);
    let before = adapted(false);
    let frozen = before.state().unwrap();
    let at_first = loss(&before, &batch);
    let objective = learned(before, &batch);
    let after = loss(&objective, &batch);
    assert!(after < 0.9 * at_first, "{at_first} to {after}");

    let merged = objective.state().unwrap();
    let moved = merged.iter().filter(|(name, data)| frozen[*name] != **data);
    // Four projections in each of two blocks, and three tensors of the text.
    assert_eq!(moved.count(), 2 * 4 + 3);
    let mut plain = gpt(&device, 4, 0.0);
    plain.gpt = load(plain.gpt, &HandedOver::from(merged), "").unwrap();
    let apart = (loss(&plain, &batch) - after).abs() / after;
    assert!(apart < 1e-5, "{apart:e}");
}

/// A run that has a GPT to start from.
fn base(folder: &Path) -> TrainRequest {
    let base = job(folder, 2, 0);
    train(&base).unwrap();
    base
}

/// A fine-tuning of `base` with adapters, kept in a folder of its own.
fn fine_tuning(base: &TrainRequest, run: &Path) -> TrainRequest {
    let mut job = mini::kept_in(run, base);
    job.config.training.run.init = Some(base.folder().to_str().unwrap().to_owned());
    job.config.training.run.stage = Stages::One(StageWord::Gpt);
    job.config.training.run.max_steps = Some(6);
    job.config.training.run.checkpoint_every = 3;
    job.config.training.run.keep_checkpoints = 100;
    job.config.training.optimizer.dropout = Some(0.1);
    job.plan.savings.adapters = 4;
    job.plan.savings.recompute = true;
    job.plan.savings.moments = MomentBits::Int8;
    job.plan.gradient_accumulation_steps = 2;
    job
}

#[test]
fn a_run_with_adapters_resumes_bit_for_bit_and_is_handed_on_merged() {
    let folder = tempfile::tempdir().unwrap();
    let base = base(folder.path());
    let job = fine_tuning(&base, &folder.path().join("adapted"));
    train(&job).unwrap();
    let files = ["gpt", "raw", "optimizer"].map(|name| format!("{name}.safetensors"));
    let read = || {
        let last = checkpoint(&job.folder(), 6);
        files.clone().map(|name| fs::read(last.join(name)).unwrap())
    };
    let whole = read();
    train(&resumed(&job, 3)).unwrap();
    assert!(whole == read());

    // The model's files look like those of any other model.
    let stored = |run: &TrainRequest, step: u64| {
        read_safetensors(&checkpoint(&run.folder(), step).join("gpt.safetensors")).unwrap()
    };
    let names = |map: &myxtts_weights::TensorMap| -> Vec<String> {
        map.names().map(str::to_owned).collect()
    };
    let (before, after) = (stored(&base, 4), stored(&job, 6));
    assert_eq!(names(&before), names(&after));
    let moved = |name: &str| before.get(name) != after.get(name);
    assert!(moved("gpt.gpt.h.0.mlp.c_fc.weight"));
    assert!(!moved("gpt.gpt.h.0.mlp.c_fc.bias"));

    // What was learned with adapters is not continued without them.
    let mut without = resumed(&job, 3);
    without.plan.savings.adapters = 0;
    let refused = train(&without).unwrap_err().to_string();
    assert!(refused.contains("training.adapters"), "{refused}");
}

#[test]
fn a_new_gpt_has_nothing_to_adapt() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path(), 2, 0);
    job.plan.savings.adapters = 4;
    let refused = train(&job).unwrap_err().to_string();
    assert!(
        refused.contains("adapters need a GPT that was trained"),
        "{refused}"
    );
}
