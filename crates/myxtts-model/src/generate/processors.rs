//! The processors of the next code's scores, one function each.
//!
//! A score of minus infinity is a code that cannot be chosen.

/// Makes codes that were seen less likely: negative scores are multiplied by
/// `penalty`, others divided by it, once per code however often it was seen.
pub fn repetition_penalty(scores: &mut [f32], seen: &[u32], penalty: f32) {
    let mut done = vec![false; scores.len()];
    for &id in seen {
        let id = id as usize;
        if let (Some(score), Some(done)) = (scores.get_mut(id), done.get_mut(id))
            && !*done
        {
            *done = true;
            *score = if *score < 0.0 {
                *score * penalty
            } else {
                *score / penalty
            };
        }
    }
}

/// Flattens (above 1) or sharpens (below 1) the distribution.
pub fn temperature(scores: &mut [f32], temperature: f32) {
    for score in scores {
        *score /= temperature;
    }
}

/// Keeps the `k` best codes, and whatever ties with the last of them.
pub fn top_k(scores: &mut [f32], k: usize) {
    let mut sorted = scores.to_vec();
    sorted.sort_unstable_by(|a, b| b.total_cmp(a));
    let Some(&least) = sorted.get(k.max(1) - 1) else {
        return;
    };
    for score in scores {
        if *score < least {
            *score = f32::NEG_INFINITY;
        }
    }
}

/// Keeps the most likely codes that together have at least probability `p`, and always the best.
pub fn top_p(scores: &mut [f32], p: f32) {
    let probabilities = softmax(scores);
    let mut order: Vec<usize> = (0..scores.len()).collect();
    // Worst first; among equals, the later code goes first.
    order.sort_by(|&a, &b| scores[a].total_cmp(&scores[b]).then(b.cmp(&a)));
    order.pop();
    let mut cumulative = 0.0;
    for id in order {
        cumulative += probabilities[id];
        if cumulative <= 1.0 - f64::from(p) {
            scores[id] = f32::NEG_INFINITY;
        }
    }
}

/// Turns scores into probabilities.
pub(super) fn softmax(scores: &[f32]) -> Vec<f64> {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f64> = scores
        .iter()
        .map(|score| f64::from(score - most).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// Turns scores into logarithms of probabilities.
#[expect(clippy::cast_possible_truncation, reason = "scores are f32")]
pub(super) fn log_softmax(scores: &[f32]) -> Vec<f32> {
    let most = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = scores
        .iter()
        .map(|score| f64::from(score - most).exp())
        .sum();
    let sum = sum.ln() as f32;
    scores.iter().map(|score| score - most - sum).collect()
}
