//! Searches for the largest number that fits, when only trying can tell.

/// Every try takes minutes, so the search stops when it is this near, as a divisor of what fits.
const NEAR: u32 = 20;

/// Returns the largest number from 1 to `most` for which `fits`, or nearly: never one that does
/// not fit, and more than nine tenths of the largest that does. Grows by doubling from `first`,
/// then halves what is left. `None` if not even 1 fits.
///
/// # Errors
/// Returns the error of `fits`.
pub(super) fn largest<E>(
    first: u32,
    most: u32,
    mut fits: impl FnMut(u32) -> Result<bool, E>,
) -> Result<Option<u32>, E> {
    let most = most.max(1);
    let mut tried = first.clamp(1, most);
    let (mut good, mut bad) = (None, None);
    loop {
        match fits(tried)? {
            true => {
                good = Some(tried);
                match bad {
                    None if tried < most => tried = tried.saturating_mul(2).min(most),
                    _ => break,
                }
            }
            false => {
                bad = Some(tried);
                match good {
                    None if tried > 1 => tried /= 2,
                    _ => break,
                }
            }
        }
    }
    let (Some(mut good), Some(mut bad)) = (good, bad) else {
        return Ok(good);
    };
    while bad - good > 1.max(good / NEAR) {
        let middle = good + (bad - good) / 2;
        match fits(middle)? {
            true => good = middle,
            false => bad = middle,
        }
    }
    Ok(Some(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(first: u32, most: u32, limit: u32) -> (Option<u32>, usize) {
        let mut tries = 0;
        let found = largest(first, most, |tried| {
            tries += 1;
            assert!((1..=most).contains(&tried), "{tried}");
            Ok::<_, ()>(tried <= limit)
        });
        (found.unwrap(), tries)
    }

    /// Against every limit there may be.
    #[test]
    fn what_is_found_fits_and_is_within_a_tenth_of_the_largest() {
        for limit in 0..=300 {
            for first in [1, 3, 16, 200] {
                let (found, tries) = search(first, 256, limit);
                let largest = limit.min(256);
                match found {
                    None => assert_eq!(largest, 0),
                    Some(found) => {
                        assert!(found <= largest, "{found} of {largest}");
                        assert!(found * 10 >= largest * 9, "{found} of {largest}");
                    }
                }
                assert!(tries <= 16, "{tries} tries for {limit} from {first}");
            }
        }
    }
}
