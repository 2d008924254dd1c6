//! Czech and Polish count alike: hundreds, tens and ones side by side, and a
//! power's name in the form its number asks for.

use super::{QUADRILLION, few_or_many, join, thousands};

/// The words of one language.
pub(super) struct Cardinals {
    /// The words for 0 to 19.
    pub(super) small: [&'static str; 20],
    pub(super) tens: [&'static str; 10],
    pub(super) hundreds: [&'static str; 10],
    /// The forms (one, few, many) of each power of a thousand.
    pub(super) powers: [[&'static str; 3]; 5],
}

impl Cardinals {
    pub(super) fn cardinal(&self, n: u128) -> Option<String> {
        if n >= QUADRILLION {
            return None;
        }
        if n == 0 {
            return Some(self.small[0].to_owned());
        }
        let group = |(group, power): (usize, usize)| match (group, power) {
            (_, 0) => self.below_thousand(group),
            (1, _) => self.powers[power][0].to_owned(),
            _ => {
                let form = few_or_many(group as u128);
                format!(
                    "{} {}",
                    self.below_thousand(group),
                    self.powers[power][form]
                )
            }
        };
        let parts: Vec<String> = thousands(n).into_iter().map(group).collect();
        Some(parts.join(" "))
    }

    fn below_thousand(&self, n: usize) -> String {
        let tens = n % 100;
        let (ten, one) = if tens < 20 {
            (0, tens)
        } else {
            (tens / 10, tens % 10)
        };
        let one = if one == 0 { "" } else { self.small[one] };
        join(&[self.hundreds[n / 100], self.tens[ten], one], " ")
    }
}
