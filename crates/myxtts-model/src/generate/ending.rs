//! How a row of codes ends, and what ends it when the model does not.

use serde::{Deserialize, Serialize};

/// The reason for which a row has no more codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The model chose STOP.
    Stop,
    /// The row has as many codes as were allowed.
    Limit,
    /// The row repeated the same few codes over and over.
    Loop {
        /// The index of the first repeated code.
        from: usize,
    },
}

/// The limits that stop a model that has lost its way; none by default, as in the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Guards {
    /// The most codes for each text token. A code is 46 ms; speech has about two to five of them
    /// for a token of the public vocabulary.
    pub codes_per_token: Option<f32>,
    /// Codes after which a cycle of up to [`Guards::LONGEST_CYCLE`] codes that only repeats
    /// itself ends the row. A pause repeats a code as well: 43 are two seconds.
    pub loop_codes: Option<usize>,
}

impl Guards {
    /// The longest cycle that is looked for.
    pub const LONGEST_CYCLE: usize = 8;
    /// Codes that even the shortest text is allowed: two seconds.
    const LEAST: usize = 43;

    /// Limits for models that speak to people: at most eight codes a token, and a cycle of six
    /// seconds ends the row.
    pub const WATCHFUL: Self = Self {
        codes_per_token: Some(8.0),
        loop_codes: Some(129),
    };

    /// Returns the most codes for a text of `tokens` tokens.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "far below 2^53, and negative shares become none"
    )]
    pub(super) fn most(&self, tokens: usize) -> usize {
        self.codes_per_token.map_or(usize::MAX, |share| {
            let codes = (tokens as f64 * f64::from(share)).ceil() as usize;
            codes.max(Self::LEAST)
        })
    }

    /// Returns where the codes began to repeat themselves, if they did for too long.
    pub(super) fn looping(&self, codes: &[u32]) -> Option<usize> {
        let allowed = self.loop_codes?;
        let begin = |period: usize| {
            let pairs = codes.iter().rev().zip(codes.iter().rev().skip(period));
            let same = pairs.take_while(|(a, b)| a == b).count();
            (same > 0).then(|| codes.len() - same - period)
        };
        let longest = (1..=Self::LONGEST_CYCLE).filter_map(begin).min()?;
        (codes.len() - longest >= allowed.max(2 * Self::LONGEST_CYCLE)).then_some(longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_found_where_they_begin() {
        let guards = Guards {
            loop_codes: Some(20),
            ..Guards::default()
        };
        let varied: Vec<u32> = (0..50).map(|i| i * i % 47).collect();
        assert_eq!(guards.looping(&varied), None);
        for period in 1..=8_u32 {
            let mut codes = varied.clone();
            codes.extend((0..19).map(|i| 100 + i % period));
            assert_eq!(guards.looping(&codes), None, "period {period}");
            codes.push(100 + 19 % period);
            assert_eq!(guards.looping(&codes), Some(50), "period {period}");
            assert_eq!(Guards::default().looping(&codes), None);
        }
    }

    #[test]
    fn a_text_has_its_share_of_codes() {
        assert_eq!(Guards::default().most(3), usize::MAX);
        assert_eq!(Guards::WATCHFUL.most(100), 800);
        assert_eq!(Guards::WATCHFUL.most(1), 43);
    }
}
