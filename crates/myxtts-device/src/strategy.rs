//! The strategy table: which GPUs do what.
//!
//! A pure function from what was asked and which ids exist to a placement. Ids
//! are an order, honoured as written or refused; `multi_gpu` is a permission.

use myxtts_base::report;
use serde::Serialize;
use thiserror::Error;

/// How the work is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The host trains, without a GPU.
    Cpu,
    /// One GPU does everything.
    OneDevice,
    /// Every GPU holds a replica and prepares its own data.
    Mirrored,
    /// One GPU prepares data, and another trains.
    Split,
    /// One GPU prepares data for replicas on the others.
    SplitMirrored,
}

/// What was asked of the placement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) multi_gpu: bool,
    pub(crate) visible_gpus: Option<&'a [u32]>,
    pub(crate) data_gpu: Option<u32>,
    pub(crate) model_gpu: Option<u32>,
    pub(crate) allow_fallback: bool,
}

/// The GPUs of a strategy, by id; there are none on the CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub(crate) strategy: Strategy,
    pub(crate) data: Option<u32>,
    pub(crate) models: Vec<u32>,
    /// The lines that announce the strategy, in words people know.
    pub(crate) lines: Vec<String>,
    /// Things the user should know, without having done anything wrong.
    pub(crate) notices: Vec<String>,
    /// What `--allow-fallback` gave up.
    pub(crate) given_up: Vec<String>,
    pub(crate) reason: String,
}

/// An order that cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StrategyError {
    /// `visible_gpus` names a GPU twice.
    #[error("{}", report!(
        "GPU {id} is named twice in visible_gpus";
        asked: "visible GPUs {asked}";
        fix: "name each id once"
    ))]
    RepeatedVisible {
        /// The id that is repeated.
        id: u32,
        /// The list that was given.
        asked: String,
    },
    /// `visible_gpus` is an empty list.
    #[error("{}", report!(
        "visible_gpus is an empty list";
        fix: "name at least one id, or `all`; `--set training.backend=cpu` trains on the CPU"
    ))]
    NoneVisible,
    /// `visible_gpus` names a GPU that does not exist.
    #[error("{}", report!(
        "unknown GPU {id} in visible_gpus";
        asked: "visible GPUs {asked}";
        found: "{found}";
        fix: "take ids from `myxtts devices` (or `nvidia-smi -L`), or leave visible_gpus out"
    ))]
    UnknownVisible {
        /// The first unknown id.
        id: u32,
        /// The list that was given.
        asked: String,
        /// The GPUs that exist.
        found: String,
    },
    /// Data and model are placed on the same GPU.
    #[error("{}", report!(
        "the data GPU and the model GPU are both {id}";
        asked: "data GPU {id}, model GPU {id}";
        found: "{found}";
        fix: "give two different ids, or drop both flags to train on one GPU"
    ))]
    SameGpu {
        /// The id given for both.
        id: u32,
        /// The GPUs that exist.
        found: String,
    },
    /// One id was given where two are needed.
    #[error("{}", report!(
        "{given} was given without {missing}";
        asked: "{asked}";
        found: "{found}";
        fix: "{fix}"
    ))]
    OneIdAlone {
        /// The flag that was given.
        given: &'static str,
        /// The flag that is missing.
        missing: &'static str,
        /// What was asked for, in words.
        asked: String,
        /// The GPUs that exist.
        found: String,
        /// What to do about it.
        fix: String,
    },
    /// There are not enough GPUs for the ids given.
    #[error("{}", report!(
        "Insufficient GPUs for Multi-GPU Mode";
        asked: "{asked}";
        found: "{found}";
        fix: "list the GPUs with `nvidia-smi -L` or `myxtts devices`, then {fix}"
    ))]
    Insufficient {
        /// What was asked for, in words.
        asked: String,
        /// The GPUs that exist.
        found: String,
        /// What to do about it.
        fix: String,
    },
}

impl StrategyError {
    /// Returns whether the order was sound and only the machine is too small for
    /// it, so that a fallback may be allowed.
    fn is_shortage(&self) -> bool {
        matches!(
            self,
            Self::UnknownVisible { .. } | Self::Insufficient { .. }
        )
    }
}

/// Places the work on the GPUs with the given ids.
#[deny(unused_variables)]
pub(crate) fn place(order: Asked<'_>, installed: &[u32]) -> Result<Placement, StrategyError> {
    let Asked {
        multi_gpu,
        visible_gpus,
        data_gpu,
        model_gpu,
        allow_fallback,
    } = order;
    let order = (data_gpu, model_gpu);
    contradiction(multi_gpu, visible_gpus, order, installed)?;
    let mut given_up = Vec::new();
    let visible = match visible(visible_gpus, installed) {
        Err(error) if allow_fallback && error.is_shortage() => {
            let asked = visible_gpus.unwrap_or_default();
            let kept: Vec<u32> = asked
                .iter()
                .copied()
                .filter(|id| installed.contains(id))
                .collect();
            given_up.push(format!(
                "visible_gpus {} was given up: found {}, using {}",
                ids(asked),
                gpus(installed),
                if kept.is_empty() {
                    "the CPU".to_owned()
                } else {
                    format!("GPU {}", ids(&kept))
                },
            ));
            kept
        }
        other => other?,
    };
    let found = Found {
        visible: &visible,
        installed,
    };
    let mut placement = match by_order(multi_gpu, order, &found) {
        Ok(Some(placement)) => placement,
        Ok(None) => by_count(multi_gpu, &visible),
        Err(error) if allow_fallback && error.is_shortage() => {
            let placement = by_count(multi_gpu, &visible);
            given_up.push(format!(
                "Multi-GPU Mode ({}) was given up: found {}",
                asked(order, multi_gpu),
                found.words(),
            ));
            placement
        }
        Err(error) => return Err(error),
    };
    placement.given_up = given_up;
    Ok(placement)
}

/// Refuses orders that make no sense on any machine.
fn contradiction(
    multi_gpu: bool,
    visible_gpus: Option<&[u32]>,
    order: (Option<u32>, Option<u32>),
    installed: &[u32],
) -> Result<(), StrategyError> {
    if let Some(asked) = visible_gpus {
        if asked.is_empty() {
            return Err(StrategyError::NoneVisible);
        }
        let repeated = asked
            .iter()
            .enumerate()
            .find(|(i, id)| asked[..*i].contains(id));
        if let Some((_, id)) = repeated {
            return Err(StrategyError::RepeatedVisible {
                id: *id,
                asked: ids(asked),
            });
        }
    }
    let alone = |given, missing, fix: String| StrategyError::OneIdAlone {
        given,
        missing,
        asked: asked(order, multi_gpu),
        found: gpus(installed),
        fix,
    };
    match order {
        (Some(data), Some(model)) if data == model => Err(StrategyError::SameGpu {
            id: data,
            found: gpus(installed),
        }),
        (Some(data), None) if !multi_gpu => Err(alone(
            "--data-gpu",
            "--model-gpu",
            format!(
                "add --model-gpu N with another id, or --multi-gpu to train on every GPU but \
                 {data}, or drop --data-gpu"
            ),
        )),
        (None, Some(_)) => Err(alone(
            "--model-gpu",
            "--data-gpu",
            "add --data-gpu N with another id, or use --visible-gpus N to train on one chosen GPU"
                .to_owned(),
        )),
        _ => Ok(()),
    }
}

/// Returns the ids that may be used, in the user's order.
fn visible(asked: Option<&[u32]>, installed: &[u32]) -> Result<Vec<u32>, StrategyError> {
    let Some(asked) = asked else {
        return Ok(installed.to_vec());
    };
    match asked.iter().find(|id| !installed.contains(id)) {
        Some(id) => Err(StrategyError::UnknownVisible {
            id: *id,
            asked: ids(asked),
            found: gpus(installed),
        }),
        None => Ok(asked.to_vec()),
    }
}

struct Found<'a> {
    visible: &'a [u32],
    installed: &'a [u32],
}

impl Found<'_> {
    fn words(&self) -> String {
        if self.visible.len() == self.installed.len() {
            gpus(self.visible)
        } else {
            format!(
                "{} visible, of {} installed",
                gpus(self.visible),
                self.installed.len()
            )
        }
    }
}

/// Applies the rows of the table where ids were given; `None` where none were.
///
/// This is called with orders that [`contradiction`] let pass, so a data GPU
/// alone comes with `multi_gpu`.
fn by_order(
    multi_gpu: bool,
    order: (Option<u32>, Option<u32>),
    found: &Found<'_>,
) -> Result<Option<Placement>, StrategyError> {
    let has = |id: u32| found.visible.contains(&id);
    let insufficient = |fix: &str| StrategyError::Insufficient {
        asked: asked(order, multi_gpu),
        found: found.words(),
        fix: fix.to_owned(),
    };
    match order {
        (None, _) => Ok(None),
        (Some(data), Some(model)) if has(data) && has(model) => {
            Ok(Some(split(data, model, multi_gpu)))
        }
        (Some(_), Some(_)) => Err(insufficient(
            "give two of their ids with --data-gpu and --model-gpu, or drop both flags",
        )),
        (Some(data), None) => {
            let others: Vec<u32> = found
                .visible
                .iter()
                .copied()
                .filter(|id| *id != data)
                .collect();
            if !has(data) || others.len() < 2 {
                return Err(insufficient(
                    "use at least three GPUs, or give --model-gpu too for one data GPU and one \
                     model GPU, or drop --data-gpu",
                ));
            }
            Ok(Some(split_mirrored(data, others)))
        }
    }
}

/// Places data work on one GPU and training on another.
fn split(data: u32, model: u32, multi_gpu: bool) -> Placement {
    let notice = format!(
        "multi_gpu is on, but data_gpu and model_gpu name one GPU each: training on GPU \
         {model} alone (drop model_gpu to train on every other visible GPU)"
    );
    Placement {
        strategy: Strategy::Split,
        data: Some(data),
        models: vec![model],
        lines: vec![],
        notices: if multi_gpu { vec![notice] } else { vec![] },
        given_up: vec![],
        reason: format!(
            "data_gpu {data} and model_gpu {model} were given, so data work and training \
             run on two GPUs"
        ),
    }
}

/// Places data work on one GPU and a replica on each of the others.
fn split_mirrored(data: u32, others: Vec<u32>) -> Placement {
    Placement {
        strategy: Strategy::SplitMirrored,
        data: Some(data),
        lines: vec![mirrored_line(others.len())],
        notices: vec![],
        given_up: vec![],
        reason: format!(
            "multi_gpu is on and data_gpu {data} was given, so that GPU prepares data for \
             replicas on the other {}",
            others.len()
        ),
        models: others,
    }
}

/// Applies the rows of the table where no ids were given.
fn by_count(multi_gpu: bool, visible: &[u32]) -> Placement {
    let (strategy, models, line, reason) = match visible {
        [] => (
            Strategy::Cpu,
            vec![],
            "No GPUs available, using CPU strategy".to_owned(),
            "no GPU is available".to_owned(),
        ),
        [only] => (
            Strategy::OneDevice,
            vec![*only],
            "Using single GPU strategy".to_owned(),
            format!("GPU {only} is the only one visible"),
        ),
        [first, ..] if !multi_gpu => (
            Strategy::OneDevice,
            vec![*first],
            format!(
                "Multi-GPU disabled, using single GPU strategy (GPU {first} of {} available)",
                visible.len()
            ),
            format!("multi_gpu is off, so the first visible GPU ({first}) trains alone"),
        ),
        several => (
            Strategy::Mirrored,
            several.to_vec(),
            mirrored_line(several.len()),
            format!("multi_gpu is on and {} GPUs are visible", several.len()),
        ),
    };
    let notices = match (multi_gpu, visible.len()) {
        (true, 0) => vec!["multi_gpu is on, 0 GPUs visible: training on the CPU".to_owned()],
        (true, 1) => vec!["multi_gpu is on, 1 GPU visible: training on it alone".to_owned()],
        _ => vec![],
    };
    Placement {
        strategy,
        data: None,
        models,
        lines: vec![line],
        notices,
        given_up: vec![],
        reason,
    }
}

fn mirrored_line(replicas: usize) -> String {
    format!("Using multi-GPU strategy with {replicas} GPUs")
}

fn asked((data, model): (Option<u32>, Option<u32>), multi_gpu: bool) -> String {
    let data = data.map(|id| format!("data GPU {id}"));
    let model = model.map(|id| format!("model GPU {id}"));
    let multi = multi_gpu.then(|| "multi_gpu on".to_owned());
    [data, model, multi]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

fn ids(ids: &[u32]) -> String {
    ids.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

fn gpus(found: &[u32]) -> String {
    match found {
        [] => "no GPUs".to_owned(),
        [id] => format!("1 GPU ({id})"),
        several => format!("{} GPUs ({})", several.len(), ids(several)),
    }
}
