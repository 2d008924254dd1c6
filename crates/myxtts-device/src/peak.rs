//! What known cards can compute at most, as their makers state it.

use crate::config::Precision;

/// A card's name, and its TFLOP/s: f32, and dense half precision with sums in
/// f32. A name that another continues stands behind it.
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
    ("A100", 19.5, 312.0),
    ("H100", 66.9, 989.0),
];

/// The most that a card of this name computes, in operations a second; `None`
/// for cards that are not known, and for their laptop siblings, whose clocks
/// are the laptop's business.
pub fn peak_flops(name: &str, precision: Precision) -> Option<f64> {
    if name.contains("Laptop") || name.contains("Max-Q") {
        return None;
    }
    let is_card = |card: &str| {
        let rest = name.split_once(card).map(|(_, rest)| rest);
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphanumeric()))
    };
    let (_, single, half) = CARDS.iter().find(|(card, ..)| is_card(card))?;
    let tera = match precision {
        Precision::F32 => single,
        Precision::Bf16 | Precision::F16 => half,
    };
    Some(tera * 1e12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_known_by_their_names() {
        let peak = |name| peak_flops(name, Precision::F32).map(|flops| flops / 1e12);
        assert_eq!(peak("NVIDIA GeForce RTX 3060"), Some(12.7));
        assert_eq!(peak("NVIDIA GeForce RTX 3060 Ti"), Some(16.2));
        assert_eq!(peak("NVIDIA GeForce RTX 4070 Ti SUPER"), Some(44.1));
        assert_eq!(peak("NVIDIA A100-SXM4-80GB"), Some(19.5));
        assert_eq!(peak("NVIDIA GeForce RTX 3060 Laptop GPU"), None);
        assert_eq!(peak("NVIDIA A1000"), None);
        assert_eq!(peak("llvmpipe (LLVM 15.0.6, 256 bits)"), None);
        let half = peak_flops("NVIDIA GeForce RTX 4090", Precision::Bf16);
        assert_eq!(half, Some(165.2e12));
    }
}
