//! Which pause of a recording belongs to which mark of its text.
//!
//! Marks and pauses both lie on the axis of time spoken, pauses left out: a pause where it
//! was heard, a mark where it would be if every letter took as long. A reading matches
//! some marks with some pauses, in order. Its cost is a negative log likelihood: stretches
//! that take longer or shorter than their letters say, sentences that end without a
//! pause, pauses without a mark. The best reading is found by dynamic programming, from
//! both ends, so that it is also known how much every other match would cost: what is as
//! likely as its best alternative is a guess.

use std::cmp::Ordering;

use myxtts_audio::units::Seconds;

/// A mark of the text, by when it is reached, in seconds of speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) at: f64,
    pub(super) is_sentence: bool,
}

/// A pause of the recording, by when it begins, in seconds of speech.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pause {
    pub(super) at: f64,
    pub(super) lasts: f64,
}

/// A mark and the pause that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) mark: usize,
    pub(super) pause: usize,
    /// How much more the best reading costs that contradicts this match.
    pub(super) margin: f64,
}

/// The deviation of a second of speech from what its letters say, in seconds. It grows
/// with the root of the length, as sums of independent deviations do.
const DRIFT: f64 = 0.3;
/// Added to the length of a stretch, so that a very short one may deviate as well.
const SHORTEST: f64 = 0.3;
/// How many deviations a match may be off, seen from the nearer end.
const FAR: f64 = 4.0;
/// Pauses nearer than this in speech are one pause with a breath or a click in it.
const NEAR: f64 = 0.2;

/// Returns how unlikely a stretch of speech is, if its letters say it takes `expected`.
pub(super) fn misfit(heard: f64, expected: f64) -> f64 {
    (heard - expected).powi(2) / (2.0 * DRIFT * DRIFT * (expected.max(0.0) + SHORTEST))
}

/// A pause of this length without a mark: readers breathe anywhere, but not for long.
fn unmarked(pause: &Pause) -> f64 {
    ((pause.lasts - 0.15) * 7.0).clamp(0.0, 6.0)
}

/// A mark without a pause: common after a clause, rare after a sentence.
fn unheard(mark: &Mark) -> f64 {
    if mark.is_sentence { 4.0 } else { 0.7 }
}

/// A mark at a pause of this length: that after a sentence is seldom short.
fn matched(mark: &Mark, pause: &Pause) -> f64 {
    match mark.is_sentence {
        true => ((0.5 - pause.lasts) * 6.0).max(0.0),
        false => {
            ((0.25 - pause.lasts) * 4.0).max(0.0) + ((pause.lasts - 0.8) * 2.0).clamp(0.0, 2.0)
        }
    }
}

/// Returns the matches of the best reading, in order; `None` if in every reading there
/// is more than `reach` of speech between two of them.
pub(super) fn align(
    marks: &[Mark],
    pauses: &[Pause],
    voiced: f64,
    reach: Seconds,
) -> Option<Vec<Place>> {
    let graph = Graph::new(marks, pauses, voiced, reach);
    let (costs, before) = graph.forward();
    let end = graph.nodes.len() - 1;
    if costs[end].is_infinite() {
        return None;
    }
    let rests = graph.backward();
    let total = |node: usize| costs[node] + rests[node];
    let mut places = vec![];
    let mut at = before[end];
    while at != 0 {
        let others = (1..end).filter(|other| graph.contradict(at, *other));
        let best = others.map(total).fold(f64::INFINITY, f64::min);
        let Node { mark, pause } = graph.nodes[at];
        places.push(Place {
            mark: mark - 1,
            pause: pause - 1,
            margin: best - costs[end],
        });
        at = before[at];
    }
    places.reverse();
    Some(places)
}

/// A match, by its indices on the two axes, which begin and end with those of the clip.
#[derive(Clone, Copy)]
struct Node {
    mark: usize,
    pause: usize,
}

struct Graph {
    mark_times: Vec<f64>,
    pause_times: Vec<f64>,
    /// The cost of leaving out everything before an index.
    unheard: Vec<f64>,
    unmarked: Vec<f64>,
    /// In the order of marks, then of pauses; the first is the beginning, the last the end.
    nodes: Vec<Node>,
    /// The cost of each node by itself.
    own: Vec<f64>,
    reach: f64,
}

impl Graph {
    fn new(marks: &[Mark], pauses: &[Pause], voiced: f64, Seconds(reach): Seconds) -> Self {
        let axis = |times: &mut dyn Iterator<Item = f64>| -> Vec<f64> {
            [0.0].into_iter().chain(times).chain([voiced]).collect()
        };
        let mark_times = axis(&mut marks.iter().map(|mark| mark.at));
        let pause_times = axis(&mut pauses.iter().map(|pause| pause.at));
        let mut nodes = vec![Node { mark: 0, pause: 0 }];
        let mut own = vec![0.0];
        for (mark_index, mark) in marks.iter().enumerate() {
            let from_end = mark.at.min(voiced - mark.at).max(0.0);
            let far = FAR * DRIFT * (from_end + SHORTEST).sqrt() + 1.0;
            for (pause_index, pause) in pauses.iter().enumerate() {
                if (pause.at - mark.at).abs() <= far {
                    nodes.push(Node {
                        mark: mark_index + 1,
                        pause: pause_index + 1,
                    });
                    own.push(matched(mark, pause));
                }
            }
        }
        nodes.push(Node {
            mark: marks.len() + 1,
            pause: pauses.len() + 1,
        });
        own.push(0.0);
        Self {
            unheard: sums(marks.iter().map(unheard)),
            unmarked: sums(pauses.iter().map(unmarked)),
            mark_times,
            pause_times,
            nodes,
            own,
            reach,
        }
    }

    /// Returns the nodes that may come right before one, and what the way costs.
    fn before(&self, to: usize) -> impl Iterator<Item = (usize, f64)> {
        let end = self.nodes[to];
        let (mark_end, pause_end) = (self.mark_times[end.mark], self.pause_times[end.pause]);
        // Speech of `reach` has letters for some more; beyond that nothing is near enough.
        let farthest = 2.0 * self.reach + 4.0;
        (0..to)
            .rev()
            .take_while(move |from| mark_end - self.mark_times[self.nodes[*from].mark] <= farthest)
            .filter_map(move |from| {
                let begin = self.nodes[from];
                let heard = pause_end - self.pause_times[begin.pause];
                if begin.mark >= end.mark || begin.pause >= end.pause || heard > self.reach {
                    return None;
                }
                let expected = mark_end - self.mark_times[begin.mark];
                let unheard = self.unheard[end.mark - 1] - self.unheard[begin.mark];
                let unmarked = self.unmarked[end.pause - 1] - self.unmarked[begin.pause];
                Some((from, misfit(heard, expected) + unheard + unmarked))
            })
    }

    /// Returns the least cost of reaching each node, its own included, and from where.
    fn forward(&self) -> (Vec<f64>, Vec<usize>) {
        let mut costs = vec![f64::INFINITY; self.nodes.len()];
        let mut froms = vec![0; self.nodes.len()];
        costs[0] = 0.0;
        for to in 1..self.nodes.len() {
            for (from, way) in self.before(to) {
                let cost = costs[from] + way + self.own[to];
                if cost < costs[to] {
                    (costs[to], froms[to]) = (cost, from);
                }
            }
        }
        (costs, froms)
    }

    /// Returns the least cost from each node to the end, its own left out.
    fn backward(&self) -> Vec<f64> {
        let mut rests = vec![f64::INFINITY; self.nodes.len()];
        rests[self.nodes.len() - 1] = 0.0;
        for to in (1..self.nodes.len()).rev() {
            let after = self.own[to] + rests[to];
            for (from, way) in self.before(to) {
                rests[from] = rests[from].min(way + after);
            }
        }
        rests
    }

    /// Returns whether no reading has both matches, and they are not nearly the same.
    fn contradict(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.nodes[one], self.nodes[other]);
        let (marks, pauses) = (one.mark.cmp(&other.mark), one.pause.cmp(&other.pause));
        let apart = (self.pause_times[one.pause] - self.pause_times[other.pause]).abs();
        marks != pauses && !(marks == Ordering::Equal && apart < NEAR)
    }
}

/// Returns the sums of the first 0, 1, 2, ... values, and the last once more for the end.
fn sums(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums = vec![0.0];
    for value in values {
        sum += value;
        sums.push(sum);
    }
    sums
}
