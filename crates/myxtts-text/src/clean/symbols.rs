//! Abbreviations and symbols of the reference, per language.

use super::pattern::is_boundary;

/// The abbreviations of each language. They are applied one after the other over
/// the whole text, in this order: "mrs." before "mr.", and "mr.dr." ends as
/// "misterdr.".
const ABBREVIATIONS: &[(&str, &[(&str, &str)])] = &[
    (
        "en",
        &[
            ("mrs.", "misess"),
            ("mr.", "mister"),
            ("dr.", "doctor"),
            ("st.", "saint"),
            ("co.", "company"),
            ("jr.", "junior"),
            ("maj.", "major"),
            ("gen.", "general"),
            ("drs.", "doctors"),
            ("rev.", "reverend"),
            ("lt.", "lieutenant"),
            ("hon.", "honorable"),
            ("sgt.", "sergeant"),
            ("capt.", "captain"),
            ("esq.", "esquire"),
            ("ltd.", "limited"),
            ("col.", "colonel"),
            ("ft.", "fort"),
        ],
    ),
    (
        "es",
        &[
            ("sra.", "señora"),
            ("sr.", "señor"),
            ("dr.", "doctor"),
            ("dra.", "doctora"),
            ("st.", "santo"),
            ("co.", "compañía"),
            ("jr.", "junior"),
            ("ltd.", "limitada"),
        ],
    ),
    (
        "fr",
        &[
            ("mme.", "madame"),
            ("mr.", "monsieur"),
            ("dr.", "docteur"),
            ("st.", "saint"),
            ("co.", "compagnie"),
            ("jr.", "junior"),
            ("ltd.", "limitée"),
        ],
    ),
    (
        "de",
        &[
            ("fr.", "frau"),
            ("dr.", "doktor"),
            ("st.", "sankt"),
            ("co.", "firma"),
            ("jr.", "junior"),
        ],
    ),
    (
        "pt",
        &[
            ("sra.", "senhora"),
            ("sr.", "senhor"),
            ("dr.", "doutor"),
            ("dra.", "doutora"),
            ("st.", "santo"),
            ("co.", "companhia"),
            ("jr.", "júnior"),
            ("ltd.", "limitada"),
        ],
    ),
    (
        "it",
        &[
            ("sig.", "signore"),
            ("dr.", "dottore"),
            ("st.", "santo"),
            ("co.", "compagnia"),
            ("jr.", "junior"),
            ("ltd.", "limitata"),
        ],
    ),
    (
        "pl",
        &[
            ("p.", "pani"),
            ("m.", "pan"),
            ("dr.", "doktor"),
            ("sw.", "święty"),
            ("jr.", "junior"),
        ],
    ),
    (
        "cs",
        &[("dr.", "doktor"), ("ing.", "inženýr"), ("p.", "pan")],
    ),
    (
        "ru",
        &[("г-жа", "госпожа"), ("г-н", "господин"), ("д-р", "доктор")],
    ),
    (
        "nl",
        &[
            ("dhr.", "de heer"),
            ("mevr.", "mevrouw"),
            ("dr.", "dokter"),
            ("jhr.", "jonkheer"),
        ],
    ),
    ("tr", &[("b.", "bay"), ("byk.", "büyük"), ("dr.", "doktor")]),
    (
        "hu",
        &[("dr.", "doktor"), ("b.", "bácsi"), ("nőv.", "nővér")],
    ),
];

/// Replaces every abbreviation that begins at a word boundary.
pub(super) fn expand_abbreviations(mut text: String, language: &str) -> String {
    for (short, long) in of(ABBREVIATIONS, language).copied().unwrap_or_default() {
        if !text.contains(short) {
            continue;
        }
        let first = short.chars().next();
        let mut out = String::with_capacity(text.len() + long.len());
        let mut done = 0;
        for (at, found) in text.match_indices(short) {
            if is_boundary(text[..at].chars().next_back(), first) {
                out += &text[done..at];
                out += long;
                done = at + found.len();
            }
        }
        out += &text[done..];
        text = out;
    }
    text
}

/// The symbols that are read as words.
const SYMBOLS: [char; 7] = ['&', '@', '%', '#', '$', '£', '°'];

/// The words of each language for the symbols, in their order.
const SYMBOL_WORDS: &[(&str, [&str; SYMBOLS.len()])] = &[
    (
        "en",
        ["and", "at", "percent", "hash", "dollar", "pound", "degree"],
    ),
    (
        "es",
        [
            "y",
            "arroba",
            "por ciento",
            "numeral",
            "dolar",
            "libra",
            "grados",
        ],
    ),
    (
        "fr",
        [
            "et",
            "arobase",
            "pour cent",
            "dièse",
            "dollar",
            "livre",
            "degrés",
        ],
    ),
    (
        "de",
        ["und", "at", "prozent", "raute", "dollar", "pfund", "grad"],
    ),
    (
        "it",
        [
            "e",
            "chiocciola",
            "per cento",
            "cancelletto",
            "dollaro",
            "sterlina",
            "gradi",
        ],
    ),
    (
        "pt",
        [
            "e",
            "arroba",
            "por cento",
            "cardinal",
            "dólar",
            "libra",
            "graus",
        ],
    ),
    (
        "pl",
        [
            "i", "małpa", "procent", "krzyżyk", "dolar", "funt", "stopnie",
        ],
    ),
    (
        "ru",
        [
            "и",
            "собака",
            "процентов",
            "номер",
            "доллар",
            "фунт",
            "градус",
        ],
    ),
    (
        "nl",
        ["en", "bij", "procent", "hekje", "dollar", "pond", "graden"],
    ),
    (
        "cs",
        ["a", "na", "procento", "křížek", "dolar", "libra", "stupně"],
    ),
    (
        "tr",
        ["ve", "at", "yüzde", "diyez", "dolar", "sterlin", "derece"],
    ),
    (
        "hu",
        [
            "és",
            "kukac",
            "százalék",
            "kettőskereszt",
            "dollár",
            "font",
            "fok",
        ],
    ),
    (
        "ar",
        ["و", "على", "في المئة", "رقم", "دولار", "جنيه", "درجة"],
    ),
    (
        "hi",
        ["और", "ऐट दी रेट", "प्रतिशत", "हैश", "डॉलर", "पाउंड", "डिग्री"],
    ),
];

/// Returns the row of a language.
fn of<'t, T>(table: &'t [(&str, T)], language: &str) -> Option<&'t T> {
    let (_, row) = table.iter().find(|(of, _)| *of == language)?;
    Some(row)
}

/// Replaces symbols by words with a space on either side; the caller collapses
/// the spaces.
pub(super) fn expand_symbols(text: String, language: &str) -> String {
    let Some(words) = of(SYMBOL_WORDS, language) else {
        return text;
    };
    if !text.contains(SYMBOLS) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match SYMBOLS.iter().position(|&symbol| symbol == c) {
            Some(at) => {
                out.push(' ');
                out += words[at];
                out.push(' ');
            }
            None => out.push(c),
        }
    }
    out
}
