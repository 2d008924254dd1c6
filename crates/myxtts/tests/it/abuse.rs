//! A small round of `tools/abuse`: what anybody can run for hours.

use std::path::Path;
use std::process::Command;

use crate::tiny::Tiny;

#[test]
fn wrong_cards_configurations_and_flags_are_refused_in_words() {
    let python = Command::new("python3").arg("--version").output();
    if !python.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED: there is no python3, which tools/abuse needs");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let weights = folder.path().join("weights");
    Tiny::new(&["en"], 40).save(&weights);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/abuse");
    let output = Command::new("python3")
        .arg(script)
        .args(["--seed", "1", "--count", "20", "--timeout", "60"])
        .args(["--kind", "cards", "--kind", "configs", "--kind", "flags"])
        .arg("--program")
        .arg(env!("CARGO_BIN_EXE_myxtts"))
        .arg("--weights")
        .arg(&weights)
        .arg("--keep")
        .arg(folder.path().join("kept"))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{wrong}");
    assert!(told.contains("| cards | 20 |"), "{told}");
}
