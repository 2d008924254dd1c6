//! Finding known names to offer for one that is not known.

/// The most names to offer: more would be a list to search.
const MOST: usize = 3;
/// The likeness above which two spellings have anything to do with each other.
const ALIKE: f64 = 0.8;
/// How much less alike than the best a spelling may be to be offered beside it.
const MARGIN: f64 = 0.08;
/// The advantage of a name in the same section, which is the likelier of two alike.
const SAME_SECTION: f64 = 0.02;

/// A name that may have been meant.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    /// The name to compare: a key without its section, an older name or a flag.
    pub(crate) name: String,
    /// The key that is offered, as `section.key`.
    pub(crate) path: &'a str,
    /// The flag that the name belongs to, with its dashes, if it is one.
    pub(crate) flag: Option<&'a str>,
}

impl Candidate<'_> {
    fn section(&self) -> &str {
        self.path.split('.').next().unwrap_or_default()
    }
}

/// Returns the candidates worth offering for `name` in `section`, best first.
///
/// A name that has all the words of the wanted one comes before any that is only
/// spelt alike: whoever writes `lr` means `--lr` and not `log_every`, and
/// `bufer_size` is about a buffer and not about a batch. When the name is exactly
/// that of a key in another section, there is nothing to choose.
pub(crate) fn suggestions<'a>(
    section: &str,
    name: &str,
    candidates: impl IntoIterator<Item = Candidate<'a>>,
) -> Vec<Candidate<'a>> {
    let name = name.to_lowercase().replace('-', "_");
    let mut ranked: Vec<(f64, Candidate<'a>)> = Vec::new();
    for candidate in candidates {
        if candidate.name == name && candidate.flag.is_none() {
            return vec![candidate];
        }
        let by_words = shared_words(&name, &candidate.name).map(|share| 1.0 + share);
        let by_spelling = || {
            let alike = strsim::jaro_winkler(&name, &candidate.name);
            let here = if candidate.section() == section {
                SAME_SECTION
            } else {
                0.0
            };
            (alike > ALIKE).then_some(alike + here)
        };
        if let Some(rank) = by_words.or_else(by_spelling) {
            ranked.push((rank, candidate));
        }
    }
    ranked.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let Some((best, _)) = ranked.first() else {
        return vec![];
    };
    let least = if *best >= 1.0 { 1.0 } else { best - MARGIN };
    let mut offered: Vec<Candidate<'a>> = Vec::new();
    for (_, candidate) in ranked.into_iter().filter(|(rank, _)| *rank >= least) {
        if offered.len() < MOST && !offered.iter().any(|known| known.path == candidate.path) {
            offered.push(candidate);
        }
    }
    offered
}

/// Returns what share of both names the words of `wanted` are, if `known` has them all.
fn shared_words(wanted: &str, known: &str) -> Option<f64> {
    let words = |name: &str| -> Vec<String> { name.split('_').map(str::to_owned).collect() };
    let (wanted, known) = (words(wanted), words(known));
    let mut shared = 0.0;
    for word in &wanted {
        let share = |other: &String| match word == other {
            true => Some(1.0),
            // A slip of the finger counts a little less than the word itself.
            false => is_slip(word, other).then_some(0.9),
        };
        shared += known.iter().filter_map(share).max_by(f64::total_cmp)?;
    }
    Some(2.0 * shared / (wanted.len() + known.len()) as f64)
}

fn is_slip(word: &str, other: &str) -> bool {
    let length = word.chars().count().max(other.chars().count());
    let allowed = match length {
        0..4 => return false,
        4..8 => 1,
        _ => 2,
    };
    strsim::damerau_levenshtein(word, other) <= allowed
}

/// Returns the candidate most like `word`, if any is alike enough to be worth offering.
///
/// This uses Jaro-Winkler and not edit distance: people drop underscores, shorten
/// words and swap letters, and they remember the beginning of a name best.
pub(crate) fn nearest<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(&word, candidate), candidate))
        .filter(|(score, _)| *score > 0.75)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// Joins items as `a`, `a or b` or `a, b or c`.
pub(crate) fn either(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
