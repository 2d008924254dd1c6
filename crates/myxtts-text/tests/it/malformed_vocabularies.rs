//! Vocabulary files that are wrong, one test each, and what we say to them.

use myxtts_text::{EncodeError, Language, Training, VocabError, Vocabulary};
use serde_json::{Value, json};

/// A small correct file, to be broken.
const FILE: &str = r#"{
  "version": "1.0",
  "added_tokens": [
    {"id": 0, "content": "[STOP]", "special": true},
    {"id": 1, "content": "[UNK]", "special": true},
    {"id": 2, "content": "[SPACE]", "special": true},
    {"id": 3, "content": "[START]", "special": true},
    {"id": 4, "content": "[en]", "special": true}
  ],
  "normalizer": null,
  "pre_tokenizer": {"type": "Whitespace"},
  "model": {
    "type": "BPE",
    "unk_token": "[UNK]",
    "fuse_unk": false,
    "vocab": {
      "[STOP]": 0, "[UNK]": 1, "[SPACE]": 2, "[START]": 3, "[en]": 4,
      "a": 5, "b": 6, "ab": 7
    },
    "merges": ["a b"]
  }
}"#;

fn file() -> Value {
    serde_json::from_str(FILE).unwrap()
}

fn refusal(file: &Value) -> String {
    Vocabulary::from_json(file.to_string().as_bytes())
        .unwrap_err()
        .to_string()
}

fn broken(change: impl FnOnce(&mut Value)) -> String {
    let mut file = file();
    change(&mut file);
    refusal(&file)
}

#[test]
fn the_unbroken_file_is_fine() {
    let vocabulary = Vocabulary::from_json(file().to_string().as_bytes()).unwrap();
    assert_eq!(vocabulary.encode_raw("[en]ab ba"), [4, 7, 2, 6, 5]);
    assert_eq!(vocabulary.encode_raw("aéb"), [5, 1, 6]);
    assert_eq!(vocabulary.text_tokens(), 8);
}

#[test]
fn merges_may_be_pairs_and_a_later_duplicate_wins() {
    let mut file = file();
    file["model"]["merges"] = json!([["a", "b"], "a b"]);
    let vocabulary = Vocabulary::from_json(file.to_string().as_bytes()).unwrap();
    assert_eq!(vocabulary.encode_raw("ab"), [7]);
}

#[test]
fn holes_count_as_rows() {
    let mut file = file();
    file["model"]["vocab"]["z"] = json!(20);
    let vocabulary = Vocabulary::from_json(file.to_string().as_bytes()).unwrap();
    assert_eq!(vocabulary.text_tokens(), 21);
    assert_eq!(vocabulary.token(10), None);
    assert_eq!(vocabulary.decode(&[20, 10, 99, 2, 5]), "z a");
}

#[test]
fn not_json() {
    insta::assert_snapshot!(Vocabulary::from_json(b"PK\x03\x04").unwrap_err());
}

#[test]
fn cut_short() {
    let cut = &FILE.as_bytes()[..FILE.len() / 2];
    insta::assert_snapshot!(Vocabulary::from_json(cut).unwrap_err());
}

#[test]
fn another_layout() {
    insta::assert_snapshot!(refusal(&json!({"a": 1, "b": 2})));
}

#[test]
fn an_id_that_is_a_string() {
    let text = FILE.replace("\"a\": 5", "\"a\": \"5\"");
    insta::assert_snapshot!(Vocabulary::from_json(text.as_bytes()).unwrap_err());
}

#[test]
fn no_start_token() {
    insta::assert_snapshot!(broken(|file| {
        file["added_tokens"].as_array_mut().unwrap().remove(3);
    }));
}

#[test]
fn each_special_token_is_needed() {
    for (at, token) in ["[STOP]", "[UNK]", "[SPACE]", "[START]"]
        .into_iter()
        .enumerate()
    {
        let mut file = file();
        file["added_tokens"].as_array_mut().unwrap().remove(at);
        let error = Vocabulary::from_json(file.to_string().as_bytes()).unwrap_err();
        assert_eq!(error, VocabError::MissingSpecial { token });
    }
}

#[test]
fn two_tokens_with_one_id() {
    insta::assert_snapshot!(broken(|file| file["model"]["vocab"]["b"] = json!(5)));
}

#[test]
fn one_token_with_two_ids() {
    insta::assert_snapshot!(broken(|file| file["added_tokens"][4]["id"] = json!(9)));
}

#[test]
fn a_key_twice() {
    let text = FILE.replace("\"b\": 6", "\"b\": 6, \"b\": 8");
    insta::assert_snapshot!(Vocabulary::from_json(text.as_bytes()).unwrap_err());
}

#[test]
fn a_merge_of_an_unknown_token() {
    insta::assert_snapshot!(broken(
        |file| file["model"]["merges"] = json!(["a b", "b a"])
    ));
}

#[test]
fn a_merge_of_three() {
    insta::assert_snapshot!(broken(|file| file["model"]["merges"] = json!(["a b a"])));
}

#[test]
fn a_huge_id() {
    insta::assert_snapshot!(broken(
        |file| file["model"]["vocab"]["a"] = json!(4_000_000_000_u64)
    ));
}

#[test]
fn an_id_beyond_any_integer_of_ours() {
    insta::assert_snapshot!(broken(|file| file["model"]["vocab"]["a"] = json!(u64::MAX)));
}

#[test]
fn a_token_with_a_space() {
    insta::assert_snapshot!(broken(|file| file["model"]["vocab"]["a b"] = json!(8)));
}

#[test]
fn an_empty_token() {
    insta::assert_snapshot!(broken(|file| file["model"]["vocab"][""] = json!(8)));
}

#[test]
fn another_pre_tokenizer() {
    insta::assert_snapshot!(broken(
        |file| file["pre_tokenizer"] = json!({"type": "ByteLevel"})
    ));
}

#[test]
fn a_normalizer() {
    insta::assert_snapshot!(broken(|file| file["normalizer"] = json!({"type": "NFKC"})));
}

#[test]
fn an_added_token_that_eats_spaces() {
    insta::assert_snapshot!(broken(
        |file| file["added_tokens"][4]["lstrip"] = json!(true)
    ));
}

#[test]
fn too_large() {
    let error = Vocabulary::from_json(&vec![b' '; (64 << 20) + 1]).unwrap_err();
    insta::assert_snapshot!(error);
}

#[test]
fn a_file_that_is_not_there() {
    let path = std::path::Path::new("no/such/vocab.json");
    insta::assert_snapshot!(Vocabulary::read(path).unwrap_err());
}

#[test]
fn the_file_is_named() {
    let path = std::env::temp_dir().join(format!("myxtts-text-{}.json", std::process::id()));
    std::fs::write(&path, "[]").unwrap();
    let error = Vocabulary::read(&path).unwrap_err();
    std::fs::remove_file(&path).unwrap();
    assert!(
        error.to_string().starts_with(&path.display().to_string()),
        "{error}"
    );
}

#[test]
fn a_target_below_the_alphabet() {
    let training = Training {
        tokens: 6,
        ..Training::default()
    };
    insta::assert_snapshot!(Vocabulary::train(["abc def"], &training).unwrap_err());
}

#[test]
fn a_language_without_a_tag() {
    let vocabulary = Vocabulary::from_json(file().to_string().as_bytes()).unwrap();
    let language: Language = "fa".parse().unwrap();
    let error: EncodeError = vocabulary.encode("ab", &language).unwrap_err();
    insta::assert_snapshot!(error);
}
