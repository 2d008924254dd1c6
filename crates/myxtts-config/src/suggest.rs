//! The nearest known name to a misspelt one.

/// The candidate most like `word`, if any is alike enough to be worth saying.
///
/// Jaro-Winkler and not edit distance: people drop underscores, shorten words
/// and swap letters, and the beginning of a key is what they remember best.
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
