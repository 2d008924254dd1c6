//! AdamW, with its state by parameter name.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, GradientCheckpointingStrategy, Tensor, TensorData};
use myxtts_device::MomentBits;
use myxtts_model::init::mix;
use myxtts_model::params::{ReadError, StateDict, Unread, Weights, read_all};
use myxtts_ops::{Curve, Rounding, adamw_step, adamw_step_if};
use serde::{Deserialize, Serialize};

use super::attempt::{Attempting, Condition, Unsettled};
use super::decay::Walk;
use super::gradients::NamedGradients;
use super::moment::{Moment, key_of};

/// The settings of AdamW, except the learning rate, which a schedule gives.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct AdamWConfig {
    /// Decay of the first moment.
    pub beta_1: f64,
    /// Decay of the second moment.
    pub beta_2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
    /// Share of a decayed parameter lost per step, times the learning rate.
    pub weight_decay: f64,
    /// How both moments are kept between steps.
    pub moments: MomentBits,
}

impl Default for AdamWConfig {
    /// Returns the settings of the public recipe.
    fn default() -> Self {
        Self {
            beta_1: 0.9,
            beta_2: 0.96,
            epsilon: 1e-8,
            weight_decay: 1e-2,
            moments: MomentBits::F32,
        }
    }
}

/// The AdamW optimizer, with the moments of every parameter it has stepped.
#[derive(Clone, Debug)]
pub struct AdamW {
    config: AdamWConfig,
    moments: BTreeMap<String, Moments>,
    /// Decides on the next step; without one it is taken.
    condition: Option<Condition>,
    unsettled: Unsettled,
}

/// What is kept of one parameter's gradients.
#[derive(Clone, Debug)]
struct Moments {
    /// Steps this parameter has taken; others may have taken more or fewer. Those that are not
    /// settled count as taken.
    steps: u32,
    first: Moment,
    second: Moment,
}

/// The reasons for which a stored state cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StateError {
    /// The state of a parameter lacks a part.
    #[error(
        "the optimizer state has no `{part}{name}`: the file is damaged; \
         resume from an earlier checkpoint"
    )]
    Missing {
        /// The name of the parameter.
        name: String,
        /// The start of the missing key.
        part: &'static str,
    },
    /// A tensor that does not belong to an optimizer state.
    #[error(
        "`{0}` is not part of an optimizer state: the file holds something else; \
         name the optimizer's own file"
    )]
    Unknown(String),
}

const STEP: &str = "step.";
const FIRST: &str = "exp_avg.";
const SECOND: &str = "exp_avg_sq.";

impl AdamW {
    /// Makes an optimizer before its first step.
    pub fn new(config: AdamWConfig) -> Self {
        Self::with_moments(config, BTreeMap::new())
    }

    fn with_moments(config: AdamWConfig, moments: BTreeMap<String, Moments>) -> Self {
        Self {
            config,
            moments,
            condition: None,
            unsettled: Unsettled::new(),
        }
    }

    /// Leaves the next step to the device, until [`settle`](Self::settle) tells what it decided.
    pub(crate) fn only_if(&mut self, condition: Condition) {
        self.condition = Some(condition);
    }

    /// Learns whether the oldest of the steps that were left to the device was taken.
    pub(crate) fn settle(&mut self, was_applied: bool) {
        let Some(attempt) = self.unsettled.pop_front().filter(|_| !was_applied) else {
            return;
        };
        for name in attempt.into_names() {
            if let Some(moments) = self.moments.get_mut(&name) {
                moments.steps = moments.steps.saturating_sub(1);
            }
        }
    }

    /// Takes one step for every parameter that has a gradient.
    pub fn step<M: Module>(
        &mut self,
        module: M,
        gradients: NamedGradients,
        learning_rate: f64,
    ) -> M {
        let condition = self.condition.take();
        let mut stepping = Stepping {
            attempt: condition.map(|condition| Attempting::new(condition, &self.unsettled)),
            optimizer: self,
            gradients,
            learning_rate,
            walk: Walk::default(),
        };
        let module = module.map(&mut stepping);
        let attempt = stepping.attempt.map(Attempting::finish);
        self.unsettled.extend(attempt);
        module
    }

    /// Returns the moments, unread on their device, named `exp_avg.` and `exp_avg_sq.` plus the
    /// parameter's name.
    pub(crate) fn moments(&self) -> Vec<Unread> {
        let parts = self.moments.iter().flat_map(|(name, moments)| {
            [
                moments.first.unread(format!("{FIRST}{name}")),
                moments.second.unread(format!("{SECOND}{name}")),
            ]
        });
        parts.collect()
    }

    /// Returns the steps that parameters have taken, named `step.` plus the parameter's name.
    pub fn steps(&self) -> impl Iterator<Item = (String, i64)> {
        let steps = self.moments.iter();
        steps.map(|(name, moments)| (format!("{STEP}{name}"), i64::from(moments.steps)))
    }

    /// Reads the whole state, moments and steps, to the host.
    ///
    /// # Errors
    /// When a tensor cannot be read from the device.
    pub fn state_dict(&self) -> Result<StateDict, ReadError> {
        let mut state = read_all(self.moments())?;
        let steps = self.steps();
        state.extend(steps.map(|(name, steps)| (name, TensorData::new(vec![steps], [1]))));
        Ok(state)
    }

    /// Restores an optimizer on `device` from the state of these names. Each tensor is read once.
    pub fn from_state<'a>(
        config: AdamWConfig,
        names: impl IntoIterator<Item = &'a str>,
        state: &dyn Weights,
        device: &Device,
    ) -> Result<Self, StateError> {
        let device = device.clone().inner();
        let mut moments = BTreeMap::new();
        for key in names {
            let name = [STEP, FIRST, SECOND]
                .iter()
                .find_map(|part| key.strip_prefix(part))
                .ok_or_else(|| StateError::Unknown(key.to_owned()))?;
            if !moments.contains_key(name) {
                let read = Moments::read(state, name, config.moments, &device)?;
                moments.insert(name.to_owned(), read);
            }
        }
        Ok(Self::with_moments(config, moments))
    }
}

impl Moments {
    fn new(gradient_n: &Tensor<1>) -> Self {
        let zeros = || Moment::Full(gradient_n.zeros_like());
        Self {
            steps: 0,
            first: zeros(),
            second: zeros(),
        }
    }

    fn read(
        state: &dyn Weights,
        name: &str,
        bits: MomentBits,
        device: &Device,
    ) -> Result<Self, StateError> {
        let part = |part: &'static str| {
            let found = state.tensor(&format!("{part}{name}"));
            found.ok_or_else(|| StateError::Missing {
                name: name.to_owned(),
                part,
            })
        };
        let tensor = |data: TensorData| Tensor::<1>::from_data(data, device);
        let steps = part(STEP)?.iter::<i64>().next();
        let steps = steps.and_then(|steps| u32::try_from(steps).ok());
        let as_stored = Rounding::Nearest;
        Ok(Self {
            steps: steps.ok_or_else(|| StateError::Missing {
                name: name.to_owned(),
                part: STEP,
            })?,
            first: Moment::kept(tensor(part(FIRST)?), bits, Curve::Signed, as_stored),
            second: Moment::kept(tensor(part(SECOND)?), bits, Curve::Positive, as_stored),
        })
    }
}

struct Stepping<'a> {
    optimizer: &'a mut AdamW,
    gradients: NamedGradients,
    learning_rate: f64,
    walk: Walk,
    /// Set where the device decides on the step.
    attempt: Option<Attempting>,
}

impl ModuleMapper for Stepping<'_> {
    fn enter_module(&mut self, name: &str, layer: &str) {
        self.walk.enter(name, layer);
    }

    fn exit_module(&mut self, _: &str, _: &str) {
        self.walk.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let name = self.walk.name();
        let Some(gradient_n) = self.gradients.take(&name) else {
            return param;
        };
        let config = self.optimizer.config;
        let decay = if self.walk.is_decayed() {
            config.weight_decay
        } else {
            0.0
        };
        let moments = self.optimizer.moments.remove(&name);
        let Moments {
            steps,
            first,
            second,
        } = moments.unwrap_or_else(|| Moments::new(&gradient_n));
        let steps = steps.saturating_add(1);
        let bits = config.moments;
        // A draw of its own for every parameter, step and moment, the same after resuming. Where the
        // device decides, the host does not know the parameter's step, but the stage's.
        let attempt = self.attempt.as_ref();
        let number = attempt.map_or(u64::from(steps), |attempt| attempt.condition.number);
        let draw = |part: u64| Rounding::Drawn(mix(key_of(&name) ^ mix(2 * number + part)));
        let with = myxtts_ops::AdamW {
            learning_rate: self.learning_rate,
            betas: [config.beta_1, config.beta_2],
            epsilon: config.epsilon,
            weight_decay: decay,
            gradient_scale: 1.0,
            step: u64::from(steps),
        };
        let undecided = self.attempt.as_mut();
        let undecided = undecided.map(|attempt| attempt.undecided(&name, &with));
        let moments = &mut self.optimizer.moments;
        param.map(|old| {
            let context = Context::of(&old);
            let shape = old.shape();
            // Flat, and not held by anyone else, so the step happens in the parameter's own
            // memory.
            let old_n = old.inner().reshape([shape.num_elements()]);
            let undo = undecided.as_ref();
            let undo =
                undo.map(|undecided| (&undecided.applies_1, first.packed(), second.packed()));
            let before = myxtts_ops::Moments {
                first: first.into_tensor(),
                second: second.into_tensor(),
            };
            let (new_n, after) = match &undecided {
                None => adamw_step(old_n, gradient_n, before, &with),
                Some(undecided) => adamw_step_if(old_n, gradient_n, before, &with, undecided),
            };
            let mut kept = Moments {
                steps,
                first: Moment::kept(after.first, bits, Curve::Signed, draw(0)),
                second: Moment::kept(after.second, bits, Curve::Positive, draw(1)),
            };
            if let Some((applies_1, first, second)) = undo {
                kept.first = kept.first.only_if(applies_1, first);
                kept.second = kept.second.only_if(applies_1, second);
            }
            moments.insert(name.clone(), kept);
            context.restore(new_n.reshape(shape))
        })
    }
}

/// How a parameter takes part in autodiff. A result computed outside of autodiff must be given
/// the same.
struct Context {
    strategy: Option<GradientCheckpointingStrategy>,
    requires_gradient: bool,
}

impl Context {
    fn of<const D: usize>(tensor: &Tensor<D>) -> Self {
        Self {
            strategy: tensor.gradient_checkpointing_strategy(),
            requires_gradient: tensor.is_require_grad(),
        }
    }

    fn restore<const D: usize>(&self, tensor: Tensor<D>) -> Tensor<D> {
        match self.strategy {
            Some(strategy) => Tensor::from_inner(tensor)
                .with_gradient_checkpointing_strategy(strategy)
                .set_require_grad(self.requires_gradient),
            None => tensor,
        }
    }
}
