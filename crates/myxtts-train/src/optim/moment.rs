//! A moment of a parameter's gradients, in as many bits as the configuration says.

use burn::tensor::{Bool, Tensor};
use myxtts_base::splitmix64;
use myxtts_device::MomentBits;
use myxtts_model::params::Unread;
use myxtts_ops::{Curve, Packed, Rounding};

/// A moment on a device, flat.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "handles, of which there are two a parameter"
)]
pub(super) enum Moment {
    Full(Tensor<1>),
    Packed(Packed),
}

impl Moment {
    /// Keeps a moment until the next step.
    pub(super) fn kept(x_n: Tensor<1>, bits: MomentBits, curve: Curve, rounding: Rounding) -> Self {
        match bits {
            MomentBits::F32 => Self::Full(x_n),
            MomentBits::Int8 => Self::Packed(Packed::pack(x_n, curve, rounding)),
        }
    }

    /// Returns this moment if the device says so, and otherwise the one that was `packed` before.
    /// What is packed is chosen packed: a draw might round an old number to another code. A full
    /// moment has been chosen with the weights, and so have the zeros before the first step, which
    /// are exact in any code.
    pub(super) fn only_if(self, applies_1: &Tensor<1, Bool>, packed: Option<Packed>) -> Self {
        match (self, packed) {
            (Self::Packed(new), Some(old)) => Self::Packed(new.only_if(applies_1, old)),
            (new, _) => new,
        }
    }

    /// Returns what is packed, to go back to.
    pub(super) fn packed(&self) -> Option<Packed> {
        match self {
            Self::Full(_) => None,
            Self::Packed(packed) => Some(packed.clone()),
        }
    }

    pub(super) fn into_tensor(self) -> Tensor<1> {
        match self {
            Self::Full(x_n) => x_n,
            Self::Packed(packed) => packed.unpack(),
        }
    }

    /// Returns the moment as f32, unread: eight bits are unpacked when they are read, one tensor
    /// after the other.
    pub(super) fn unread(&self, name: String) -> Unread {
        match self.clone() {
            Self::Full(x_n) => Unread::of(name, x_n),
            Self::Packed(packed) => {
                let read = move |packed: &Packed| {
                    let read = packed.unpack().try_into_data();
                    read.map_err(|why| why.to_string())
                };
                Unread::with(name, vec![packed.len()], move || read(&packed))
            }
        }
    }
}

/// Makes a key of a parameter's name.
pub(super) fn key_of(name: &str) -> u64 {
    let bytes = name.bytes();
    bytes.fold(0, |key, byte| splitmix64(key ^ u64::from(byte)))
}
