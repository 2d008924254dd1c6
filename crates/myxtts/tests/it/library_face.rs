//! The program stands on the library alone: no source of it names a crate below.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The modules that a source declares in files of their own.
fn modules(source: &str) -> Vec<&str> {
    let declared = source.lines().filter_map(|line| {
        let line = line.strip_suffix(';')?;
        let (before, name) = line.rsplit_once("mod ")?;
        let is_module = before.is_empty() || before.starts_with("pub");
        is_module.then_some(name)
    });
    declared.collect()
}

/// Adds a source and all modules below it, as the compiler finds them.
fn add_tree(file: PathBuf, found: &mut BTreeSet<PathBuf>) {
    let source = fs::read_to_string(&file).unwrap();
    let parent = file.parent().unwrap();
    let stem = file.file_stem().unwrap();
    let below = match stem.to_str() {
        Some("main" | "lib" | "mod") => parent.to_owned(),
        _ => parent.join(stem),
    };
    for name in modules(&source) {
        let places = [format!("{name}.rs"), format!("{name}/mod.rs")];
        let mut places = places.iter().map(|place| below.join(place));
        let place = places.find(|place| place.is_file());
        add_tree(
            place.unwrap_or_else(|| panic!("{}: {name}", file.display())),
            found,
        );
    }
    found.insert(file);
}

fn tree(root: &str) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    add_tree(sources().join(root), &mut found);
    found
}

/// Lines that name another crate of the workspace.
fn naming_a_crate(source: &str) -> Vec<&str> {
    let names = |line: &&str| {
        line.match_indices("myxtts_").any(|(at, _)| {
            let before = line[..at].chars().next_back();
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
        })
    };
    source.lines().filter(names).collect()
}

#[test]
fn the_program_names_no_crate_below_the_library() {
    let program = tree("main.rs");
    assert!(program.len() > 40, "{} sources", program.len());
    let mut wrong = vec![];
    for file in &program {
        let source = fs::read_to_string(file).unwrap();
        for line in naming_a_crate(&source) {
            wrong.push(format!("{}: {}", file.display(), line.trim()));
        }
    }
    assert!(
        wrong.is_empty(),
        "use what `myxtts` offers, or add it there:\n{}",
        wrong.join("\n")
    );
}

/// A source of both would be compiled twice, and its types would be two.
#[test]
fn no_source_is_of_the_program_and_of_the_library() {
    let (program, library) = (tree("main.rs"), tree("lib.rs"));
    assert!(library.len() > 60, "{} sources", library.len());
    let both: Vec<_> = program.intersection(&library).collect();
    assert!(both.is_empty(), "{both:?}");
}

/// The tests above can fail.
#[test]
fn a_crate_that_is_named_is_found() {
    let source = "use myxtts_base::report;\nlet x: myxtts_run::Step = y;\nuse myxtts::report;\n";
    assert_eq!(naming_a_crate(source).len(), 2);
    let source = "mod one;\npub(crate) mod two;\nmod three {\n}\n// mod four;\n";
    assert_eq!(modules(source), ["one", "two"]);
}
