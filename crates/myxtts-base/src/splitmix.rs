//! SplitMix64: numbers that look random and are a pure function of what they are
//! drawn for.
//!
//! Shuffles, initial weights, dropout and starting phases all need that: a run that
//! is resumed draws what it would have drawn, on every machine.

/// What SplitMix64 adds to its state before each number.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Returns the number that SplitMix64 gives in the state `z`.
pub const fn splitmix64(z: u64) -> u64 {
    finalize(z.wrapping_add(GAMMA))
}

/// Applies SplitMix64's bijection of 64 bits, which spreads every input bit over
/// all output bits.
pub const fn finalize(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::{GAMMA, splitmix64};

    /// The first numbers of the reference implementation with the seed 1234567.
    #[test]
    fn the_reference_gives_the_same_numbers() {
        let states = (0..5).map(|drawn: u64| 1_234_567_u64.wrapping_add(drawn.wrapping_mul(GAMMA)));
        let drawn: Vec<u64> = states.map(splitmix64).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423,
                4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ]
        );
    }
}
