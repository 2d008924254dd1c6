//! The engine's switch for kernel fusion.
//!
//! On a GPU the engine collects operations and searches for runs of them that one
//! kernel can do. It stops searching after a set number of finds; with that
//! number at zero, every operation is a kernel of its own. It reads the number
//! once per process, with its first tensor, so the switch is set before any
//! device is opened.

use burn::{BurnConfig, runtime_config};
use cubecl_runtime::config::RuntimeConfig;
use serde_json::json;

use crate::open::OpenError;

/// Makes GPUs fuse operations from now on, or run each on its own.
///
/// # Errors
/// When the engine was already set otherwise: by an earlier tensor, by a
/// `burn.toml` or by its environment variable.
pub fn set_fusion(on: bool) -> Result<(), OpenError> {
    if !on {
        // Whatever else is configured is kept; the field itself is private.
        let loaded = BurnConfig::from_current_dir().override_from_env();
        let without = serde_json::to_value(&loaded).and_then(|mut config| {
            config["fusion"]["beam_search"]["max_explorations"] = json!(0);
            serde_json::from_value::<BurnConfig>(config)
        });
        let refuse = |why: serde_json::Error| OpenError::fusion(on, why.to_string());
        // Too late if a tensor came first; what counts is what the engine reads below.
        let _ = BurnConfig::try_set(without.map_err(refuse)?);
    }
    let explorations = runtime_config().fusion().beam_search.max_explorations;
    match (explorations == Some(0)) != on {
        true => Ok(()),
        false => Err(OpenError::fusion(
            on,
            "the engine is set otherwise already, by BURN_FUSION_MAX_EXPLORATIONS or a burn.toml"
                .to_owned(),
        )),
    }
}
