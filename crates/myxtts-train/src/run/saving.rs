//! What a checkpoint keeps of a stage, and a stage from a checkpoint.

use burn::tensor::TensorData;
use myxtts_model::params::StateDict;
use myxtts_run::checkpoint::{Checkpoint, Content, Snapshot};
use myxtts_run::guard::{NonFinite, SpikeDetector};
use myxtts_run::units::Step;
use myxtts_weights::{Dtype, Tensor, TensorMap, read_safetensors, safetensors_bytes};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::job::StageName;
use crate::ema::Ema;
use crate::error::TrainError;
use crate::looping::State;
use crate::optim::{AdamW, AdamWConfig};
use crate::scaler::LossScale;
use crate::trainee::Trainee;

const EMA: &str = "ema.safetensors";

/// The section of [`Owed`].
pub(super) const OWED: &str = "owed";

/// Where a run stood: the section `stage` of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Position {
    /// The stage.
    pub(super) stage: StageName,
    /// Steps of the run before it.
    pub(super) before: u64,
    /// Steps of the stage taken.
    pub(super) done: u64,
    /// Steps of the stage.
    pub(super) steps: u64,
    /// Whether it was over before its last step.
    #[serde(default)]
    pub(super) ended_early: bool,
}

/// What was due at a checkpoint's step and left when the run was asked to
/// stop: the section `owed`, absent where nothing is. Whoever resumes does it
/// first, so that a run that was stopped has what one that was not has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Owed {
    /// A validation.
    pub(super) validation: bool,
    /// Samples.
    pub(super) samples: bool,
}

impl Owed {
    /// Whether anything is.
    pub(super) fn is_any(self) -> bool {
        self != Self::default()
    }

    /// What a checkpoint owes.
    pub(super) fn of(checkpoint: &Checkpoint) -> Result<Self, TrainError> {
        match checkpoint.manifest().sections.contains_key(OWED) {
            true => section(checkpoint, OWED),
            false => Ok(Self::default()),
        }
    }
}

/// What a stage's guards remember: the section `guards`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct GuardState {
    non_finite: NonFinite,
    spikes: SpikeDetector,
    scale: LossScale,
}

/// A snapshot of a stage; `contents` are the model's own files, its weights
/// among them.
pub(super) fn snapshot<T: Trainee>(
    state: &State<T>,
    position: &Position,
    steps_per_epoch: u64,
    mut contents: Vec<Content>,
) -> Result<Snapshot, TrainError> {
    for (phase, optimiser) in state.optimisers.iter().enumerate() {
        contents.push(file(&optimiser_file(phase), &optimiser.state_dict())?);
    }
    if let Some(ema) = &state.ema {
        contents.push(file(EMA, ema.weights())?);
    }
    let guards = GuardState {
        non_finite: state.non_finite.clone(),
        spikes: state.spikes.clone(),
        scale: state.scale,
    };
    let per_epoch = steps_per_epoch.max(1);
    Ok(Snapshot {
        step: Step(position.before + position.done),
        epoch: position.done / per_epoch,
        schedule_position: position.done % per_epoch,
        sections: [
            ("stage".to_owned(), json!(position)),
            ("guards".to_owned(), json!(guards)),
        ]
        .into(),
        contents,
        best: None,
    })
}

/// The position a checkpoint was made at.
pub(super) fn position(checkpoint: &Checkpoint) -> Result<Position, TrainError> {
    section(checkpoint, "stage")
}

/// A stage's state from its checkpoint, in place of a new one.
pub(super) fn restore<T: Trainee>(
    mut state: State<T>,
    checkpoint: &Checkpoint,
    adamw: AdamWConfig,
) -> Result<State<T>, TrainError> {
    let mut stored = StateDict::new();
    for (name, prefix) in T::WEIGHTS {
        stored.extend(without_prefix(weights(checkpoint, name)?, prefix));
    }
    let trainee = state.trainee.with_state(&stored);
    state.trainee = trainee.map_err(TrainError::Failed)?;
    let device = state.trainee.device();
    for (phase, optimiser) in state.optimisers.iter_mut().enumerate() {
        let stored = weights(checkpoint, &optimiser_file(phase))?;
        *optimiser = AdamW::from_state(adamw, &stored, &device).map_err(TrainError::failed)?;
    }
    if let Some(ema) = &mut state.ema {
        let files = &checkpoint.manifest().files;
        if files.iter().any(|file| file.name == EMA) {
            *ema = Ema::new(ema.decay(), weights(checkpoint, EMA)?);
        }
    }
    let guards: GuardState = section(checkpoint, "guards")?;
    // What they have seen is the run's; how strict they are is the job's.
    state.non_finite = state.non_finite.resumed(guards.non_finite);
    state.spikes = state.spikes.resumed(guards.spikes);
    state.scale = state.scale.resumed(guards.scale);
    state.done = position(checkpoint)?.done;
    Ok(state)
}

/// A section of a manifest.
pub(super) fn section<D: serde::de::DeserializeOwned>(
    checkpoint: &Checkpoint,
    name: &str,
) -> Result<D, TrainError> {
    let value = checkpoint.manifest().sections.get(name);
    let value = value.cloned().unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|why| {
        TrainError::Failed(format!(
            "the checkpoint {} has no usable section `{name}`: {why}\n  fix:   resume from another \
             with --resume STEP",
            checkpoint.folder().display()
        ))
    })
}

/// Names without what stands before them in a file.
pub(super) fn without_prefix(state: StateDict, prefix: &str) -> StateDict {
    let strip = |(name, data): (String, TensorData)| {
        let short = name.strip_prefix(prefix).map(str::to_owned);
        (short.unwrap_or(name), data)
    };
    state.into_iter().map(strip).collect()
}

fn optimiser_file(phase: usize) -> String {
    match phase {
        0 => "optimizer.safetensors".to_owned(),
        phase => format!("optimizer_{phase}.safetensors"),
    }
}

/// Tensors as a file of a checkpoint.
pub(super) fn file(name: &str, state: &StateDict) -> Result<Content, TrainError> {
    let bytes = safetensors_bytes(&tensor_map(state)?).map_err(TrainError::failed)?;
    Ok(Content::bytes(name, bytes))
}

/// Tensors of a file of a checkpoint; its hash was checked by whoever opened it.
pub(super) fn weights(checkpoint: &Checkpoint, name: &str) -> Result<StateDict, TrainError> {
    let map = read_safetensors(&checkpoint.folder().join(name)).map_err(TrainError::failed)?;
    let data = |tensor: &Tensor| {
        let shape = tensor.shape().to_vec();
        match tensor.dtype() {
            Dtype::I64 => {
                let (chunks, _) = tensor.bytes().as_chunks::<8>();
                let values: Vec<i64> = chunks.iter().map(|c| i64::from_le_bytes(*c)).collect();
                TensorData::new(values, shape)
            }
            _ => TensorData::new(tensor.to_f32(), shape),
        }
    };
    Ok(map
        .iter()
        .map(|(name, tensor)| (name.to_owned(), data(tensor)))
        .collect())
}

/// Tensors in the words of the weights' crate; integers stay integers.
pub(super) fn tensor_map(state: &StateDict) -> Result<TensorMap, TrainError> {
    let mut map = TensorMap::new();
    for (name, data) in state {
        let shape = data.shape().to_vec();
        let tensor = match data.as_slice::<i64>() {
            Ok(values) => {
                let bytes = values.iter().flat_map(|value| value.to_le_bytes());
                Tensor::new(Dtype::I64, shape, bytes.collect())
            }
            Err(_) => Tensor::from_f32(shape, &data.iter::<f32>().collect::<Vec<_>>()),
        };
        map.insert(name.clone(), tensor.map_err(TrainError::failed)?);
    }
    Ok(map)
}
