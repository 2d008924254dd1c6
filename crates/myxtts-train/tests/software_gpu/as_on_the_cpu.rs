//! What must be the CPU's to the bit, so that a run may go on another device.

use burn::tensor::{Device, Tensor};

use crate::fixtures::{Part, values, whole};
use crate::place;

#[test]
fn dropped_elements() {
    let Some(gpu) = place::device(Part::Codec) else {
        return;
    };
    let drop = myxtts_ops::Dropout {
        probability: 0.1,
        key: u64::MAX - 5,
        first_row: 0,
    };
    let [gpu, cpu] = [gpu, Device::flex()].map(|device| {
        let ones = Tensor::<2>::ones([7, 1001], &device);
        values(myxtts_ops::dropout(ones, &drop))
    });
    assert_eq!(gpu, cpu);
    assert!(gpu.contains(&0.0) && gpu.iter().any(|&x| x > 1.0));
}

/// The first of equal values, as a code is chosen.
#[test]
fn the_first_of_equals() {
    let Some(gpu) = place::device(Part::Codec) else {
        return;
    };
    let firsts = Tensor::<2>::ones([4, 30], &gpu).argmin(1);
    assert_eq!(whole(firsts), [0; 4]);
}
