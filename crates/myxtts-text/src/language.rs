//! Which language a text is in.

use std::fmt;
use std::str::FromStr;

use myxtts_base::report;

/// A language as users write it: `en`, `fa`, `zh-cn`.
///
/// Any tag of this shape is a language. Which of them are *cleaned* is the
/// business of [`clean`](crate::clean), which ones a model *knows* is the
/// business of its [`Vocabulary`](crate::Vocabulary).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Language(String);

/// A text that is not a language tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}",
    report!(
        "`{given}` is not a language tag";
        fix: "write two or three letters, optionally with a region: `fa`, `en`, `pt-br`"
    )
)]
pub struct LanguageError {
    given: String,
}

impl Language {
    /// Returns the tag in the vocabulary. The reference drops the region of every
    /// language and writes Chinese as `zh-cn`.
    pub fn tag(&self) -> &str {
        match self.base() {
            "zh" => "zh-cn",
            base => base,
        }
    }

    /// Returns the part before the region.
    pub fn base(&self) -> &str {
        self.0.split('-').next().unwrap_or_default()
    }

    /// Returns a short sentence in this language, to try a voice with: "The baker
    /// carries seven apples." Languages that are not cleaned have none.
    pub fn sentence(&self) -> Option<&'static str> {
        Some(match self.base() {
            "en" => "The baker carries seven apples.",
            "fa" => "نانوا هفت سیب می‌برد.",
            "de" => "Der Bäcker trägt sieben Äpfel.",
            "fr" => "Le boulanger porte sept pommes.",
            "es" => "El panadero lleva siete manzanas.",
            "it" => "Il fornaio porta sette mele.",
            "pt" => "O padeiro leva sete maçãs.",
            "pl" => "Piekarz niesie siedem jabłek.",
            "hu" => "A pék hét almát visz.",
            "zh" => "面包师拿着七个苹果。",
            "ar" => "الخباز يحمل سبع تفاحات.",
            "cs" => "Pekař nese sedm jablek.",
            "ru" => "Пекарь несёт семь яблок.",
            "nl" => "De bakker draagt zeven appels.",
            "tr" => "Fırıncı yedi elma taşıyor.",
            "ja" => "パン屋はりんごを七つ運ぶ。",
            "ko" => "제빵사가 사과 일곱 개를 나른다.",
            "hi" => "नानबाई सात सेब ले जाता है।",
            _ => return None,
        })
    }

    /// Returns how many characters the reference advises for one utterance. It only
    /// warns past that; [`split`](crate::split) measures in tokens instead.
    pub fn advised_characters(&self) -> usize {
        match self.base() {
            "en" | "fa" => 250,
            "de" => 253,
            "fr" => 273,
            "es" => 239,
            "it" => 213,
            "pt" => 203,
            "pl" | "hu" => 224,
            "zh" => 82,
            "ar" => 166,
            "cs" => 186,
            "ru" => 182,
            "nl" => 251,
            "tr" => 226,
            "ja" => 71,
            "ko" => 95,
            "hi" => 150,
            _ => 250,
        }
    }
}

impl FromStr for Language {
    type Err = LanguageError;

    fn from_str(text: &str) -> Result<Self, LanguageError> {
        let tag = text.trim().to_ascii_lowercase().replace('_', "-");
        let mut parts = tag.split('-');
        let base_is_fine = parts.next().is_some_and(|base| {
            (2..=3).contains(&base.len()) && base.bytes().all(|b| b.is_ascii_lowercase())
        });
        let rest_is_fine = parts.all(|part| {
            (2..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
        });
        if base_is_fine && rest_is_fine {
            Ok(Self(tag))
        } else {
            Err(LanguageError {
                given: text.to_owned(),
            })
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_are_dropped_from_the_tag_but_not_from_chinese() {
        let tag = |text: &str| text.parse::<Language>().unwrap().tag().to_owned();
        assert_eq!(tag("pt-BR"), "pt");
        assert_eq!(tag("zh"), "zh-cn");
        assert_eq!(tag("zh_CN"), "zh-cn");
        assert_eq!(tag(" fa "), "fa");
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for text in ["", "e", "english", "[fa]", "fa-", "f1", "فا"] {
            assert!(text.parse::<Language>().is_err(), "{text}");
        }
        insta::assert_snapshot!("english".parse::<Language>().unwrap_err(), @r"
        `english` is not a language tag
          fix:   write two or three letters, optionally with a region: `fa`, `en`, `pt-br`
        ");
    }
}
