//! The named sets of values that one key chooses between.

use myxtts_config::Layer;
use myxtts_model::ModelSize;
use myxtts_train::config::{OptimizationLevel, size_layer};

/// The sets that one key chooses between.
pub struct PresetGroup {
    /// The key, without its section.
    pub key: &'static str,
    /// The sets, in the order they are shown.
    pub sets: Vec<NamedValues>,
}

/// A set of values with a name.
pub struct NamedValues {
    /// The value of the key that chooses it.
    pub name: &'static str,
    /// What it is for; empty where its name says that.
    pub purpose: &'static str,
    /// The values.
    pub values: Layer,
}

/// Returns every preset: for GPUs by their memory, for optimization, and for the model's size.
pub fn presets() -> [PresetGroup; 3] {
    let set = |name, purpose, values| NamedValues {
        name,
        purpose,
        values,
    };
    let profiles = myxtts_device::presets();
    let profiles = profiles.map(|preset| set(preset.name, preset.cards, preset.layer()));
    let levels = OptimizationLevel::ALL.map(|level| set(level.name(), "", level.layer()));
    let sizes = ModelSize::ALL.map(|size| set(size.name(), "", size_layer(size)));
    [
        PresetGroup {
            key: "gpu_profile",
            sets: profiles.into(),
        },
        PresetGroup {
            key: "optimization_level",
            sets: levels.into(),
        },
        PresetGroup {
            key: "model_size",
            sets: sizes.into(),
        },
    ]
}
