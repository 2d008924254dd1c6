//! How paths are written down: so that a moved dataset stays whole and a
//! person can read them.

use std::path::{Component, Path};

use crate::layout::LinePlace;

/// Returns a path as the manifest in `out` writes it: relative where that survives
/// a move of the dataset with its results, absolute otherwise.
pub(super) fn from_manifest(path: &Path, out: &Path, root: &Path) -> String {
    // A path with `..` means what it says only where it stands.
    if path.components().any(|part| part == Component::ParentDir) {
        return path.display().to_string();
    }
    if let Ok(below) = path.strip_prefix(out) {
        return slashed(below);
    }
    match (path.strip_prefix(root), out.strip_prefix(root)) {
        (Ok(path), Ok(out)) => "../".repeat(out.components().count()) + &slashed(path),
        _ => path.display().to_string(),
    }
}

/// Returns `file:line`, with the file as seen from the dataset.
pub(super) fn source(place: &LinePlace, root: &Path) -> String {
    format!("{}:{}", from_root(&place.file, root), place.line)
}

/// Returns a path as seen from the dataset.
pub(super) fn from_root(path: &Path, root: &Path) -> String {
    match path.strip_prefix(root) {
        Ok(below) => slashed(below),
        Err(_) => path.display().to_string(),
    }
}

/// Returns the name of a clip: its path without `wavs/` and without its ending. It
/// is a relative path too, so that a file may be named after it.
pub(super) fn id(audio: &Path, root: &Path) -> String {
    let path = audio.strip_prefix(root).unwrap_or(audio);
    let path = path.strip_prefix("wavs").unwrap_or(path);
    match slashed(&path.with_extension("")) {
        id if id.is_empty() => "clip".to_owned(),
        id => id,
    }
}

/// Joins names by `/`, whatever the system; parts such as `..` are left out.
fn slashed(path: &Path) -> String {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    names.collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_move() {
        let (root, out) = (Path::new("/d"), Path::new("/d/myxtts"));
        let path = |path: &str| from_manifest(Path::new(path), out, root);
        assert_eq!(path("/d/wavs/a.wav"), "../wavs/a.wav");
        assert_eq!(path("/d/myxtts/audio/a.flac"), "audio/a.flac");
        assert_eq!(path("/elsewhere/a.wav"), "/elsewhere/a.wav");
        assert_eq!(path("/d/../a.wav"), "/d/../a.wav");
        let beside = from_manifest(Path::new("/d/a.wav"), Path::new("/e"), root);
        assert_eq!(beside, "/d/a.wav");
    }

    #[test]
    fn ids_are_names_of_files() {
        let name = |path: &str| id(Path::new(path), Path::new("/d"));
        assert_eq!(name("/d/wavs/a.wav"), "a");
        assert_eq!(name("/d/x/a.b.wav"), "x/a.b");
        assert_eq!(name("/elsewhere/a.wav"), "elsewhere/a");
        assert_eq!(name("/d/../../etc/a.wav"), "etc/a");
    }
}
