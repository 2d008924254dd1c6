//! Every flag, key, variable, command and path that a page, a message, a
//! snapshot or an example names is there.
//!
//! Pages are read whole, sources by their string literals and comments: that is
//! where words for people stand.

mod error_layout;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use clap::Command;
use myxtts::settings::Keys;

use crate::{cli, config};

/// Flags of cargo, in command lines of the pages: not ours to check.
const CARGO: [&str; 13] = [
    "all",
    "all-targets",
    "check",
    "example",
    "features",
    "ignored",
    "locked",
    "nocapture",
    "prefix",
    "release",
    "test",
    "timings",
    "workspace",
];

/// Of the program that made the parity fixtures, which is not in the repository.
const GENERATOR: [&str; 1] = ["wide"];

/// Words after `myxtts` where it is the name of a folder.
const FOLDER_NAME: [&str; 1] = ["in"];

/// Variables that are not settings.
const VARIABLES: [&str; 4] = [
    "MYXTTS_SOFTWARE_GPUS",
    "MYXTTS_PARITY_DIR",
    "MYXTTS_TRIALS",
    // Stands for all of them where the rule is explained.
    "MYXTTS_SECTION_KEY",
];

/// Names that look like keys and are files.
const FILES_LIKE_KEYS: [&str; 3] = ["data.pkl", "training.md", "data.md"];

/// Where names are wrong on purpose: what somebody typed is repeated to them.
const REPEATED: [&str; 6] = [
    "unknown key",
    "unknown section",
    "sets no known key",
    "--> environment",
    "unexpected argument",
    "is not in this version",
];

/// Snapshots of configurations that exist in tests alone.
const OTHER_CONFIGURATIONS: [&str; 3] = [
    "crates/myxtts-config/tests/",
    "crates/myxtts-run/src/config_diff/",
    "crates/myxtts-run/src/run_folder/",
];

/// Folders of the repository that a path may begin with.
const FOLDERS: [&str; 8] = [
    "docs/",
    "examples/",
    "tools/",
    "benchmarks/",
    "crates/",
    "parity/",
    "fuzz/",
    ".ci/",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Files below a folder, without what a build or a tool left there.
fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_ours = !name.starts_with('.') || name == ".ci";
        let is_large =
            ["target", "fixtures", "wavs", "corpus", "artifacts"].contains(&name.as_str());
        match path.is_dir() {
            true if is_ours && !is_large => files_below(&path, found),
            false => found.push(path),
            true => {}
        }
    }
}

/// A file and the lines of it that people read.
struct Text {
    /// From the root of the repository.
    path: String,
    lines: Vec<String>,
}

impl Text {
    fn is(&self, extension: &str) -> bool {
        self.path.ends_with(extension)
    }
}

fn texts(files: &[PathBuf]) -> Vec<Text> {
    let root = root();
    let mut texts = Vec::new();
    for file in files {
        let path = file
            .strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let is_source = path.ends_with(".rs")
            && path.contains("/src/")
            && !path.ends_with("/tests.rs")
            // What tests share, and say to programs that are not ours.
            && !path.starts_with("crates/myxtts-testkit")
            && !path.ends_with("/named.rs");
        let is_page = [".md", ".snap", ".yaml"]
            .iter()
            .any(|end| path.ends_with(end));
        if !is_source && !is_page {
            continue;
        }
        let text = fs::read_to_string(file).unwrap();
        let lines = match (is_source, path.ends_with(".snap")) {
            (true, _) => {
                let end = text.find("\nmod tests {").unwrap_or(text.len());
                words_of(&text[..end])
            }
            // Below the header, which names the test.
            (_, true) => {
                let body = text.splitn(3, "---\n").nth(2).unwrap_or_default();
                body.lines().map(str::to_owned).collect()
            }
            _ => text.lines().map(str::to_owned).collect(),
        };
        texts.push(Text { path, lines });
    }
    texts
}

/// The lines of a source's string literals and comments.
fn words_of(source: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let from = &rest[at..];
        if from.starts_with("//") {
            let end = from.find('\n').unwrap_or(from.len());
            lines.push(from[..end].to_owned());
            rest = &from[end..];
        } else if let Some(inside) = from.strip_prefix('"') {
            let hashes: String = rest[..at].chars().rev().take_while(|c| *c == '#').collect();
            let is_raw = rest[..at - hashes.len()].ends_with('r');
            let (end, text) = match is_raw {
                true => {
                    let close = format!("\"{hashes}");
                    let end = inside.find(&close).unwrap_or(inside.len());
                    (end + 1, inside[..end].to_owned())
                }
                false => literal(from),
            };
            lines.extend(text.lines().map(str::to_owned));
            rest = from.get(end + 1..).unwrap_or_default();
        } else if from.starts_with('\'') {
            // A character, perhaps a quote; else a lifetime.
            let mut next = from.chars().skip(1);
            let skip = match (next.next(), next.next()) {
                (Some('\\'), _) => from[2..].find('\'').map_or(2, |end| end + 3),
                (Some(one), Some('\'')) => 2 + one.len_utf8(),
                _ => 1,
            };
            rest = &from[skip..];
        } else {
            rest = &from[1..];
        }
    }
    lines
}

/// Where the literal that `from` begins with ends, and what it says.
fn literal(from: &str) -> (usize, String) {
    let mut text = String::new();
    let mut letters = from.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (at, text),
            '\\' => match letters.next() {
                Some((_, 'n')) => text.push('\n'),
                // A line that continues without its indent.
                Some((_, '\n')) => {
                    while letters.next_if(|(_, next)| next.is_whitespace()).is_some() {}
                }
                Some((_, other)) => text.push(other),
                None => {}
            },
            letter => text.push(letter),
        }
    }
    (from.len(), text)
}

/// The command line as clap knows it: flags by command, `config show` included.
fn commands() -> BTreeMap<String, BTreeSet<String>> {
    fn add(path: &str, command: &Command, found: &mut BTreeMap<String, BTreeSet<String>>) {
        let mut flags: BTreeSet<String> = ["help", "version", "json"].map(str::to_owned).into();
        for argument in command.get_arguments() {
            flags.extend(argument.get_long().map(str::to_owned));
            let aliases = argument.get_all_aliases().unwrap_or_default();
            flags.extend(aliases.into_iter().map(str::to_owned));
        }
        for child in command.get_subcommands() {
            for name in std::iter::once(child.get_name()).chain(child.get_all_aliases()) {
                let below = format!("{path} {name}");
                add(below.trim(), child, found);
            }
        }
        if !path.is_empty() {
            found.insert(path.to_owned(), flags);
        }
    }
    let mut found = BTreeMap::new();
    add("", &cli::command(), &mut found);
    found
}

/// The flags named in a piece of text, without dashes.
fn flags_in(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("--") {
        let before = text[..at].chars().next_back();
        let rest = &text[at + 2..];
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        let name = &rest[..end.unwrap_or(rest.len())];
        let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
        let stands_alone = before.is_none_or(|c| !(c.is_alphanumeric() || c == '-' || c == '<'));
        // Arrows of diagrams: `a --reads--> b`.
        if begins && stands_alone && !name.ends_with('-') {
            found.push(name);
        }
    }
    found
}

/// Names of letters, digits and `also` that follow `before` in a text, with it.
fn names_after<'t>(text: &'t str, before: &str, also: &str) -> Vec<&'t str> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices(before) {
        let is_inside = text[..at]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || "_-./".contains(c));
        let rest = &text[at + before.len()..];
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || also.contains(c)));
        let end = end.unwrap_or(rest.len());
        if !is_inside && end > 0 {
            found.push(&text[at..at + before.len() + end]);
        }
    }
    found
}

struct Known {
    commands: BTreeMap<String, BTreeSet<String>>,
    keys: Keys,
    /// From the root.
    files: Vec<String>,
    /// Text of the scripts, whose flags are their own.
    scripts: String,
}

impl Known {
    fn is_key(&self, name: &str) -> bool {
        let is_alias = self.keys.aliases().iter().any(|alias| alias.name == name);
        self.keys.get(name).is_some() || is_alias
    }

    fn is_variable(&self, name: &str) -> bool {
        let own = self.keys.iter().map(|key| key.path.as_str());
        let mut known = own.chain(self.keys.aliases().iter().map(|alias| alias.name));
        VARIABLES.contains(&name) || known.any(|path| Keys::variable(path) == name)
    }

    fn is_path(&self, path: &str) -> bool {
        let path = path.trim_end_matches(['/', '.']);
        let below = format!("{path}/");
        let is = |file: &String| file == path || file.starts_with(&below);
        // Large folders are not listed.
        self.files.iter().any(is) || root().join(path).exists()
    }

    /// What a line names that is not there.
    fn missing(&self, text: &Text, line: &str) -> Vec<String> {
        let mut missing = Vec::new();
        if REPEATED.iter().any(|words| line.contains(words)) {
            return missing;
        }
        self.missing_flags(text, line, &mut missing);
        let is_other = OTHER_CONFIGURATIONS
            .iter()
            .any(|folder| text.path.starts_with(folder));
        if !is_other {
            for section in ["data.", "training."] {
                for name in names_after(line, section, "_") {
                    if !self.is_key(name) && !FILES_LIKE_KEYS.contains(&name) {
                        missing.push(format!("the key {name}"));
                    }
                }
            }
            for set in names_after(line, "--set ", "_.=") {
                let key = set.trim_start_matches("--set ");
                if let Some((key, _)) = key.split_once('=')
                    && key.contains('.')
                    && !["key", "section.key", "KEY"].contains(&key)
                    && !self.is_key(key)
                {
                    missing.push(format!("the key of --set {key}"));
                }
            }
            for name in names_after(line, "MYXTTS_", "_") {
                if !name.ends_with('_') && !self.is_variable(name) {
                    missing.push(format!("the variable {name}"));
                }
            }
        }
        for folder in FOLDERS {
            for path in names_after(line, folder, "_-./") {
                if !self.is_path(path) {
                    missing.push(format!("the path {path}"));
                }
            }
        }
        for name in line.split('`').skip(1).step_by(2) {
            let is_plain = name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "_-./".contains(c));
            let end = format!("/{name}");
            if is_plain
                && name.ends_with(".rs")
                && !self
                    .files
                    .iter()
                    .any(|file| file == name || file.ends_with(&end))
            {
                missing.push(format!("the file {name}"));
            }
        }
        missing
    }

    /// A flag after `myxtts COMMAND` is one of that command; alone it is one of
    /// any.
    fn missing_flags(&self, text: &Text, line: &str, missing: &mut Vec<String>) {
        let is_diagram = text.is(".rs") && line.starts_with("//") && line.contains("-->");
        if is_diagram {
            return;
        }
        let is_of_any = |flag: &str| self.commands.values().any(|flags| flags.contains(flag));
        let runs_cargo = line.contains("cargo ") || line.contains("`--release`");
        let names_a_script = text.is(".md")
            || line.contains("benchmarks/")
            || line.contains("tools/")
            // The commands that start them.
            || text.path.contains("commands/bench/")
            || text.path.contains("myxtts-bench/");
        let is_of_others = |flag: &str| {
            (runs_cargo || text.is(".md") || text.is(".rs")) && CARGO.contains(&flag)
                || names_a_script && self.scripts.contains(&format!("--{flag}"))
                || text.path.starts_with("parity/") && GENERATOR.contains(&flag)
        };
        for flag in flags_in(line) {
            let is_example = flag == "flag";
            if !is_example && !is_of_any(flag) && !is_of_others(flag) {
                missing.push(format!("the flag --{flag}"));
            }
        }
        let start = line.replace("cargo run --release -- ", "myxtts ");
        for (at, _) in start.match_indices("myxtts ") {
            let before = start[..at].chars().next_back();
            let rest = &start[at + "myxtts ".len()..];
            let rest = rest.split(['`', '#', ';']).next().unwrap_or_default();
            let mut words = rest.split_whitespace();
            let Some(first) = words.next() else { continue };
            let is_word = first.chars().all(|c| c.is_ascii_lowercase() || c == '-');
            let both = format!("{first} {}", words.next().unwrap_or_default());
            let command = self
                .commands
                .get_key_value(&both)
                .or_else(|| self.commands.get_key_value(first));
            match command {
                Some((command, known)) => {
                    for flag in flags_in(rest)
                        .into_iter()
                        .filter(|flag| !known.contains(*flag))
                    {
                        missing.push(format!("--{flag} of `myxtts {command}`"));
                    }
                }
                // In backticks or at the start of a line it is a command.
                None if FOLDER_NAME.contains(&first) => {}
                None if is_word && matches!(before, None | Some('`')) => {
                    missing.push(format!("the command `myxtts {first}`"));
                }
                None => {}
            }
        }
    }
}

#[test]
fn what_is_named_is_there() {
    let root = root();
    let mut files = Vec::new();
    files_below(&root, &mut files);
    let texts = texts(&files);
    assert!(texts.len() > 400, "{} texts", texts.len());
    let relative = |file: &PathBuf| {
        file.strip_prefix(&root)
            .unwrap()
            .to_string_lossy()
            .into_owned()
    };
    let is_script = |file: &&PathBuf| {
        let path = relative(file);
        (path.starts_with("tools/")
            || path.starts_with("benchmarks/")
            || path.starts_with("parity/"))
            && !path.ends_with(".md")
    };
    let scripts = files.iter().filter(is_script);
    let known = Known {
        commands: commands(),
        keys: config::keys(),
        scripts: scripts
            .filter_map(|path| fs::read_to_string(path).ok())
            .collect(),
        files: files.iter().map(relative).collect(),
    };
    let mut wrong = Vec::new();
    for text in &texts {
        for line in &text.lines {
            for what in known.missing(text, line) {
                wrong.push(format!("{}: {what}, in: {}", text.path, line.trim()));
            }
        }
        if text.is(".md") {
            let folder = root.join(&text.path).parent().unwrap().to_owned();
            for link in text.lines.iter().flat_map(|line| line.split("](").skip(1)) {
                let target = link.split([')', '#']).next().unwrap_or_default();
                let is_ours = !target.is_empty() && !target.contains("://");
                if is_ours && !folder.join(target).exists() {
                    wrong.push(format!("{}: the link {target}", text.path));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} names:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The first test can fail: each sort of name, once wrong.
#[test]
fn a_wrong_name_is_found() {
    let known = Known {
        commands: commands(),
        keys: config::keys(),
        files: vec![
            "docs/pipeline.md".to_owned(),
            "crates/a/src/here.rs".to_owned(),
        ],
        scripts: String::new(),
    };
    let page = Text {
        path: "README.md".to_owned(),
        lines: vec![],
    };
    for (line, found) in [
        ("fix: --set run.name=NAME", "the key of --set run.name"),
        ("see `data.batch_sise`", "the key data.batch_sise"),
        ("MYXTTS_TRAINING_LR=1", "the variable MYXTTS_TRAINING_LR"),
        ("halve --batchsize", "the flag --batchsize"),
        ("`myxtts train --out x`", "--out of `myxtts train`"),
        ("`myxtts traim`", "the command `myxtts traim`"),
        ("docs/pipelines.md", "the path docs/pipelines.md"),
        ("see `there.rs`", "the file there.rs"),
    ] {
        assert!(
            known.missing(&page, line).contains(&found.to_owned()),
            "{line}"
        );
    }
    for line in [
        "--set training.name=NAME, data.batch_size, MYXTTS_DATA_BATCH_SIZE",
        "`myxtts config show --lr 1`; docs/pipeline.md and `here.rs`",
        "a --reads--> b",
    ] {
        assert_eq!(known.missing(&page, line), Vec::<String>::new(), "{line}");
    }
}
