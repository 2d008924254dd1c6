//! Expanding `~` in paths.
//!
//! A shell expands `~` where it begins an argument, but not in a file, in
//! `--set key=~/x` or in `--flag=~/x`. Somebody who wrote a path that begins with
//! it means their home.

use crate::keys::Keys;
use crate::layer::Layer;
use crate::problem::{Place, Problem, Problems};
use crate::settings::origin_place;
use myxtts_base::{Report, report};
use serde_json::Value;

const FULL_PATH: &str = "write the full path; for a folder named `~`, write `./~`";

/// Replaces a leading `~` in the path by `home`.
///
/// # Errors
/// When the home is not known, or is that of another user.
pub fn expand_home(path: &str, home: Option<&str>) -> Result<String, Report> {
    let Some(rest) = path.strip_prefix('~') else {
        return Ok(path.to_owned());
    };
    let is_own = rest.is_empty() || rest.starts_with(['/', std::path::MAIN_SEPARATOR]);
    match (is_own, home) {
        (true, Some(home)) => Ok(format!("{home}{rest}")),
        (true, None) => Err(report!(
            "`{path}` begins with the home folder, but the variable HOME is not set";
            fix: "{FULL_PATH}"
        )),
        (false, _) => Err(report!(
            "`{path}` begins with the home folder of another user, which only a shell can look up";
            fix: "{FULL_PATH}"
        )),
    }
}

impl Keys {
    /// Expands `~` in every path of the layer.
    ///
    /// # Errors
    /// When a path cannot be expanded.
    pub fn expand_paths(&self, mut layer: Layer, home: Option<&str>) -> Result<Layer, Problems> {
        let mut problems = Vec::new();
        for key in self.iter().filter(|key| key.is_path) {
            let Some(setting) = layer.get(&key.path) else {
                continue;
            };
            let Value::String(path) = &setting.value else {
                continue;
            };
            match expand_home(path, home) {
                Ok(expanded) => {
                    let mut setting = setting.clone();
                    setting.value = Value::String(expanded);
                    layer.set(&key.path, setting);
                }
                Err(why) => problems.push(Problem::of(
                    &format!("`{}`: {why}", key.path),
                    Place::Named(origin_place(&setting.origin)),
                )),
            }
        }
        match problems.is_empty() {
            true => Ok(layer),
            false => Err(Problems(problems)),
        }
    }
}
