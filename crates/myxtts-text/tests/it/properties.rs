//! Whatever the text: nothing panics, nothing is lost.

use std::sync::LazyLock;

use myxtts_text::{Coverage, Language, Limit, Training, Vocabulary, clean, split};
use proptest::prelude::*;

const LANGUAGES: [&str; 19] = [
    "en", "fa", "de", "fr", "es", "it", "pt", "ru", "nl", "tr", "pl", "cs", "hu", "ar", "hi", "zh",
    "ja", "ko", "uk",
];

/// Any text, and text rich in what the rules look at.
fn text() -> impl Strategy<Value = String> {
    let rich = proptest::collection::vec(
        prop_oneof![
            "[0-9]{1,5}",
            "[.,:;!?%$£€&@#°/()\"'-]",
            "[ \t\n]{1,2}",
            "[a-zA-Zéßıİ]{1,5}",
            "[ابپتجدرسکلمنوهیآئيكةۀ]{1,4}",
            "[\u{200B}-\u{200F}\u{0640}\u{064B}-\u{0655}٫٬٪،؛؟«»…]",
            "[۰-۹٠-٩]{1,4}",
            Just("می".to_owned()),
            Just("ها".to_owned()),
            Just("[STOP]".to_owned()),
            any::<char>().prop_map(String::from),
        ],
        0..24,
    );
    prop_oneof![any::<String>(), rich.prop_map(|parts| parts.concat())]
}

fn language() -> impl Strategy<Value = Language> {
    proptest::sample::select(&LANGUAGES[..]).prop_map(|tag| tag.parse().unwrap())
}

fn solid(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

static VOCABULARY: LazyLock<Vocabulary> = LazyLock::new(|| {
    let corpus = [
        include_str!("../data/corpus_en.txt"),
        include_str!("../data/corpus_fa.txt"),
    ];
    let languages = LANGUAGES.iter().map(|tag| tag.parse().unwrap()).collect();
    let training = Training {
        tokens: 300,
        languages,
        ..Training::default()
    };
    Vocabulary::train(corpus.iter().flat_map(|text| text.lines()), &training).unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn cleaning_leaves_single_spaces(text in text(), language in language()) {
        let cleaned = clean(&text, &language).text;
        prop_assert!(!cleaned.contains("  "), "{cleaned:?}");
        prop_assert_eq!(cleaned.trim(), &cleaned);
    }

    #[test]
    fn persian_cleaning_is_settled_after_one_pass(text in text()) {
        let language = "fa".parse().unwrap();
        let once = clean(&text, &language);
        if once.unsupported.is_empty() {
            let twice = clean(&once.text, &language).text;
            prop_assert_eq!(twice, once.text);
        }
    }

    #[test]
    fn a_number_is_spoken_or_reported(text in text(), language in language()) {
        let cleaned = clean(&text, &language);
        let digits = cleaned.text.bytes().any(|b| b.is_ascii_digit());
        let script = matches!(language.base(), "zh" | "ja" | "ko");
        prop_assert!(!digits || script || !cleaned.unsupported.is_empty(), "{}", cleaned.text);
    }

    #[test]
    fn pieces_lose_nothing_and_fit(text in text(), language in language(), limit in 1usize..40) {
        let count = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
        let pieces = split(&text, &language, Limit(limit), count).unwrap();
        prop_assert_eq!(solid(&pieces.concat()), solid(&text));
        for piece in pieces {
            prop_assert!(count(&piece) <= limit);
            prop_assert_eq!(piece.trim(), &piece);
            prop_assert!(!piece.is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn decoding_gives_back_what_the_vocabulary_covers(text in text(), language in language()) {
        let vocabulary = &*VOCABULARY;
        let cleaned = clean(&text, &language).text;
        let ids = vocabulary.encode(&cleaned, &language).unwrap();
        let mut coverage = Coverage::new(vocabulary);
        coverage.add(&1, &cleaned);
        prop_assert!(ids.iter().all(|&id| (id as usize) < vocabulary.text_tokens()));
        if coverage.uncovered().is_empty() {
            let decoded = vocabulary.decode(&ids);
            prop_assert_eq!(decoded, format!("[{}]{cleaned}", language.tag()));
        }
    }

    #[test]
    fn covered_words_come_back(words in proptest::collection::vec("[a-y,.?]{1,8}", 1..8)) {
        let vocabulary = &*VOCABULARY;
        let text: String = words.join(" ").chars().filter(|c| vocabulary.covers(*c)).collect();
        prop_assert_eq!(vocabulary.decode(&vocabulary.encode_raw(&text)), text);
    }

    #[test]
    fn split_by_tokens_fits(text in text()) {
        let vocabulary = &*VOCABULARY;
        let language: Language = "fa".parse().unwrap();
        if let Ok(pieces) = vocabulary.split(&text, &language, Limit(30)) {
            prop_assert_eq!(solid(&pieces.concat()), solid(&text));
            for piece in pieces {
                let ids = vocabulary.encode(&clean(&piece, &language).text, &language).unwrap();
                prop_assert!(ids.len() <= 30);
            }
        }
    }

    #[test]
    fn any_bytes_are_a_vocabulary_or_an_error(bytes in any::<Vec<u8>>()) {
        let _ = Vocabulary::from_json(&bytes);
    }
}
