//! Lists the files of the sample corpus, so that the program can carry them.

use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("corpus");
    println!("cargo::rerun-if-changed=corpus");
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut list = String::from("/// Names and contents.\nstatic FILES: &[(&str, &[u8])] = &[\n");
    for path in files {
        let name: Vec<_> = path
            .strip_prefix(&root)?
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        let name = name.join("/");
        // By a name that holds wherever the sources are: target folders are
        // shared between checkouts.
        writeln!(
            list,
            "    ({name:?}, include_bytes!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {:?}))),",
            format!("/corpus/{name}")
        )?;
    }
    list.push_str("];\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("corpus.rs");
    fs::write(out, list)?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true => collect(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}
