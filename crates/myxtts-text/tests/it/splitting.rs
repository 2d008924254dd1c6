//! Cutting text into pieces, by a measure that is easy to follow: one token for
//! each character that is not white space.

use myxtts_text::{Language, Limit, Training, Vocabulary, split};

fn cut(text: &str, language: &str, limit: usize) -> Vec<String> {
    let language: Language = language.parse().unwrap();
    split(text, &language, Limit(limit), count).unwrap()
}

fn count(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}

#[test]
fn what_fits_is_one_piece() {
    assert_eq!(cut(" One. Two! Three? ", "en", 99), ["One. Two! Three?"]);
    assert!(cut("  \n ", "en", 9).is_empty());
}

#[test]
fn sentences_share_a_piece_while_they_fit() {
    assert_eq!(
        cut("One two. Three! Four five? Six.", "en", 14),
        ["One two. Three!", "Four five? Six."]
    );
}

#[test]
fn english_abbreviations_and_numbers_do_not_end_a_sentence() {
    assert_eq!(
        cut(
            "Mr. J. Smith paid 3.50 to Dr. Gray, e.g. today. He left.",
            "en",
            44
        ),
        [
            "Mr. J. Smith paid 3.50 to Dr. Gray, e.g. today.",
            "He left."
        ]
    );
    assert_eq!(
        cut("It was I. You left.", "en", 9),
        ["It was I.", "You left."]
    );
}

#[test]
fn ordinals_do_not_end_a_german_sentence() {
    assert_eq!(
        cut("Am 1. Mai kam er. Gut.", "de", 14),
        ["Am 1. Mai kam er.", "Gut."]
    );
    assert_eq!(cut("It is 1. No more.", "en", 8), ["It is 1.", "No more."]);
}

#[test]
fn every_script_has_its_marks() {
    assert_eq!(cut("سلام. خوبی؟ بله!", "fa", 7), ["سلام.", "خوبی؟", "بله!"]);
    assert_eq!(cut("خوبی؟بله، خوبم.", "fa", 6), ["خوبی؟", "بله،", "خوبم."]);
    assert_eq!(cut("你好。再见！", "zh", 3), ["你好。", "再见！"]);
    assert_eq!(cut("एक। दो।", "hi", 4), ["एक।", "दो।"]);
    assert_eq!(cut("Wait… what", "en", 5), ["Wait…", "what"]);
}

#[test]
fn quotes_stay_with_their_sentence() {
    assert_eq!(
        cut("\"Stop!\" he said. (Yes.) No.", "en", 14),
        ["\"Stop!\" he said.", "(Yes.) No."]
    );
}

#[test]
fn a_long_sentence_is_cut_at_its_clauses_then_at_its_spaces() {
    assert_eq!(
        cut("first, second and third, at 5:30 or 1,000", "en", 14),
        ["first,", "second and", "third,", "at 5:30 or 1,000"]
    );
    assert_eq!(
        cut("one two three four", "en", 6),
        ["one two", "three", "four"]
    );
}

#[test]
fn a_long_word_is_cut_anywhere_but_not_inside_a_number() {
    assert_eq!(cut("abcdefghij", "en", 4), ["abcd", "efgh", "ij"]);
    assert_eq!(cut("abc1234xyz", "en", 5), ["abc", "1234x", "yz"]);
    assert_eq!(cut("می\u{200C}روم", "fa", 3), ["می\u{200C}", "روم"]);
}

#[test]
fn a_character_over_the_limit_is_an_error() {
    let language: Language = "en".parse().unwrap();
    let error = split("a7", &language, Limit(3), |text| 4 * text.len()).unwrap_err();
    insta::assert_snapshot!(error);
}

#[test]
fn a_vocabulary_measures_after_cleaning_and_with_the_tag() {
    let language: Language = "en".parse().unwrap();
    let corpus = ["one two three four five six seven eight nine hundred and thousand,."];
    let vocabulary = Vocabulary::train(corpus, &Training::default()).unwrap();
    let pieces = vocabulary
        .split("111 222. 333 444.", &language, Limit(60))
        .unwrap();
    assert_eq!(pieces, ["111 222.", "333 444."]);
}

#[test]
fn a_megabyte_without_a_space_ends() {
    let text = "ab".repeat(1 << 19);
    let pieces = cut(&text, "en", 400);
    assert_eq!(
        pieces.iter().map(|piece| count(piece)).sum::<usize>(),
        text.len()
    );
}
