//! Which of the places to cut at are used.

use super::align::{Mark, Pause, Place, misfit};

/// The odds, as a logarithm, by which a match must beat what contradicts it: e³ is 20 to 1.
const CONVINCING: f64 = 3.0;
/// How far the time of a piece may be from what its letters say: this share of it,
const TOLERANCE: f64 = 0.3;
/// and this many seconds.
const SLACK: f64 = 0.4;
/// The shortest speech of a piece, in seconds.
const SHORTEST: f64 = 1.0;
/// Pieces with less speech than this, in seconds, are avoided.
const SHORT: f64 = 2.0;

/// Why there is no choice.
pub(super) enum NoChoice {
    /// Two places are farther apart than a piece may be long.
    TooFar,
    /// Pieces within the limits exist, but not by convincing cuts alone.
    Doubtful,
}

/// Chooses the places to cut at, by their indices. `fits` tells whether a piece from one
/// place to another is within the limits; `None` is the beginning or the end.
pub(super) fn choose(
    places: &[Place],
    marks: &[Mark],
    pauses: &[Pause],
    voiced: f64,
    fits: &dyn Fn(Option<usize>, Option<usize>) -> bool,
) -> Result<Vec<usize>, NoChoice> {
    let time = |at: usize| match at.checked_sub(1).and_then(|at| places.get(at)) {
        Some(place) => (pauses[place.pause].at, marks[place.mark].at),
        None if at == 0 => (0.0, 0.0),
        None => (voiced, voiced),
    };
    // The places with the beginning before and the end behind them.
    let end = places.len() + 1;
    let place = |at: usize| (at != 0 && at != end).then(|| at - 1);
    let best = |is_strict: bool| -> Option<Vec<usize>> {
        let mut costs = vec![f64::INFINITY; end + 1];
        let mut froms = vec![0; end + 1];
        costs[0] = 0.0;
        for to in 1..=end {
            let own = match place(to).map(|at| &places[at]) {
                Some(place) if is_strict && place.margin < CONVINCING => continue,
                Some(place) if marks[place.mark].is_sentence => 1.0,
                Some(_) => 2.0,
                None => 0.0,
            };
            for from in (0..to).rev() {
                let ((heard_from, said_from), (heard_to, said_to)) = (time(from), time(to));
                let (heard, said) = (heard_to - heard_from, said_to - said_from);
                let is_off = (heard - said).abs() > SLACK + TOLERANCE * said;
                if costs[from].is_infinite() || heard < SHORTEST || is_strict && is_off {
                    continue;
                }
                let short = if heard < SHORT { 1.0 } else { 0.0 };
                let cost = costs[from] + own + short + misfit(heard, said);
                if cost < costs[to] && fits(place(from), place(to)) {
                    (costs[to], froms[to]) = (cost, from);
                }
            }
        }
        if costs[end].is_infinite() {
            return None;
        }
        let path = std::iter::successors(Some(froms[end]), |at| Some(froms[*at]));
        let mut cuts: Vec<usize> = path.map_while(place).collect();
        cuts.reverse();
        Some(cuts)
    };
    match best(true) {
        Some(cuts) => Ok(cuts),
        None if best(false).is_some() => Err(NoChoice::Doubtful),
        None => Err(NoChoice::TooFar),
    }
}
