//! Writes a new configuration beside the old one, with the edits shown and nothing else
//! changed.

use std::fs;
use std::path::{Path, PathBuf};

use myxtts_base::report;
use myxtts_config::{Keys, Source};
use myxtts_doctor::{Diagnosis, Edit, Lang};
use serde::Serialize;

use crate::error::Error;

/// The file that the edits were written to.
#[derive(Debug, Serialize)]
pub struct Fixed {
    path: PathBuf,
    /// Where the file that was there before is kept.
    backup: Option<PathBuf>,
    edits: Vec<Edit>,
}

/// Describes what was written, in words.
pub fn words(fixed: Option<&Fixed>, lang: Lang) -> String {
    let Some(fixed) = fixed else {
        return lang
            .pick("\nNo setting to change.\n", "\nتنظیمی برای تغییر نیست.\n")
            .to_owned();
    };
    let path = fixed.path.display();
    let mut words = lang.pick(
        format!("\nWritten: {path}\n"),
        format!("\nنوشته شد: {path}\n"),
    );
    if let Some(backup) = &fixed.backup {
        let backup = backup.display();
        words.push_str(&lang.pick(
            format!("  the file that was there is kept as {backup}\n"),
            format!("  آنچه آنجا بود نگه داشته شد: {backup}\n"),
        ));
    }
    for Edit { key, old, new } in &fixed.edits {
        words.push_str(&match old {
            Some(old) => format!("  {key}: {old} -> {new}\n"),
            None => format!("  {key}: {new}\n"),
        });
    }
    words
}

/// Writes the edits of all findings beside `file`; `None` if there are none.
///
/// # Errors
/// When the file cannot be read, edited safely or written.
pub fn write(
    keys: &Keys,
    file: Option<&Path>,
    diagnosis: &Diagnosis,
) -> Result<Option<Fixed>, Error> {
    let edits = edits(diagnosis);
    if edits.is_empty() {
        return Ok(None);
    }
    let old = match file {
        Some(file) => fs::read_to_string(file).map_err(|why| failed("read", file, &why))?,
        None => String::new(),
    };
    let new = edited(&old, &edits);
    // A training must be able to read what is written.
    let name = file.map_or("the new configuration".to_owned(), |f| {
        f.display().to_string()
    });
    let source = Source::from_bytes(&name, new.as_bytes());
    let layer = source.map_err(|why| why.to_string());
    let layer = layer.and_then(|source| keys.file(&source).map_err(|why| why.to_string()));
    if let Err(why) = layer {
        let lines: Vec<String> = edits
            .iter()
            .map(|e| format!("{}: {}", e.key, e.new))
            .collect();
        return Err(Error::Failed(report!(
            "{name} is written in a way that cannot be edited safely: {why}";
            fix: "set these yourself: {}", lines.join(", ")
        )));
    }
    let path = beside(file);
    let backup = match path.exists() {
        true => {
            let backup = free(&path);
            fs::rename(&path, &backup).map_err(|why| failed("keep", &path, &why))?;
            Some(backup)
        }
        false => None,
    };
    fs::write(&path, new).map_err(|why| failed("write", &path, &why))?;
    Ok(Some(Fixed {
        path,
        backup,
        edits,
    }))
}

fn failed(what: &str, path: &Path, why: &std::io::Error) -> Error {
    Error::Failed(report!(
        "cannot {what} {}: {why}", path.display();
        fix: "run it where you may write, or make the edits yourself"
    ))
}

/// Returns the first edit of each key: findings are ranked.
fn edits(diagnosis: &Diagnosis) -> Vec<Edit> {
    let mut edits: Vec<Edit> = vec![];
    for edit in diagnosis.findings.iter().flat_map(|finding| &finding.edits) {
        if edits.iter().all(|known| known.key != edit.key) {
            edits.push(edit.clone());
        }
    }
    edits
}

/// Returns the path of `NAME.fixed.yaml` beside the configuration.
fn beside(file: Option<&Path>) -> PathBuf {
    let file = file.unwrap_or(Path::new("myxtts.yaml"));
    file.with_extension("fixed.yaml")
}

/// Returns a name that is not taken: `NAME.fixed.yaml.bak`, then `.bak2` and so on.
fn free(path: &Path) -> PathBuf {
    let named = |number: u32| {
        let mut name = path.as_os_str().to_owned();
        name.push(match number {
            1 => ".bak".to_owned(),
            number => format!(".bak{number}"),
        });
        PathBuf::from(name)
    };
    let mut names = (1..).map(named);
    names.find(|name| !name.exists()).unwrap_or_default()
}

/// Returns the text with the values of some keys changed line by line: comments, order and
/// everything else stay.
fn edited(old: &str, edits: &[Edit]) -> String {
    let mut lines: Vec<String> = old.lines().map(str::to_owned).collect();
    for edit in edits {
        let Some((section, key)) = edit.key.split_once('.') else {
            continue;
        };
        set(&mut lines, section, key, &edit.new);
    }
    let mut text = lines.join("\n");
    text.push('\n');
    text
}

fn set(lines: &mut Vec<String>, section: &str, key: &str, value: &str) {
    let is_top = |line: &str| line.starts_with(|c: char| !c.is_whitespace() && c != '#');
    let head = lines.iter().position(|line| {
        let rest = line
            .strip_prefix(section)
            .and_then(|rest| rest.strip_prefix(':'));
        rest.is_some_and(|rest| rest.trim().is_empty() || rest.trim().starts_with('#'))
    });
    let Some(head) = head else {
        lines.extend([format!("{section}:"), format!("  {key}: {value}")]);
        return;
    };
    let body = &lines[head + 1..];
    let length = body
        .iter()
        .position(|line| is_top(line))
        .unwrap_or(body.len());
    let end = head + 1 + length;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let is_entry = |line: &&String| {
        let text = line.trim_start();
        !text.is_empty() && !text.starts_with('#')
    };
    let own = lines[head + 1..end]
        .iter()
        .find(is_entry)
        .map_or(2, |line| indent(line));
    for line in &mut lines[head + 1..end] {
        let text = line.trim_start();
        let is_key = text
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(':'));
        if is_key && indent(line) == own {
            // The space before a comment is kept, as comments may be aligned in a column.
            let comment = line
                .find(" #")
                .map(|at| line[line[..at].trim_end().len()..].to_owned());
            *line = format!("{:own$}{key}: {value}{}", "", comment.unwrap_or_default());
            return;
        }
    }
    lines.insert(head + 1, format!("{:own$}{key}: {value}", ""));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(key: &str, new: &str) -> Edit {
        Edit {
            key: key.to_owned(),
            old: None,
            new: new.to_owned(),
        }
    }

    #[test]
    fn only_the_edits_change() {
        let old = "\
# mine
data:
    # how many
    batch_size: 4  # fits
    train_data: /data # here

training:
    seed: 3
";
        let edits = [
            edit("data.batch_size", "8"),
            edit("data.num_workers", "6"),
            edit("training.seed", "5"),
            edit("model.size", "small"),
        ];
        insta::assert_snapshot!(edited(old, &edits));
        insta::assert_snapshot!(edited("", &edits[..2]));
    }

    #[test]
    fn names_that_are_taken_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("mine.yaml");
        let new = beside(Some(&file));
        assert_eq!(new, folder.path().join("mine.fixed.yaml"));
        fs::write(&new, "old").unwrap();
        let first = free(&new);
        assert_eq!(first, folder.path().join("mine.fixed.yaml.bak"));
        fs::write(&first, "older").unwrap();
        assert_eq!(free(&new), folder.path().join("mine.fixed.yaml.bak2"));
    }
}
