//! What a checkpoint stores of a stage, and how a stage is restored from it.

use std::io::{self, Write};

use burn::tensor::TensorData;
use myxtts_base::report;
use myxtts_infer::{state_dict, tensor_data};
use myxtts_model::params::{StateDict, Unread, Weights};
use myxtts_run::checkpoint::{Checkpoint, Content, Snapshot};
use myxtts_run::guard::{NonFinite, SpikeDetector};
use myxtts_run::units::{Bytes, Step};
use myxtts_weights::{Dtype, SafetensorsStream, TensorMap, TensorStream, read_safetensors};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::StageName;
use crate::error::TrainError;
use crate::objective::Objective;
use crate::optim::{AdamW, AdamWConfig};
use crate::train_loop::{Ema, LossScale, State};

/// The weights as the optimizer left them, in checkpoints whose model files hold an average of
/// them, or adapters merged into them: a resumed run continues with these.
const RAW: &str = "raw.safetensors";

/// The average, in checkpoints of schema 1, whose model files hold the raw weights.
const EMA: &str = "ema.safetensors";

/// The name of the section that holds [`Owed`].
pub(crate) const OWED: &str = "owed";

/// The section of a checkpoint that says how many rows its batches have.
const ROWS: &str = "rows";

/// Whether the run of a checkpoint bounds the rows of short buckets by the memory they need.
pub(crate) fn bounds_rows(checkpoint: &Checkpoint) -> bool {
    checkpoint.manifest().sections.contains_key(ROWS)
}

/// The section that says so.
pub(crate) fn rows_are_bounded() -> (String, Value) {
    (ROWS.to_owned(), json!("bounded"))
}

/// Where a run stands: the section `stage` of a manifest.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Position {
    /// The stage being trained.
    pub(crate) stage: StageName,
    /// Steps of the run before the stage.
    pub(crate) before: u64,
    /// Steps of the stage taken so far.
    pub(crate) done: u64,
    /// Steps of the stage in all.
    pub(crate) steps: u64,
    /// Whether the stage ended before its last step.
    #[serde(default)]
    pub(crate) ended_early: bool,
    /// What the decoder stage began with, on which its course depends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) found: Option<Found>,
}

/// What the decoder stage found among the weights it began with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Found {
    /// Whether the decoder had been trained before.
    pub(crate) decoder: bool,
    /// Whether its discriminators had been trained before.
    #[serde(rename = "judges")]
    pub(crate) discriminator: bool,
}

/// Work that was due at a checkpoint's step but left undone when the run was asked to stop: the
/// section `owed`, absent if there is none. A resumed run does it first, so that it ends up with
/// all that an uninterrupted one has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Owed {
    /// Whether a validation is owed.
    pub(crate) validation: bool,
    /// Whether samples are owed.
    pub(crate) samples: bool,
    /// Whether the model's evaluation at the end of its stage is owed.
    #[serde(default)]
    pub(crate) conclusion: bool,
}

impl Owed {
    /// Whether any work is owed.
    pub(crate) fn is_any(self) -> bool {
        self != Self::default()
    }

    /// Reads what a checkpoint owes.
    pub(crate) fn of(checkpoint: &Checkpoint) -> Result<Self, TrainError> {
        match checkpoint.manifest().sections.contains_key(OWED) {
            true => section(checkpoint, OWED),
            false => Ok(Self::default()),
        }
    }
}

/// What a stage's guards have seen: the section `guards`.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct GuardState {
    non_finite: NonFinite,
    spikes: SpikeDetector,
    scale: LossScale,
}

/// Makes a snapshot of a stage; `contents` are the model's own files, including its weights.
/// Nothing is read yet: each tensor is read when its file is written.
pub(crate) fn snapshot<'a, T: Objective>(
    state: &'a State<T>,
    position: &Position,
    steps_per_epoch: u64,
    mut contents: Vec<Content<'a>>,
) -> Result<Snapshot<'a>, TrainError> {
    for (phase, optimizer) in state.optimizers.iter().enumerate() {
        let mut tensors = streams(optimizer.moments());
        tensors.extend(optimizer.steps().map(|(name, steps)| {
            let write = move |out: &mut dyn Write| out.write_all(&steps.to_le_bytes());
            TensorStream::new(name, Dtype::I64, vec![1], write)
        }));
        contents.push(file(&optimizer_file(phase), tensors)?);
    }
    let averaged = || state.ema.is_some().then(|| state.objective.tensors());
    if let Some(raw) = state.objective.trained().or_else(averaged) {
        contents.push(file(RAW, streams(raw))?);
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

/// Reads the position at which a checkpoint was made.
pub(crate) fn position(checkpoint: &Checkpoint) -> Result<Position, TrainError> {
    section(checkpoint, "stage")
}

/// Restores a stage's state from its checkpoint. Tensors are read from the mapped files one after
/// the other.
pub(crate) fn restore<T: Objective>(
    mut state: State<T>,
    checkpoint: &Checkpoint,
    adamw: AdamWConfig,
) -> Result<State<T>, TrainError> {
    let model = Stored::open(checkpoint, T::WEIGHTS)?;
    let has = |name: &str| {
        let files = &checkpoint.manifest().files;
        files.iter().any(|file| file.name == name)
    };
    // The raw weights lie beside what was made of them.
    let raw = has(RAW).then(|| Stored::open(checkpoint, &[(RAW, "")]));
    let raw = raw.transpose()?;
    let objective = state.objective.with_state(raw.as_ref().unwrap_or(&model));
    state.objective = objective.map_err(TrainError::failed)?;
    let device = state.objective.device();
    for (phase, optimizer) in state.optimizers.iter_mut().enumerate() {
        let name = optimizer_file(phase);
        let stored = Stored::open(checkpoint, &[(name.as_str(), "")])?;
        let read = AdamW::from_state(adamw, stored.names(), &stored, &device);
        *optimizer = read.map_err(|why| unusable(checkpoint, &name, why))?;
    }
    if let Some(ema) = &mut state.ema {
        // Until schema 2 the average lay beside the weights.
        let average = match has(EMA) {
            true => Stored::open(checkpoint, &[(EMA, "")])?,
            false => model,
        };
        let tensors = state.objective.tensors().into_iter();
        let average = tensors.filter_map(|tensor| {
            let data = average.tensor(tensor.name())?;
            Some((tensor.name().to_owned(), data))
        });
        *ema = Ema::new(ema.decay(), average.collect());
    }
    let guards: GuardState = section(checkpoint, "guards")?;
    // What they have seen belongs to the run; how strict they are, to the job.
    state.non_finite = state.non_finite.resumed(guards.non_finite);
    state.spikes = state.spikes.resumed(guards.spikes);
    state.scale = state.scale.resumed(guards.scale);
    state.done = position(checkpoint)?.done;
    Ok(state)
}

/// Tensors in files of a checkpoint, read when they are asked for. Whoever opened the checkpoint
/// has verified their hashes.
struct Stored<'a>(Vec<(TensorMap, &'a str)>);

impl<'a> Stored<'a> {
    /// Opens files, each with the prefix that its names have there.
    fn open(checkpoint: &Checkpoint, files: &[(&str, &'a str)]) -> Result<Self, TrainError> {
        let read = |(name, prefix): &(&str, &'a str)| {
            let map = read_safetensors(&checkpoint.folder().join(name));
            Ok((map.map_err(TrainError::failed)?, *prefix))
        };
        let maps: Result<_, TrainError> = files.iter().map(read).collect();
        Ok(Self(maps?))
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|(map, _)| map.names())
    }
}

impl Weights for Stored<'_> {
    fn tensor(&self, name: &str) -> Option<TensorData> {
        self.0.iter().find_map(|(map, prefix)| {
            let tensor = map
                .get(&format!("{prefix}{name}"))
                .or_else(|| map.get(name));
            tensor.map(tensor_data)
        })
    }
}

fn unusable(checkpoint: &Checkpoint, name: &str, why: impl std::fmt::Display) -> TrainError {
    let path = checkpoint.folder().join(name);
    TrainError::Failed(report!("{} cannot be used: {why}", path.display()))
}

/// Reads a section of a manifest.
pub(crate) fn section<D: serde::de::DeserializeOwned>(
    checkpoint: &Checkpoint,
    name: &str,
) -> Result<D, TrainError> {
    let value = checkpoint.manifest().sections.get(name);
    let value = value.cloned().unwrap_or(Value::Null);
    serde_json::from_value(value).map_err(|why| {
        TrainError::Failed(report!(
            "the checkpoint {} has no usable section `{name}`: {why}",
            checkpoint.folder().display();
            fix: "resume from another with --resume STEP"
        ))
    })
}

/// Strips the prefix that names have in a file.
pub(crate) fn without_prefix(state: StateDict, prefix: &str) -> StateDict {
    let strip = |(name, data): (String, TensorData)| {
        let short = name.strip_prefix(prefix).map(str::to_owned);
        (short.unwrap_or(name), data)
    };
    state.into_iter().map(strip).collect()
}

pub(crate) fn optimizer_file(phase: usize) -> String {
    match phase {
        0 => "optimizer.safetensors".to_owned(),
        phase => format!("optimizer_{phase}.safetensors"),
    }
}

/// Makes a file of a checkpoint from tensors.
pub(crate) fn file<'a>(
    name: &str,
    tensors: Vec<TensorStream<'a>>,
) -> Result<Content<'a>, TrainError> {
    let stream = SafetensorsStream::new(tensors)
        .map_err(|fault| TrainError::Failed(report!("{name} cannot be written: {fault}")))?;
    Ok(streamed(name, stream))
}

/// Makes a file whose tensors are read while it is written.
pub(crate) fn streamed<'a>(name: &str, stream: SafetensorsStream<'a>) -> Content<'a> {
    let bytes = Bytes(stream.bytes());
    Content::writer(name, bytes, move |out| stream.write(out))
}

/// Turns tensors on a device into streams for a file.
pub(crate) fn streams(tensors: Vec<Unread>) -> Vec<TensorStream<'static>> {
    let stream = |tensor: Unread| {
        let (name, shape) = (tensor.name().to_owned(), tensor.shape().to_vec());
        TensorStream::new(name, Dtype::F32, shape, move |out| {
            let data = tensor.read().map_err(|error| {
                io::Error::other(format!(
                    "it could not be read from its device: {}",
                    error.why
                ))
            })?;
            write_f32(&data, out)
        })
    };
    tensors.into_iter().map(stream).collect()
}

/// Does the same, but takes averaged weights for the names that the average has.
pub(crate) fn averaged_streams<'a>(
    tensors: Vec<Unread>,
    ema: Option<&'a Ema>,
) -> Vec<TensorStream<'a>> {
    let Some(average) = ema.map(Ema::weights) else {
        return streams(tensors);
    };
    let (averaged, rest): (Vec<_>, Vec<_>) = tensors
        .into_iter()
        .partition(|tensor| average.contains_key(tensor.name()));
    let averaged = averaged.into_iter().filter_map(|tensor| {
        let data = average.get(tensor.name())?;
        let shape = data.shape().to_vec();
        let write = move |out: &mut dyn Write| write_f32(data, out);
        Some(TensorStream::new(tensor.name(), Dtype::F32, shape, write))
    });
    averaged.chain(streams(rest)).collect()
}

/// Numbers that are converted and written at a time.
const BLOCK: usize = 1 << 14;

fn write_f32(data: &TensorData, out: &mut dyn Write) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(BLOCK * size_of::<f32>());
    let mut write = |block: &[f32]| {
        bytes.clear();
        bytes.extend(block.iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&bytes)
    };
    match data.as_slice::<f32>() {
        Ok(values) => values.chunks(BLOCK).try_for_each(write),
        // Parameters are f32, but a backend may return another type.
        Err(_) => write(&data.iter::<f32>().collect::<Vec<_>>()),
    }
}

/// Reads the tensors of a checkpoint's file; whoever opened the checkpoint has verified its hash.
pub(crate) fn weights(checkpoint: &Checkpoint, name: &str) -> Result<StateDict, TrainError> {
    let map = read_safetensors(&checkpoint.folder().join(name)).map_err(TrainError::failed)?;
    Ok(state_dict(&map))
}

#[cfg(test)]
mod tests {
    use myxtts_run::checkpoint::{AsyncSaver, Retention, Store};

    use super::*;

    /// As a device that was lost answers every read.
    fn lost() -> Unread {
        let why = || Err("the device was lost".to_owned());
        Unread::with("gpt.h.0.attn.c_attn.weight", vec![64, 192], why)
    }

    fn of(step: u64, tensor: Unread) -> Snapshot<'static> {
        let weights = file("gpt.safetensors", streams(vec![tensor]));
        Snapshot {
            step: Step(step),
            contents: vec![weights.unwrap()],
            ..Snapshot::default()
        }
    }

    #[test]
    fn a_device_that_was_lost_is_an_error_with_file_and_tensor() {
        let folder = tempfile::tempdir().unwrap();
        let retention = Retention {
            keep_last: std::num::NonZeroUsize::MIN,
            keep_every: None,
        };
        let (store, _) = Store::open(folder.path(), retention).unwrap();
        let mut saver = AsyncSaver::start(store).unwrap();
        let good = || {
            let data = TensorData::new(vec![0.5_f32; 4], [4]);
            Unread::with("gpt.norm.weight", vec![4], move || Ok(data.clone()))
        };
        saver.save_now(of(1, good())).unwrap();
        let here = saver.save_now(of(2, lost())).unwrap_err().to_string();
        let (before, after) = here.split_once(".tmp-").unwrap();
        let (_, after) = after.split_once('/').unwrap();
        let beside = of(2, lost()).collected().unwrap_err().to_string();
        let here = format!("{before}(temporary)/{after}");
        let here = here.replace(folder.path().to_str().unwrap(), "CHECKPOINTS");
        insta::assert_snapshot!(format!("{here}\n{beside}"));
        // The checkpoint before is whole, and the saver works again.
        saver.save_now(of(3, good())).unwrap();
        let newest = Checkpoint::newest(folder.path()).unwrap().unwrap();
        assert_eq!(newest.step(), Step(3));
        newest.verify().unwrap();
    }
}
