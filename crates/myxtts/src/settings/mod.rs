//! How the layers of a configuration are put together: defaults, presets,
//! weights, file, environment, flags.
//!
//! What there is to configure is said by `myxtts_train::config`, where each
//! component's struct stands beside the component.

mod aliases;
mod check;
mod presets;
mod validate;
mod weights;
mod yaml;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use myxtts_config::{Origin, Place, Problem, Problems, Settings, Source, expand_home};
use myxtts_device::{
    BackendChoice, Gpu, Machine, PipelineConfig, PlanRequest, Preset, SOFTWARE_GPUS_VARIABLE,
    StrategyConfig,
};
use myxtts_model::gpt::Vocabulary;
use myxtts_train::config::{quick_layer, quirks_layer, size_layer};

use crate::error::Error;

pub use myxtts_config::{Keys, Kind, Layer, Meaning};
pub(crate) use myxtts_train::config::{Config, Sizes};
pub use presets::{NamedValues, PresetGroup, presets};
pub use validate::validate;
use weights::StartingWeights;
pub use yaml::in_declared_order;
pub(crate) use yaml::{chosen_yaml, effective_yaml};

/// Variables with our prefix that are not settings.
const RESERVED_VARIABLES: [&str; 2] = [SOFTWARE_GPUS_VARIABLE, "MYXTTS_PARITY_DIR"];

/// Variables of this process that set something: whoever is given a file with
/// everything in it must not be given them, too.
pub(crate) fn settings_in_environment() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    names
        .filter(|name| name.starts_with("MYXTTS_"))
        .filter(|name| !RESERVED_VARIABLES.contains(&name.as_str()))
        .collect()
}

/// What a person or a program gives of a configuration; the rest is presets and defaults. What
/// stands further down wins.
///
/// Keys, their types, bounds and defaults are those of `docs/reference/configuration.md`.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// A configuration file in YAML.
    pub file: Option<PathBuf>,
    /// Variables as `MYXTTS_SECTION_KEY`; names without that prefix are ignored, except that `HOME`
    /// says what `~` in a path stands for.
    pub environment: Vec<(String, String)>,
    /// Flags that stand for several keys.
    pub shorthands: Layer,
    /// Values for single keys.
    pub flags: Vec<GivenFlag>,
}

impl Given {
    /// Reads a configuration file.
    #[must_use]
    pub fn with_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.file = Some(path.into());
        self
    }

    /// Sets one key, as `--set` does: `key` is `section.key`, and `value` is written as in a file.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl ToString) -> Self {
        self.flags.push(GivenFlag {
            flag: "--set".to_owned(),
            key: key.to_owned(),
            value: value.to_string(),
        });
        self
    }

    /// Takes variables that set keys, for example those of this process.
    #[must_use]
    pub fn with_environment(
        mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Sets what `--quick` sets: a training that shows in a minute that everything works.
    #[must_use]
    pub fn quick(mut self) -> Self {
        self.shorthands = quick_layer();
        self
    }

    /// Puts the configuration together, for `machine`: the presets depend on the memory of its
    /// GPUs.
    ///
    /// # Errors
    /// When a file cannot be read, a key is unknown, a value is not allowed or two values
    /// contradict each other. Everything that is wrong is named at once, each with its place.
    pub fn load(&self, machine: &Machine) -> Result<Settings<Config>, Error> {
        Ok(load(&keys(), self, || machine.clone())?)
    }

    fn home(&self) -> Option<&str> {
        let value = |wanted: &str| {
            let found = self.environment.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.as_str())
        };
        value("HOME").or_else(|| value("USERPROFILE"))
    }
}

/// A value on the command line.
#[derive(Clone, Debug)]
pub struct GivenFlag {
    /// The flag that gave it, with its dashes.
    pub flag: String,
    /// The key it sets, as `section.key`.
    pub key: String,
    /// The value, as text.
    pub value: String,
}

/// Returns every key that there is, with the names it had in older trainers.
pub fn keys() -> Keys {
    Keys::of::<Config>(aliases::ALIASES)
}

/// Whether the weights of `training.init` must be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Init {
    /// They must be there.
    Needed,
    /// They are read if they are there.
    IfThere,
}

/// Merges defaults < presets < weights of `training.init` < file < environment
/// < flags, and refuses what no training can be made of.
///
/// `machine` is asked only when the GPU profile is `auto`, and only for what
/// it lists: the presets depend on the memory of the GPUs that may be used.
///
/// # Errors
/// As [`Given::load`]. `keys` may know the flags of a program, which are then suggested for a name
/// that is not a key.
pub fn load(
    keys: &Keys,
    given: &Given,
    machine: impl FnOnce() -> Machine,
) -> Result<Settings<Config>, Problems> {
    load_with(keys, given, machine, Init::Needed)
}

/// [`load`], for files whose weights may be elsewhere.
pub(crate) fn load_with(
    keys: &Keys,
    given: &Given,
    machine: impl FnOnce() -> Machine,
    init: Init,
) -> Result<Settings<Config>, Problems> {
    let user = user_layer(keys, given)?;
    let defaults = Layer::of(&Config::default(), &Origin::Default);
    // Presets are chosen by keys that no preset sets, so one look at the
    // other layers is enough.
    let chosen: Settings<Config> = Settings::resolve(keys, defaults.clone().merge(user.clone()))?;
    let Config {
        model,
        training,
        data,
    } = &chosen.config;
    let profile = training.strategy.gpu_profile;
    let preset = match profile {
        myxtts_device::GpuProfile::Auto => {
            let machine = machine();
            let gpus = machine.gpus(training.strategy.backend);
            Preset::of(
                profile,
                &model_gpus(&training.strategy, &data.pipeline, gpus),
            )
        }
        named => Preset::of(named, &[]),
    };
    let weights = StartingWeights::of(&chosen, init)?;
    let size = match &weights {
        Some(weights) if !chosen.is_chosen("model.size") => weights.size(),
        _ => model.size,
    };
    let presets = size_layer(size)
        .merge(quirks_layer(model.quirks))
        .merge(training.optimizer.optimization_level.layer())
        .merge(preset.layer());
    let known = weights.as_ref().map(StartingWeights::layer);
    let known = known.unwrap_or_default();
    let settings = Settings::resolve(keys, defaults.merge(presets).merge(known).merge(user))?;
    if let Some(weights) = &weights {
        weights.check(&settings)?;
    }
    check::check(&settings)?;
    Ok(settings)
}

/// Everything a person gave, as one layer.
pub(crate) fn user_layer(keys: &Keys, given: &Given) -> Result<Layer, Problems> {
    let home = given.home();
    let mut layer = match &given.file {
        Some(path) => keys.file(&Source::read(&at_home(path, home)?)?)?,
        None => Layer::default(),
    };
    layer = layer.merge(keys.environment(given.environment.iter().cloned(), &RESERVED_VARIABLES)?);
    layer = layer.merge(given.shorthands.clone());
    let mut problems = Vec::new();
    for GivenFlag { flag, key, value } in &given.flags {
        match keys.text(key, value, Origin::Flag(flag.clone())) {
            Ok(one) => layer = layer.merge(one),
            Err(Problems(more)) => problems.extend(more),
        }
    }
    match problems.is_empty() {
        true => keys.expand_paths(layer, home),
        false => Err(Problems(problems)),
    }
}

/// The path of `--config`; a shell leaves `--config=~/x.yaml` as it is.
fn at_home(path: &Path, home: Option<&str>) -> Result<PathBuf, Problem> {
    let Some(text) = path.to_str() else {
        return Ok(path.to_owned());
    };
    let expanded = expand_home(text, home)
        .map_err(|why| Problem::of(&why, Place::Named("flag --config".to_owned())))?;
    Ok(PathBuf::from(expanded))
}

/// The GPUs whose memory decides the start values: the model's, as far as
/// they are known before the strategy is.
fn model_gpus(strategy: &StrategyConfig, pipeline: &PipelineConfig, gpus: &[Gpu]) -> Vec<Gpu> {
    let wanted = |gpu: &&Gpu| match (pipeline.model_gpu, &strategy.visible_gpus) {
        (Some(model), _) => gpu.id == model,
        (None, Some(visible)) => visible.contains(&gpu.id),
        (None, None) => true,
    };
    if strategy.backend == BackendChoice::Cpu {
        return vec![];
    }
    gpus.iter().filter(wanted).cloned().collect()
}

/// Sizes of the model that a configuration trains: those of the weights it
/// starts from, named or not, else the preset's with the public vocabulary (a
/// new one is learned from the transcripts and smaller).
pub(crate) fn sizes(settings: &Settings<Config>) -> Result<Sizes, Problems> {
    let size = settings.config.model.size;
    let named = || {
        size.gpt(Vocabulary {
            codes: u32::try_from(size.dvae().codes).unwrap_or(u32::MAX),
            ..Vocabulary::XTTS_V2
        })
    };
    let weights = StartingWeights::of(settings, Init::Needed)?;
    Ok(match weights.as_ref().map(StartingWeights::sizes) {
        Some((gpt, dvae)) => Sizes {
            gpt: gpt.cloned().unwrap_or_else(named),
            dvae: *dvae,
        },
        None => Sizes {
            gpt: named(),
            dvae: size.dvae(),
        },
    })
}

/// The keys that a person chose.
pub(crate) fn chosen(settings: &Settings<Config>) -> BTreeSet<String> {
    let settings = settings.layer().iter();
    let chosen = settings.filter(|(_, setting)| setting.origin.is_chosen());
    chosen.map(|(key, _)| key.to_owned()).collect()
}

/// What the configuration asks of the devices.
pub(crate) fn plan_request(settings: &Settings<Config>) -> PlanRequest {
    PlanRequest {
        strategy: settings.config.training.strategy.clone(),
        pipeline: settings.config.data.pipeline.clone(),
        chosen: chosen(settings),
        workload: None,
    }
}
