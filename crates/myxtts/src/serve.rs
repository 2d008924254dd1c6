//! Speaks over HTTP, in the form that clients of OpenAI's API use.
//!
//! [`bind`] takes the address, [`VoiceBook::gather`] the voices, and [`Listening::serve`] answers
//! until it is told to stop.

use std::path::Path;

pub use myxtts_serve::{
    Listening, Patience, ServeConfig, ServeError, Served, Token, VoiceBook, bind,
};

/// Returns the name of a model: its run, or the folder of its weights.
pub fn model_name(checkpoint: &Path) -> String {
    let is_run_part = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name != "checkpoints" && !name.starts_with("step_")
    };
    let absolute = checkpoint.canonicalize();
    let path = absolute.as_deref().unwrap_or(checkpoint);
    let folder = path.ancestors().find(is_run_part);
    let name = folder.and_then(Path::file_name).unwrap_or_default();
    match name.to_string_lossy() {
        name if name.is_empty() => "myxtts".to_owned(),
        name => name.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_called_by_its_run_or_its_folder() {
        for (path, expected) in [
            ("/data/runs/default/checkpoints/step_000000100", "default"),
            ("/data/runs/anna", "anna"),
            ("/data/weights", "weights"),
            ("/", "myxtts"),
        ] {
            assert_eq!(model_name(Path::new(path)), expected);
        }
    }
}
