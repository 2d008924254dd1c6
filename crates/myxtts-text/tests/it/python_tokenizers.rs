//! A vocabulary trained here, and one grown here, read by the Python package.
//!
//! `trained_vocab.json` and `grown_vocab.json` are what this crate writes
//! (`MYXTTS_UPDATE=1` writes them anew); `python_ids.tsv` is what Python's
//! `tokenizers` makes of them (`make_python_ids.py`). Both must agree with the
//! code of today.

use std::path::PathBuf;

use myxtts_text::{Grown, Growth, Training, Vocabulary};

const FA: &str = include_str!("../data/corpus_fa.txt");
const EN: &str = include_str!("../data/corpus_en.txt");

fn trained() -> Vocabulary {
    let training = Training {
        tokens: 180,
        languages: vec!["en".parse().unwrap()],
        ..Training::default()
    };
    Vocabulary::train(EN.lines(), &training).unwrap()
}

fn grown() -> Grown {
    let growth = Growth {
        merged_tokens: 120,
        languages: vec!["fa".parse().unwrap()],
        ..Growth::default()
    };
    trained().grow(FA.lines(), &growth).unwrap()
}

fn committed(name: &str, ours: &str) -> Vocabulary {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    if std::env::var_os("MYXTTS_UPDATE").is_some() {
        std::fs::write(&path, ours).unwrap();
    }
    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, ours, "{name} is not what is written today");
    Vocabulary::read(&path).unwrap()
}

#[test]
fn python_gives_the_same_ids() {
    let trained = committed("trained_vocab.json", &trained().to_json());
    let grown = committed("grown_vocab.json", &grown().vocabulary.to_json());
    let mut rows = 0;
    for row in include_str!("../data/python_ids.tsv").lines() {
        let [name, text, ids] = row.split('\t').collect::<Vec<_>>().try_into().unwrap();
        let text = text
            .replace("\\t", "\t")
            .replace("\\n", "\n")
            .replace("\\\\", "\\");
        let expected: Vec<u32> = ids
            .split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect();
        let vocabulary = if name.starts_with("trained") {
            &trained
        } else {
            &grown
        };
        assert_eq!(vocabulary.encode_raw(&text), expected, "{name}: {text}");
        rows += 1;
    }
    assert!(rows > 180, "{rows} rows");
}

#[test]
fn persian_is_cut_into_these_tokens() {
    let vocabulary = grown().vocabulary;
    let language = "fa".parse().unwrap();
    let shown: Vec<String> = FA
        .lines()
        .take(12)
        .map(|line| {
            let ids = vocabulary.encode(line, &language).unwrap();
            assert!(!ids.contains(&vocabulary.unknown()), "{line}");
            let tokens: Vec<&str> = ids.iter().filter_map(|&id| vocabulary.token(id)).collect();
            tokens
                .join(" ")
                .replace('\u{200C}', "~")
                .replace("[SPACE]", "_")
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
}

#[test]
fn growing_keeps_every_old_id_and_reports_the_new_rows() {
    let (old, grown) = (trained(), grown());
    for (id, token) in old.entries() {
        assert_eq!(grown.vocabulary.id(token), Some(id), "{token}");
    }
    assert_eq!(grown.old_text_tokens, old.text_tokens());
    assert_eq!(grown.new_text_tokens, grown.vocabulary.text_tokens());
    assert_eq!(
        grown.added.len(),
        grown.new_text_tokens - grown.old_text_tokens
    );
    assert_eq!(grown.added[0].1, "[fa]");
    let merges = |vocabulary: &Vocabulary| {
        let file: serde_json::Value = serde_json::from_str(&vocabulary.to_json()).unwrap();
        file["model"]["merges"].as_array().unwrap().len()
    };
    assert_eq!(merges(&grown.vocabulary), merges(&old) + grown.added_merges);
    assert_eq!(grown.vocabulary.languages(), ["en", "fa"]);
    let english = "en".parse().unwrap();
    for line in EN.lines() {
        let before = old.encode(line, &english).unwrap();
        assert_eq!(
            grown.vocabulary.encode(line, &english).unwrap(),
            before,
            "{line}"
        );
    }
}

#[test]
fn the_order_of_the_corpus_does_not_matter() {
    let training = Training {
        tokens: 100,
        ..Training::default()
    };
    let forward = Vocabulary::train(FA.lines(), &training).unwrap();
    let backward = Vocabulary::train(FA.lines().rev(), &training).unwrap();
    assert_eq!(forward.to_json(), backward.to_json());
    assert_eq!(forward.text_tokens(), 100);
}

#[test]
fn rare_characters_can_be_left_out() {
    let training = Training {
        character_coverage: 0.98,
        ..Training::default()
    };
    let vocabulary = Vocabulary::train(EN.lines(), &training).unwrap();
    assert!(!vocabulary.covers('?'));
    assert!(vocabulary.covers('e'));
}
