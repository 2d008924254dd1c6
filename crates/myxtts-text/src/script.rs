//! Which letters a text is written with, and what that says about its language.

use std::fmt;

use crate::Language;

/// A set of letters that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Script {
    /// Latin letters, such as a, ä and ł.
    Latin,
    /// Arabic letters, such as ا and پ.
    Arabic,
    /// Cyrillic letters, such as я and ї.
    Cyrillic,
    /// Greek letters, such as λ.
    Greek,
    /// Hebrew letters, such as ש.
    Hebrew,
    /// Devanagari letters, such as ह.
    Devanagari,
    /// Thai letters, such as ก.
    Thai,
    /// Hangul syllables, such as 한.
    Hangul,
    /// Kana, such as か and カ.
    Kana,
    /// Han characters, such as 漢.
    Han,
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl Script {
    const ALL: [Self; 10] = [
        Self::Latin,
        Self::Arabic,
        Self::Cyrillic,
        Self::Greek,
        Self::Hebrew,
        Self::Devanagari,
        Self::Thai,
        Self::Hangul,
        Self::Kana,
        Self::Han,
    ];

    /// Returns the script of a letter, or `None` for digits, marks and scripts that
    /// none of our languages use.
    pub(crate) fn of(letter: char) -> Option<Self> {
        if !letter.is_alphabetic() {
            return None;
        }
        Some(match u32::from(letter) {
            0x41..=0x24F | 0x1E00..=0x1EFF | 0xFF21..=0xFF5A => Self::Latin,
            0x370..=0x3FF | 0x1F00..=0x1FFF => Self::Greek,
            0x400..=0x52F => Self::Cyrillic,
            0x590..=0x5FF => Self::Hebrew,
            0x600..=0x6FF | 0x750..=0x77F | 0x8A0..=0x8FF | 0xFB50..=0xFDFF | 0xFE70..=0xFEFF => {
                Self::Arabic
            }
            0x900..=0x97F => Self::Devanagari,
            0xE00..=0xE7F => Self::Thai,
            0x1100..=0x11FF | 0x3130..=0x318F | 0xAC00..=0xD7AF => Self::Hangul,
            0x3040..=0x30FF => Self::Kana,
            0x3400..=0x9FFF | 0x20000..=0x3FFFF => Self::Han,
            _ => return None,
        })
    }

    /// Returns the script that most letters of a text are of, or `None` without letters.
    pub fn main_of(text: &str) -> Option<Self> {
        let mut letters = [0_u32; Self::ALL.len()];
        for script in text.chars().filter_map(Self::of) {
            letters[script as usize] += 1;
        }
        let most = (0..letters.len()).max_by_key(|at| letters[*at])?;
        (letters[most] > 0).then(|| Self::ALL[most])
    }
}

impl Language {
    /// Returns whether the language is written with a script. For a language that
    /// is not listed here nobody can tell, and every script fits.
    pub fn is_written_with(&self, script: Script) -> bool {
        use Script::*;
        let scripts: &[Script] = match self.base() {
            "en" | "es" | "fr" | "de" | "it" | "pt" | "pl" | "tr" | "cs" | "nl" | "hu" | "sv"
            | "da" | "fi" | "nb" | "no" | "ro" | "vi" | "id" | "ca" | "sk" | "hr" => &[Latin],
            "ar" | "fa" | "ur" | "ps" => &[Arabic],
            "ru" | "uk" | "be" | "bg" => &[Cyrillic],
            "el" => &[Greek],
            "he" => &[Hebrew],
            "hi" | "mr" | "ne" => &[Devanagari],
            "th" => &[Thai],
            "ko" => &[Hangul, Han],
            "ja" => &[Kana, Han],
            "zh" => &[Han],
            _ => return true,
        };
        scripts.contains(&script)
    }
}

/// What texts say about their language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guess {
    /// The script or the words point to one language.
    Clear(Language),
    /// Several languages have this script, and the texts do not look like English.
    Unclear {
        /// The script of most texts.
        script: Script,
        /// The language whose words occur most, if any do.
        likely: Option<Language>,
    },
    /// There are no letters.
    Nothing,
}

/// Collects what texts say about their language.
///
/// It claims only what is plain: a script that one language has, letters that tell
/// two languages apart, and in Latin letters whether the small words are English.
#[derive(Clone, Debug, Default)]
pub struct Guesser {
    /// The number of texts by the script of most of their letters.
    scripts: [u64; Script::ALL.len()],
    /// The occurrences of each group of [`LETTERS`].
    letters: [u64; LETTERS.len()],
    /// The occurrences of the words of each language of [`WORDS`].
    words: [u64; WORDS.len()],
    latin: u64,
    /// The number of Latin letters that English does not have.
    accented: u64,
}

/// Letters that one language of a script has and the other does not.
const LETTERS: [&str; 5] = ["پچژگکی", "كيةىإ", "ٹڈڑےں", "ыэё", "іїєґ"];
const PERSIAN: usize = 0;
const ARABIC: usize = 1;
const URDU: usize = 2;
const RUSSIAN: usize = 3;
const UKRAINIAN: usize = 4;

/// The small words that every few sentences of a language have.
const WORDS: [(&str, &[&str]); 12] = [
    (
        "en",
        &[
            "the", "and", "of", "to", "is", "was", "that", "it", "he", "she", "with", "his", "her",
            "you", "for", "are", "this", "my", "in", "a",
        ],
    ),
    (
        "de",
        &[
            "der", "die", "das", "und", "ist", "nicht", "ein", "eine", "ich", "den", "mit", "sie",
            "war", "auf",
        ],
    ),
    (
        "fr",
        &[
            "le", "les", "et", "des", "une", "est", "que", "dans", "pour", "pas", "il", "je",
            "vous", "du", "la",
        ],
    ),
    (
        "es",
        &[
            "el", "los", "las", "y", "una", "es", "que", "por", "con", "para", "su", "lo", "del",
            "la", "en",
        ],
    ),
    (
        "it",
        &[
            "il", "gli", "che", "di", "una", "per", "non", "è", "sono", "con", "del", "della", "la",
        ],
    ),
    (
        "pt",
        &[
            "o", "os", "as", "e", "um", "uma", "que", "não", "para", "com", "do", "da", "em",
        ],
    ),
    (
        "nl",
        &[
            "de", "het", "een", "van", "en", "niet", "dat", "ik", "op", "zijn", "te", "is",
        ],
    ),
    (
        "pl",
        &["i", "nie", "się", "na", "to", "jest", "w", "z", "że", "do"],
    ),
    (
        "tr",
        &["ve", "bir", "bu", "için", "da", "ne", "çok", "var", "gibi"],
    ),
    (
        "cs",
        &["se", "je", "na", "že", "v", "s", "není", "by", "jsem"],
    ),
    (
        "hu",
        &["az", "és", "egy", "nem", "hogy", "van", "volt", "meg"],
    ),
    (
        "sv",
        &["och", "att", "det", "som", "är", "jag", "på", "inte"],
    ),
];

impl Guesser {
    /// Adds one text to what is known.
    pub fn add(&mut self, text: &str) {
        let Some(main) = Script::main_of(text) else {
            return;
        };
        self.scripts[main as usize] += 1;
        for letter in text.chars() {
            for (group, count) in LETTERS.iter().zip(&mut self.letters) {
                *count += u64::from(group.contains(letter));
            }
            if Script::of(letter) == Some(Script::Latin) {
                self.latin += 1;
                self.accented += u64::from(!letter.is_ascii());
            }
        }
        let lower = text.to_lowercase();
        for word in lower.split(|c: char| !c.is_alphabetic()) {
            for ((_, words), count) in WORDS.iter().zip(&mut self.words) {
                *count += u64::from(words.contains(&word));
            }
        }
    }

    /// Returns the number of texts with letters, the number of those in a script
    /// that the language is not written with, and the script of most of these.
    pub fn misfits(&self, language: &Language) -> (u64, u64, Option<Script>) {
        let all = self.scripts.iter().sum();
        let others = || {
            Script::ALL
                .into_iter()
                .filter(|script| !language.is_written_with(*script))
        };
        let texts = |script: Script| self.scripts[script as usize];
        let misfits = others().map(texts).sum();
        let most = others()
            .filter(|script| texts(*script) > 0)
            .max_by_key(|script| texts(*script));
        (all, misfits, most)
    }

    /// Returns what all texts together say.
    pub fn guess(&self) -> Guess {
        let texts = |script: &Script| self.scripts[*script as usize];
        let Some(script) = Script::ALL
            .into_iter()
            .max_by_key(texts)
            .filter(|s| texts(s) > 0)
        else {
            return Guess::Nothing;
        };
        let [persian, arabic, urdu, russian, ukrainian] =
            [PERSIAN, ARABIC, URDU, RUSSIAN, UKRAINIAN].map(|group| self.letters[group]);
        let tag = match script {
            Script::Latin => match self.latin_language() {
                Ok(english) => english,
                Err(likely) => {
                    let likely = likely.and_then(|tag| tag.parse().ok());
                    return Guess::Unclear { script, likely };
                }
            },
            Script::Arabic if urdu > 0 && 20 * urdu > persian + arabic => "ur",
            Script::Arabic if persian > arabic => "fa",
            Script::Arabic => "ar",
            Script::Cyrillic if russian > 0 && russian > ukrainian => "ru",
            Script::Cyrillic if ukrainian > 0 => "uk",
            Script::Cyrillic => {
                return Guess::Unclear {
                    script,
                    likely: None,
                };
            }
            Script::Greek => "el",
            Script::Hebrew => "he",
            Script::Devanagari => "hi",
            Script::Thai => "th",
            Script::Hangul => "ko",
            Script::Kana => "ja",
            // Japanese has both scripts, and a sentence may have more Han than Kana.
            Script::Han if texts(&Script::Kana) > 0 => "ja",
            Script::Han => "zh-cn",
        };
        match tag.parse() {
            Ok(language) => Guess::Clear(language),
            Err(_) => Guess::Nothing,
        }
    }

    /// Returns English, or as an error the language with the most small words.
    fn latin_language(&self) -> Result<&'static str, Option<&'static str>> {
        let english = self.words[0];
        let others = WORDS.iter().zip(&self.words).skip(1);
        let most = others.max_by_key(|(_, count)| **count);
        let (other, count) = most.map_or(("", 0), |((tag, _), count)| (*tag, *count));
        let is_plain = 50 * self.accented <= self.latin;
        match is_plain && english >= count {
            true => Ok("en"),
            false => Err((count > 0).then_some(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guess(texts: &[&str]) -> String {
        let mut guesser = Guesser::default();
        texts.iter().for_each(|text| guesser.add(text));
        match guesser.guess() {
            Guess::Clear(language) => language.to_string(),
            Guess::Unclear { script, likely } => {
                format!(
                    "{script}, {}?",
                    likely.map_or(String::new(), |l| l.to_string())
                )
            }
            Guess::Nothing => "nothing".to_owned(),
        }
    }

    #[test]
    fn a_script_says_what_it_can() {
        for (wanted, text) in [
            ("fa", "توتون در آفتاب بهتر عمل می‌آید."),
            ("ar", "كتب الولد رسالة إلى أمه"),
            ("ur", "یہ ایک لڑکے کی کہانی ہے"),
            ("ru", "Мы были дома, и всё это знали."),
            ("uk", "Її сім'я живе у Києві."),
            ("Cyrillic, ?", "Добро утро"),
            ("hi", "हमारे बारह घोड़े"),
            ("ko", "안녕하세요"),
            ("ja", "昨日は家に帰りました"),
            ("zh-cn", "他昨天回家了"),
            ("el", "Καλημέρα"),
            ("en", "The baker carries seven apples near the river."),
            ("en", "seven"),
            ("Latin, de?", "Der Hund ist nicht auf der Straße."),
            ("Latin, de?", "Das ist der Mann und die Frau."),
            ("Latin, es?", "El perro no come por las mañanas"),
            ("Latin, fr?", "Il est dans la maison pour une heure"),
            ("Latin, pl?", "To nie jest prawda, że się boi"),
            ("Latin, ?", "Żółć gęślą jaźń"),
            ("nothing", "12, 13 !"),
        ] {
            assert_eq!(guess(&[text]), wanted, "{text}");
        }
    }

    #[test]
    fn letters_fit_a_language_or_do_not() {
        let language = |tag: &str| tag.parse::<Language>().unwrap();
        let mut guesser = Guesser::default();
        guesser.add("زمین از برف پوشیده بود");
        guesser.add("OK");
        guesser.add("123");
        assert_eq!(
            guesser.misfits(&language("en")),
            (2, 1, Some(Script::Arabic))
        );
        assert_eq!(
            guesser.misfits(&language("fa")),
            (2, 1, Some(Script::Latin))
        );
        assert_eq!(guesser.misfits(&language("qq")), (2, 0, None));
    }
}
