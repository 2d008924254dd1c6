//! This test binary once more, as another process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const ROLE: &str = "MYXTTS_RUN_TEST_FOLDER";

/// Runs the test `name` of this binary in a process of its own, which finds
/// `folder` with [`folder`].
pub fn start(name: &str, folder: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    let command = match cfg!(target_os = "linux") {
        // Tests started with `nohup` would hand it down.
        true => {
            let mut env = Command::new("env");
            env.arg("--default-signal=HUP").arg(program);
            env
        }
        false => Command::new(program),
    };
    start_by(command, name, folder)
}

/// The same as `nohup` starts a program.
#[cfg(unix)]
pub fn start_without_hangup(name: &str, folder: &Path) -> Child {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap());
    start_by(shell, name, folder)
}

fn start_by(mut command: Command, name: &str, folder: &Path) -> Child {
    command
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(ROLE, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What the other process works on; `None` in the first, where its tests have
/// nothing to do.
pub fn folder() -> Option<PathBuf> {
    std::env::var_os(ROLE).map(PathBuf::from)
}
