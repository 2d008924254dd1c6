//! docs/walk.md leads through the code that is there.

use std::fs;
use std::path::{Path, PathBuf};

const BACK: &str = "◂";

/// A line of the walk.
#[derive(Debug)]
struct Hop {
    depth: usize,
    /// Below `crates`.
    file: String,
    /// `function` or `Type::function`.
    function: String,
    is_back: bool,
}

impl Hop {
    fn read(line: &str) -> Option<Self> {
        let hop = line.trim_start().strip_prefix("- `")?;
        let (hop, rest) = hop.split_once('`')?;
        let (file, function) = hop.split_once(": ")?;
        Some(Self {
            depth: (line.len() - line.trim_start().len()) / 2,
            file: file.to_owned(),
            function: function.to_owned(),
            is_back: rest.contains(BACK),
        })
    }

    fn package(&self) -> &str {
        self.file.split('/').next().unwrap_or_default()
    }

    /// Whether a source defines the function, in the type where one is named.
    fn is_in(&self, source: &str) -> bool {
        let (owner, name) = match self.function.rsplit_once("::") {
            Some((owner, name)) => (Some(owner), name),
            None => (None, self.function.as_str()),
        };
        let defines = |line: &str| {
            let after = line.split_once(&format!("fn {name}"));
            after.is_some_and(|(_, rest)| rest.starts_with(['(', '<']))
        };
        let is_of = |owner: &str| {
            let words = |line: &str| {
                let mut words = line.split(|c: char| !c.is_alphanumeric() && c != '_');
                words.any(|word| word == owner)
            };
            let mut heads = source.lines().filter(|line| line.starts_with("impl"));
            heads.any(words)
        };
        source.lines().any(defines) && owner.is_none_or(is_of)
    }
}

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn page() -> PathBuf {
    crates().join("../docs/walk.md")
}

/// Every source of the program, by its path below `crates`.
fn sources() -> Vec<(String, String)> {
    let mut found = vec![];
    let packages = fs::read_dir(crates()).unwrap();
    let mut folders: Vec<PathBuf> = packages
        .map(|package| package.unwrap().path().join("src"))
        .filter(|folder| folder.is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                let name = path.strip_prefix(crates()).unwrap();
                let name = name.to_string_lossy().into_owned();
                found.push((name, fs::read_to_string(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

/// Where a hop's function is now: in its own crate if one file there has it, else in the
/// one file that does.
fn places<'s>(hop: &Hop, sources: &'s [(String, String)]) -> Vec<&'s str> {
    let having = sources.iter().filter(|(_, source)| hop.is_in(source));
    let all: Vec<&str> = having.map(|(file, _)| file.as_str()).collect();
    let below = format!("{}/", hop.package());
    let own: Vec<&str> = all
        .iter()
        .copied()
        .filter(|file| file.starts_with(&below))
        .collect();
    match own.len() {
        1 => own,
        _ => all,
    }
}

#[test]
fn every_hop_of_the_walk_is_there() {
    let sources = sources();
    assert!(sources.len() > 300, "{} sources", sources.len());
    let mut text = fs::read_to_string(page()).unwrap();
    let hops: Vec<Hop> = text.lines().filter_map(Hop::read).collect();
    assert!(hops.len() > 50, "{} hops", hops.len());
    let updates = std::env::var_os("UPDATE_DOCS").is_some();
    let mut wrong = vec![];
    for hop in &hops {
        let own = sources.iter().find(|(file, _)| *file == hop.file);
        if own.is_some_and(|(_, source)| hop.is_in(source)) {
            continue;
        }
        let Hop { file, function, .. } = hop;
        match places(hop, &sources)[..] {
            [place] if updates => {
                let [old, new] = [file.as_str(), place].map(|file| format!("`{file}: {function}`"));
                text = text.replace(&old, &new);
            }
            ref places => wrong.push(format!("{file}: {function}, which is in {places:?}")),
        }
    }
    if updates {
        fs::write(page(), text).unwrap();
    }
    assert!(
        wrong.is_empty(),
        "not there (UPDATE_DOCS=1 corrects what is in one place):\n{}",
        wrong.join("\n")
    );
}

/// Hops into a crate that a caller of their caller is in.
fn crossed_back(hops: &[Hop]) -> Vec<&Hop> {
    let mut above: Vec<&Hop> = vec![];
    let mut back = vec![];
    for hop in hops {
        above.truncate(hop.depth);
        let caller = above
            .last()
            .map_or(hop.package(), |caller| caller.package());
        let was_here = above
            .iter()
            .any(|hop_above| hop_above.package() == hop.package());
        if caller != hop.package() && was_here {
            back.push(hop);
        }
        above.push(hop);
    }
    back
}

#[test]
fn borders_that_are_crossed_back_are_marked() {
    let text = fs::read_to_string(page()).unwrap();
    let hops: Vec<Hop> = text.lines().filter_map(Hop::read).collect();
    let function = |hop: &&Hop| hop.function.clone();
    let back: Vec<String> = crossed_back(&hops).iter().map(function).collect();
    let marked: Vec<String> = hops
        .iter()
        .filter(|hop| hop.is_back)
        .map(|hop| function(&hop))
        .collect();
    assert_eq!(marked, back);
}

/// The tests above can fail.
#[test]
fn a_wrong_hop_is_found() {
    let hop = |line: &str| Hop::read(line).unwrap();
    let source = "impl Work for Feed<'_> {\n    fn fill(&self) {}\n}\nfn filled() {}\n";
    assert!(hop("- `a/src/x.rs: Feed::fill` fills").is_in(source));
    assert!(hop("- `a/src/x.rs: filled`").is_in(source));
    for wrong in ["fil", "Fee::fill", "Feed::full"] {
        assert!(!hop(&format!("- `a/src/x.rs: {wrong}`")).is_in(source));
    }
    let walk = [
        "- `a/x.rs: one`",
        "  - `b/y.rs: two`",
        "    - `a/z.rs: three`",
        "  - `a/x.rs: four`",
    ];
    let hops: Vec<Hop> = walk.iter().map(|line| hop(line)).collect();
    let back: Vec<&str> = crossed_back(&hops)
        .iter()
        .map(|hop| hop.function.as_str())
        .collect();
    assert_eq!(back, ["three"]);
}
