//! The program, driven as a person would.

use std::path::Path;
use std::process::Command;

/// `myxtts ARGUMENTS` in an empty folder, without the tester's own settings.
pub fn myxtts(arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    run_in(folder.path(), arguments, &[])
}

/// The same with a configuration file `train.yaml` beside it.
pub fn myxtts_with_file(yaml: &str, arguments: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("train.yaml"), yaml).unwrap();
    run_in(folder.path(), arguments, &[])
}

pub fn run_in(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command = Command::new(env!("CARGO_BIN_EXE_myxtts"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("MYXTTS_") {
            command.env_remove(&name);
        }
    }
    let output = command
        .current_dir(folder)
        .env("NO_COLOR", "1")
        .env("COLUMNS", "100")
        .envs(variables.iter().copied())
        .args(arguments)
        .output()
        .unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

pub struct Run {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// The JSON document on stdout, which must be all there is.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| {
            panic!(
                "stdout is not one document: {why}\n{}\n{}",
                self.stdout, self.stderr
            )
        })
    }
}
