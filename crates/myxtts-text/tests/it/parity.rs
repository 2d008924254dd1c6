//! The tokenizer cases of the parity fixtures.
//!
//! Reads every set under `MYXTTS_PARITY_DIR` (a set is a folder with a
//! `manifest.json`). Cleaned text is always compared; ids when `XTTS_VOCAB`
//! names the vocabulary the cases were made with, which is not ours to keep.
//! A case in a language we do not clean fully is skipped out loud, never passed
//! in silence.

use std::path::{Path, PathBuf};

use myxtts_text::{Language, Vocabulary, clean};
use serde_json::Value;

fn sets(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if folder.join("manifest.json").is_file() {
        found.push(folder.to_owned());
    }
    let Ok(entries) = std::fs::read_dir(folder) else {
        return found;
    };
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    found.extend(folders.iter().flat_map(|folder| sets(folder)));
    found
}

#[test]
fn tokenizer_cases_of_the_reference() {
    let named = std::env::var_os("MYXTTS_PARITY_DIR").map(PathBuf::from);
    let asked_for = named.is_some();
    let folder = named
        .unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../parity/fixtures"));
    let sets = sets(&folder);
    assert!(
        !(asked_for && sets.is_empty()),
        "no fixture set under {}",
        folder.display()
    );
    if sets.is_empty() {
        println!("skipped: no fixture set under {}", folder.display());
    }
    let vocabulary = std::env::var_os("XTTS_VOCAB")
        .map(|path| Vocabulary::read(Path::new(&path)).unwrap_or_else(|error| panic!("{error}")));
    if vocabulary.is_none() {
        println!("ids not compared: XTTS_VOCAB is not set");
    }
    for set in sets {
        let text = std::fs::read_to_string(set.join("manifest.json")).unwrap();
        let manifest: Value = serde_json::from_str(&text).unwrap();
        let tokenizer = &manifest["tokenizer"];
        if tokenizer.is_null() {
            println!("skipped: {} has no tokenizer cases", set.display());
            continue;
        }
        check(&set, tokenizer, vocabulary.as_ref());
    }
}

fn check(set: &Path, tokenizer: &Value, vocabulary: Option<&Vocabulary>) {
    if let Some(vocabulary) = vocabulary {
        let tokens = tokenizer["n_tokens"].as_u64().unwrap();
        assert_eq!(vocabulary.text_tokens() as u64, tokens, "text tokens");
        let len = tokenizer["len"].as_u64().unwrap();
        assert_eq!(vocabulary.entries().count() as u64, len, "entries");
    }
    let (mut texts, mut ids_compared, mut skipped) = (0, 0, 0);
    for case in tokenizer["cases"].as_array().unwrap() {
        let text = case["text"].as_str().unwrap();
        let expected = case["clean"].as_str().unwrap();
        let language: Language = case["lang"].as_str().unwrap().parse().unwrap();
        let cleaned = clean(text, &language);
        if let Some(gap) = cleaned.unsupported.first() {
            println!("text skipped: {gap}");
            skipped += 1;
        } else {
            assert_eq!(cleaned.text, expected, "{language}: {text}");
            texts += 1;
        }
        if let Some(vocabulary) = vocabulary {
            let ids: Vec<u32> = serde_json::from_value(case["ids"].clone()).unwrap();
            // From the reference's own text, so that a gap in cleaning does
            // not hide one in the tokenizer.
            let ours = match vocabulary.encode(expected, &language) {
                Ok(ours) => ours,
                Err(error) => {
                    println!("tag spelled out, as the reference does: {error}");
                    vocabulary.encode_raw(&format!("[{}]{expected}", language.tag()))
                }
            };
            assert_eq!(ours, ids, "{language}: {text}");
            ids_compared += 1;
        }
    }
    println!(
        "{}: {texts} texts and {ids_compared} id lists equal, {skipped} texts skipped",
        set.display()
    );
    assert!(texts > 0, "no text was compared");
}
