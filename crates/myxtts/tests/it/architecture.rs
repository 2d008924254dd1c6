//! The crates stand in the order that ARCHITECTURE.md gives them, and are built once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The first column of the table of crates, from the top.
fn crates_in_order(architecture: &str) -> Vec<&str> {
    let (_, after) = architecture.split_once("\n## Crates\n").unwrap();
    let (section, _) = after.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`'))
        .map(|(name, _)| name)
        .collect()
}

/// Who depends on whom within the workspace, tests' own dependencies left out.
fn edges(metadata: &Value) -> Vec<(String, String)> {
    let packages = metadata["packages"].as_array().unwrap();
    let of = |package: &Value| {
        let name = package["name"].as_str().unwrap().to_owned();
        let dependencies = package["dependencies"].as_array().unwrap().clone();
        dependencies
            .into_iter()
            .filter(|dependency| dependency["path"].is_string() && dependency["kind"] != "dev")
            .map(move |dependency| {
                let on = dependency["name"].as_str().unwrap().to_owned();
                (name.clone(), on)
            })
            .collect::<Vec<_>>()
    };
    packages.iter().flat_map(of).collect()
}

/// Edges that the order does not allow, and crates that it does not name.
fn out_of_order(order: &[&str], edges: &[(String, String)]) -> Vec<String> {
    let place = |name: &str| order.iter().position(|other| *other == name);
    let is_wrong = |(from, to): &&(String, String)| match (place(from), place(to)) {
        (Some(from), Some(to)) => to >= from,
        _ => true,
    };
    let wrong = edges.iter().filter(is_wrong);
    wrong.map(|(from, to)| format!("{from} -> {to}")).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_crate_depends_only_on_crates_above_it() {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version=1"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let edges = edges(&metadata);
    let architecture = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let order = crates_in_order(&architecture);
    assert!(edges.len() > order.len(), "{edges:?}");
    let wrong = out_of_order(&order, &edges);
    assert!(
        wrong.is_empty(),
        "{wrong:?} against the table in ARCHITECTURE.md"
    );
    let packages = metadata["packages"].as_array().unwrap();
    let names = packages
        .iter()
        .filter_map(|package| package["name"].as_str());
    let unnamed: Vec<&str> = names.filter(|name| !order.contains(name)).collect();
    assert!(unnamed.is_empty(), "not in ARCHITECTURE.md: {unnamed:?}");
}

/// The test above can fail.
#[test]
fn an_edge_upwards_is_found() {
    let order = ["low", "high"];
    let edge = |from: &str, to: &str| (from.to_owned(), to.to_owned());
    assert!(out_of_order(&order, &[edge("high", "low")]).is_empty());
    for wrong in [edge("low", "high"), edge("low", "low"), edge("new", "low")] {
        assert_eq!(out_of_order(&order, &[wrong]).len(), 1);
    }
}

/// A feature that only the tests ask for makes `cargo test` compile a crate anew,
/// and all that stand on it, which the user of `cargo run` has compiled already.
#[test]
fn the_program_and_its_tests_share_what_is_built() {
    let tree = |of: &[&str]| -> BTreeSet<String> {
        let shown = ["tree", "--prefix=none", "--format={p} {f}"];
        let text = cargo(&[&shown, of].concat());
        let crates = text.lines().map(|line| line.trim_end_matches(" (*)"));
        crates.map(|line| line.trim_end().to_owned()).collect()
    };
    let run = tree(&["--edges=normal,build", "--package=myxtts"]);
    let test = tree(&["--edges=normal,build,dev", "--workspace"]);
    assert!(run.len() > 100, "{run:?}");
    let anew: Vec<&String> = run.difference(&test).collect();
    assert!(
        anew.is_empty(),
        "built twice, with other features: {anew:#?}"
    );
}
