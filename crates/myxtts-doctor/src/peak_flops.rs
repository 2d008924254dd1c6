//! What known cards can compute at most, as their makers state it, and the
//! share of it that a training achieves: an estimate, since a data sheet's figure
//! holds for one clock and the operations are counted by the model itself.

use crate::signals::Signals;
use crate::units::{FlopPerSecond, Share};

/// A card's name, and its TFLOP/s: f32, and dense half precision (tensor or
/// matrix units where the card has them, sums in f32). Where two names begin
/// alike, the longer one stands first. Apple states one figure, and none from M3 on.
const CARDS: &[(&str, f64, f64)] = &[
    ("RTX 3060 Ti", 16.2, 32.4),
    ("RTX 3060", 12.7, 25.5),
    ("RTX 3070 Ti", 21.7, 43.5),
    ("RTX 3070", 20.3, 40.6),
    ("RTX 3080 Ti", 34.1, 68.2),
    ("RTX 3080", 29.8, 59.5),
    ("RTX 3090 Ti", 40.0, 80.0),
    ("RTX 3090", 35.6, 71.0),
    ("RTX 4060 Ti", 22.1, 44.1),
    ("RTX 4060", 15.1, 30.2),
    ("RTX 4070 Ti SUPER", 44.1, 88.2),
    ("RTX 4070 Ti", 40.1, 80.2),
    ("RTX 4070 SUPER", 35.5, 71.0),
    ("RTX 4070", 29.1, 58.3),
    ("RTX 4080 SUPER", 52.2, 104.4),
    ("RTX 4080", 48.7, 97.5),
    ("RTX 4090 D", 73.5, 147.0),
    ("RTX 4090", 82.6, 165.2),
    ("RTX 5070 Ti", 43.9, 87.9),
    ("RTX 5070", 30.9, 61.7),
    ("RTX 5080", 56.3, 112.6),
    ("RTX 5090", 104.8, 209.5),
    ("A100", 19.5, 312.0),
    ("H100 PCIe", 51.2, 756.0),
    ("H100", 66.9, 989.0),
    ("RX 7900 XTX", 61.4, 122.8),
    ("RX 7900 XT", 51.5, 103.0),
    ("Arc(TM) A770", 17.2, 137.6),
    ("Arc A770", 17.2, 137.6),
    ("Arc(TM) A750", 14.7, 117.6),
    ("Arc A750", 14.7, 117.6),
    ("Apple M1 Ultra", 21.0, 21.0),
    ("Apple M1 Max", 10.4, 10.4),
    ("Apple M1 Pro", 5.2, 5.2),
    ("Apple M1", 2.6, 2.6),
    ("Apple M2 Ultra", 27.2, 27.2),
    ("Apple M2 Max", 13.6, 13.6),
    ("Apple M2 Pro", 6.8, 6.8),
    ("Apple M2", 3.6, 3.6),
];

/// The most that a card can compute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// The peak in f32.
    pub single: FlopPerSecond,
    /// The peak in f16 or bf16.
    pub half: FlopPerSecond,
}

impl Peak {
    /// Returns the peak in a precision, as the plan spells it.
    pub fn at(&self, precision: &str) -> FlopPerSecond {
        match precision {
            "bf16" | "f16" => self.half,
            _ => self.single,
        }
    }
}

/// Returns the peak of a card of this name; `None` for cards that are not known, and
/// for their laptop siblings, whose clocks depend on the laptop.
pub fn of(name: &str) -> Option<Peak> {
    if name.contains("Laptop") || name.contains("Max-Q") {
        return None;
    }
    let is_card = |card: &str| {
        let rest = name.split_once(card).map(|(_, rest)| rest);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let (_, single, half) = CARDS.iter().find(|(card, ..)| is_card(card))?;
    Some(Peak {
        single: FlopPerSecond(single * 1e12),
        half: FlopPerSecond(half * 1e12),
    })
}

/// Returns the operations per second of the whole training, by the model's own count.
pub(crate) fn achieved(signals: &Signals) -> Option<FlopPerSecond> {
    let flop = signals.steps.flop.known()?;
    let step = signals.steps.step.known().filter(|step| step.0 > 0.0)?;
    Some(FlopPerSecond(flop.0 / step.0))
}

/// Returns the share that the training achieves of the peak of all devices that train.
pub(crate) fn share(signals: &Signals) -> Option<Share> {
    let models = signals
        .devices
        .iter()
        .filter(|device| device.role == crate::signals::DeviceRole::Model);
    let peaks: Option<Vec<f64>> = models
        .map(|device| device.peak_flops.known().map(|peak| peak.0))
        .collect();
    let peak: f64 = peaks?.iter().sum();
    (peak > 0.0).then_some(Share(achieved(signals)?.0 / peak))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::testing::healthy;
    use crate::units::Flop;

    #[test]
    fn cards_are_known_by_their_names() {
        let peak = |name| of(name).map(|peak| peak.single.0 / 1e12);
        assert_eq!(peak("NVIDIA GeForce RTX 3060"), Some(12.7));
        assert_eq!(peak("NVIDIA GeForce RTX 3060 Ti"), Some(16.2));
        assert_eq!(peak("NVIDIA GeForce RTX 4070 Ti SUPER"), Some(44.1));
        assert_eq!(peak("NVIDIA GeForce RTX 5090"), Some(104.8));
        assert_eq!(peak("NVIDIA A100-SXM4-80GB"), Some(19.5));
        assert_eq!(peak("NVIDIA H100 PCIe"), Some(51.2));
        assert_eq!(peak("AMD Radeon RX 7900 XTX (RADV NAVI31)"), Some(61.4));
        assert_eq!(peak("Intel(R) Arc(TM) A770 Graphics (DG2)"), Some(17.2));
        assert_eq!(peak("Apple M1 Max"), Some(10.4));
        assert_eq!(peak("Apple M3"), None);
        assert_eq!(peak("NVIDIA GeForce RTX 3060 Laptop GPU"), None);
        assert_eq!(peak("NVIDIA A1000"), None);
        assert_eq!(peak("llvmpipe (LLVM 15.0.6, 256 bits)"), None);
        let half = of("NVIDIA GeForce RTX 4090").map(|peak| peak.at("bf16").0 / 1e12);
        assert_eq!(half, Some(165.2));
    }

    /// By hand: 2 million weights, 10,000 positions, 6 operations each, in 0.1 s
    /// are 1.2 TFLOP/s; of 12 TFLOP/s that is a tenth.
    #[test]
    fn the_share_is_that_of_a_count_by_hand() {
        let mut signals = healthy();
        signals.steps.flop = Flop(6.0 * 2e6 * 1e4).into();
        signals.devices[0].peak_flops = FlopPerSecond(12e12).into();
        assert_eq!(achieved(&signals), Some(FlopPerSecond(1.2e12)));
        assert!((share(&signals).unwrap().0 - 0.1).abs() < 1e-12);
        let mut twin = signals.devices[0].clone();
        twin.logical = 1;
        signals.devices.push(twin);
        assert!((share(&signals).unwrap().0 - 0.05).abs() < 1e-12);
    }
}
