//! Cards, as opposed to the ways in which drivers show them.
//!
//! A Vulkan machine may have two drivers for one card, and each lists it. CUDA
//! lists the fastest card first. People count cards as they sit in the machine
//! and as `nvidia-smi` lists them: each once, in the order of PCI addresses.

use crate::machine::{Backend, Gpu};

/// CUDA's own environment variable: which cards it shows, and in which order.
pub(super) const CUDA_VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// Returns every card once, through its better driver, with the others named.
///
/// This applies only where a graphics API lists adapters: a vendor's own library
/// has one driver, and may well show two parts of a card as two devices.
pub(super) fn one_per_card(gpus: Vec<Gpu>) -> Vec<Gpu> {
    let mut cards: Vec<Gpu> = Vec::new();
    for gpu in gpus {
        let same = |card: &&mut Gpu| {
            let addresses = (address(card), address(&gpu));
            addresses.0.is_some() && addresses.0 == addresses.1
        };
        let Some(card) = cards.iter_mut().find(same) else {
            cards.push(gpu);
            continue;
        };
        let mut other = gpu;
        if rank(&other.driver) < rank(&card.driver) {
            std::mem::swap(card, &mut other);
            card.other_drivers.append(&mut other.other_drivers);
        }
        card.other_drivers.push(other.driver);
    }
    cards
}

fn address(gpu: &Gpu) -> Option<String> {
    gpu.pci_address
        .as_ref()
        .map(|address| address.to_lowercase())
}

/// Ranks a driver, 0 being a card's best and higher ones expected to be slower:
/// NVIDIA's own before NVK, Mesa's RADV before AMD's discontinued AMDVLK, and a
/// driver of the card before one that goes through Direct3D.
fn rank(driver: &str) -> u8 {
    let driver = driver.to_lowercase();
    let is = |names: &[&str]| names.iter().any(|name| driver.contains(name));
    if is(&["dozen", "direct3d", "dzn"]) {
        2
    } else if is(&["nvk", "amdvlk", "amd open-source"]) {
        1
    } else {
        0
    }
}

/// Puts cards in the order in which they get their ids, and returns a note about
/// CUDA's variable where it is set.
///
/// With the variable set the order is the user's own, as in every CUDA program.
pub(super) fn ordered(
    backend: Backend,
    mut gpus: Vec<Gpu>,
    visible: Option<&str>,
) -> (Vec<Gpu>, Option<String>) {
    // The sort is stable: cards of one kind keep the driver's order.
    gpus.sort_by_key(|gpu| gpu.kind);
    let note = match (backend, visible) {
        (Backend::Cuda, None) => {
            gpus.sort_by_key(|gpu| (gpu.kind, address(gpu)));
            None
        }
        (Backend::Cuda, Some(visible)) => Some(format!(
            "{CUDA_VISIBLE_DEVICES}={visible} hides the other cards, and ids count those it names, \
             in its order"
        )),
        (_, Some(visible)) if !gpus.is_empty() => Some(format!(
            "{CUDA_VISIBLE_DEVICES}={visible} is CUDA's and hides nothing from {backend}: \
             choose with `--visible-gpus`"
        )),
        _ => None,
    };
    (gpus, note)
}

#[cfg(test)]
mod tests {
    use myxtts_config::units::Megabytes;

    use super::*;
    use crate::config::Precision;
    use crate::machine::{Adapter, GpuKind};
    use crate::reading::Reading;

    fn gpu(name: &str, driver: &str, address: &str, index: u32) -> Gpu {
        Gpu {
            id: 0,
            backend: Backend::Wgpu,
            name: name.to_owned(),
            kind: GpuKind::Discrete,
            memory: Reading::Value(Megabytes(12_288)),
            driver: driver.to_owned(),
            other_drivers: vec![],
            pci_address: (!address.is_empty()).then(|| address.to_owned()),
            precisions: vec![Precision::F32],
            adapter: Adapter::Kind(GpuKind::Discrete, index),
        }
    }

    type Seen<'a> = (&'a str, Vec<&'a str>, Adapter);

    fn seen(cards: &[Gpu]) -> Vec<Seen<'_>> {
        let seen = cards.iter().map(|gpu| {
            let others = gpu.other_drivers.iter().map(String::as_str).collect();
            (gpu.driver.as_str(), others, gpu.adapter)
        });
        seen.collect()
    }

    #[test]
    fn a_card_behind_two_drivers_is_one_card_on_the_better_one() {
        let kind = |index| Adapter::Kind(GpuKind::Discrete, index);
        let nvidia = "NVIDIA 570.124.06";
        let nvk = "NVK Mesa 25.0.1";
        let radv = "radv Mesa 25.0.1";
        let amdvlk = "AMD open-source driver 2025.Q1.3 (LLPC)";
        for (first, second, kept, dropped, index) in [
            (nvk, nvidia, nvidia, nvk, 1),
            (nvidia, nvk, nvidia, nvk, 0),
            (amdvlk, radv, radv, amdvlk, 1),
            (radv, amdvlk, radv, amdvlk, 0),
            ("Dozen", nvk, nvk, "Dozen", 1),
        ] {
            let cards = one_per_card(vec![
                gpu("card", first, "0000:01:00.0", 0),
                // Drivers differ in how they write an address.
                gpu("the card", second, "0000:01:00.0", 1),
                gpu("another", nvidia, "0000:0A:00.0", 2),
            ]);
            let other = (nvidia, vec![], kind(2));
            assert_eq!(
                seen(&cards),
                [(kept, vec![dropped], kind(index)), other],
                "{first} and {second}"
            );
        }
    }

    #[test]
    fn three_drivers_of_a_card_are_all_named() {
        let cards = one_per_card(vec![
            gpu("card", "Dozen", "0000:01:00.0", 0),
            gpu("card", "NVK Mesa 25.0.1", "0000:01:00.0", 1),
            gpu("card", "NVIDIA 570.124.06", "0000:01:00.0", 2),
        ]);
        assert_eq!(cards.len(), 1);
        assert_eq!(cards[0].driver, "NVIDIA 570.124.06");
        assert_eq!(cards[0].other_drivers, ["Dozen", "NVK Mesa 25.0.1"]);
    }

    #[test]
    fn cards_without_an_address_are_never_taken_for_one() {
        let cards = one_per_card(vec![gpu("a", "x", "", 0), gpu("b", "y", "", 1)]);
        assert_eq!(cards.len(), 2);
    }

    #[test]
    fn cuda_ids_follow_pci_addresses_and_still_open_the_same_card() {
        // CUDA lists the fastest first.
        let listed = || {
            vec![
                gpu("RTX 4090", "CUDA 12.8", "0000:41:00.0", 0),
                gpu("RTX 3060", "CUDA 12.8", "0000:01:00.0", 1),
                gpu("RTX 3090", "CUDA 12.8", "0000:0a:00.0", 2),
            ]
        };
        let order = |backend, visible| {
            let (cards, note) = ordered(backend, listed(), visible);
            let names: Vec<(String, Adapter)> = cards
                .into_iter()
                .map(|gpu| (gpu.name, gpu.adapter))
                .collect();
            (names, note)
        };
        let kind = |name: &str, index| (name.to_owned(), Adapter::Kind(GpuKind::Discrete, index));
        let theirs = [
            kind("RTX 4090", 0),
            kind("RTX 3060", 1),
            kind("RTX 3090", 2),
        ];
        let by_address = [
            kind("RTX 3060", 1),
            kind("RTX 3090", 2),
            kind("RTX 4090", 0),
        ];
        let (names, note) = order(Backend::Cuda, None);
        assert_eq!((names.as_slice(), note), (by_address.as_slice(), None));
        let (names, note) = order(Backend::Cuda, Some("2,1"));
        assert_eq!(names, theirs);
        insta::assert_snapshot!(note.unwrap_or_default(), @"CUDA_VISIBLE_DEVICES=2,1 hides the other cards, and ids count those it names, in its order");
        let (names, note) = order(Backend::Wgpu, Some("1"));
        assert_eq!(names, theirs);
        insta::assert_snapshot!(note.unwrap_or_default(), @"CUDA_VISIBLE_DEVICES=1 is CUDA's and hides nothing from wgpu: choose with `--visible-gpus`");
    }
}
