//! One tensor: element type, shape, and little-endian bytes in row-major order.

use std::fmt;
use std::ops::Range;

use crate::error::Fault;
use crate::source::Source;

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dtype {
    /// A float of 64 bits.
    F64,
    /// A float of 32 bits.
    F32,
    /// A float of 16 bits.
    F16,
    /// The upper half of a 32-bit float.
    BF16,
    /// A signed integer of 64 bits.
    I64,
    /// A signed integer of 32 bits.
    I32,
    /// A signed integer of 16 bits.
    I16,
    /// A signed integer of 8 bits.
    I8,
    /// An unsigned integer of 8 bits.
    U8,
    /// A byte that is 0 or 1.
    Bool,
}

impl Dtype {
    /// Every element type there is.
    pub const ALL: [Self; 10] = [
        Self::F64,
        Self::F32,
        Self::F16,
        Self::BF16,
        Self::I64,
        Self::I32,
        Self::I16,
        Self::I8,
        Self::U8,
        Self::Bool,
    ];

    /// Returns the bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Self::F64 | Self::I64 => 8,
            Self::F32 | Self::I32 => 4,
            Self::F16 | Self::BF16 | Self::I16 => 2,
            Self::I8 | Self::U8 | Self::Bool => 1,
        }
    }
}

/// Returns the bytes of a tensor of this shape, unless they are more than memory can name.
pub(crate) fn bytes_of(dtype: Dtype, shape: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(dtype.size(), |bytes, size| bytes.checked_mul(*size))
}

/// A tensor. Cloning one that was read from a file copies no numbers.
#[derive(Clone)]
pub struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    source: Source,
    range: Range<usize>,
}

impl Tensor {
    /// Makes a tensor of the given bytes, little-endian and row-major.
    pub fn new(dtype: Dtype, shape: Vec<usize>, bytes: Vec<u8>) -> Result<Self, Fault> {
        let range = 0..bytes.len();
        Self::within(dtype, shape, Source::owned(bytes), range)
    }

    /// Makes a tensor of 32-bit floats.
    pub fn from_f32(shape: Vec<usize>, values: &[f32]) -> Result<Self, Fault> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes());
        Self::new(Dtype::F32, shape, bytes.collect())
    }

    /// Makes a tensor whose bytes are a part of `source`.
    pub(crate) fn within(
        dtype: Dtype,
        shape: Vec<usize>,
        source: Source,
        range: Range<usize>,
    ) -> Result<Self, Fault> {
        let found = source.get(range.clone()).map(<[u8]>::len);
        let needed = bytes_of(dtype, &shape);
        if found.is_none() || found != needed {
            return Err(Fault::Length {
                shape,
                dtype,
                found: found.unwrap_or(0),
            });
        }
        Ok(Self {
            dtype,
            shape,
            source,
            range,
        })
    }

    /// Returns the type of the elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// Returns the sizes, slowest dimension first; empty for a single number.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the number of elements.
    pub fn elements(&self) -> usize {
        self.bytes().len() / self.dtype.size()
    }

    /// Returns the elements as bytes, little-endian and row-major.
    pub fn bytes(&self) -> &[u8] {
        // The range was checked when the tensor was made.
        self.source.get(self.range.clone()).unwrap_or_default()
    }

    /// Returns the tensor with its own copy of the numbers: what becomes of the
    /// file that they were read from no longer matters.
    #[must_use]
    pub(crate) fn in_memory(&self) -> Self {
        let bytes = self.bytes().to_vec();
        Self {
            dtype: self.dtype,
            shape: self.shape.clone(),
            range: 0..bytes.len(),
            source: Source::owned(bytes),
        }
    }

    /// Returns the elements as 32-bit floats: exact for F32, F16, BF16, I16, I8, U8
    /// and Bool, rounded to nearest for the others.
    pub fn to_f32(&self) -> Vec<f32> {
        let bytes = self.bytes();
        match self.dtype {
            Dtype::F32 => each(bytes, f32::from_le_bytes),
            Dtype::F64 => each(bytes, |b| nearest(f64::from_le_bytes(b))),
            Dtype::F16 => each(bytes, |b| from_f16(u16::from_le_bytes(b))),
            Dtype::BF16 => each(bytes, |b| {
                f32::from_bits(u32::from(u16::from_le_bytes(b)) << 16)
            }),
            Dtype::I64 => each(bytes, |b| i64::from_le_bytes(b) as f32),
            Dtype::I32 => each(bytes, |b| i32::from_le_bytes(b) as f32),
            Dtype::I16 => each(bytes, |b| f32::from(i16::from_le_bytes(b))),
            Dtype::I8 => each(bytes, |b| f32::from(i8::from_le_bytes(b))),
            Dtype::U8 | Dtype::Bool => each(bytes, |b| f32::from(u8::from_le_bytes(b))),
        }
    }
}

fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Vec<f32> {
    let (elements, _) = bytes.as_chunks::<N>();
    elements.iter().map(|element| number(*element)).collect()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "rounding to the nearest f32 is what is asked for"
)]
fn nearest(value: f64) -> f32 {
    value as f32
}

fn from_f16(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10 & 0x1f);
    let mantissa = u32::from(bits & 0x3ff);
    let magnitude = match exponent {
        // Subnormal: the mantissa counts units of 2^-24, exact in f32.
        0 => return f32::from_bits(sign | (mantissa as f32 * 2_f32.powi(-24)).to_bits()),
        0x1f => 0x7f80_0000 | mantissa << 13,
        _ => (exponent + 112) << 23 | mantissa << 13,
    };
    f32::from_bits(sign | magnitude)
}

impl PartialEq for Tensor {
    /// Compares bit for bit: a NaN equals itself, 0 does not equal -0.
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.shape == other.shape && self.bytes() == other.bytes()
    }
}

impl Eq for Tensor {}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor({:?} {:?})", self.dtype, self.shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: sign, exponent and mantissa as powers of two.
    fn f16_by_definition(bits: u16) -> f64 {
        let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
        let exponent = i32::from(bits >> 10 & 0x1f);
        let mantissa = f64::from(bits & 0x3ff) / 1024.0;
        sign * match exponent {
            0 => mantissa * 2_f64.powi(-14),
            0x1f if mantissa == 0.0 => f64::INFINITY,
            0x1f => f64::NAN,
            _ => (1.0 + mantissa) * 2_f64.powi(exponent - 15),
        }
    }

    #[test]
    fn every_f16_is_the_number_it_is_defined_as() {
        for bits in 0..=u16::MAX {
            let (fast, slow) = (f64::from(from_f16(bits)), f16_by_definition(bits));
            assert!(
                fast == slow || fast.is_nan() && slow.is_nan(),
                "{bits:04x}: {fast} {slow}"
            );
            assert_eq!(fast.is_sign_negative(), bits >> 15 == 1, "{bits:04x}");
        }
    }
}
