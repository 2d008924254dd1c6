//! From a tensor's description to its numbers, every step checked against the
//! storage's entry before memory is taken.

use std::ops::Range;

use super::pickle::TensorSpec;
use super::zip::Archive;
use crate::error::Fault;
use crate::source::Source;
use crate::tensor::{Dtype, Tensor, bytes_of};

/// The most dimensions of a tensor; torch itself stops at 64.
const MAX_DIMENSIONS: usize = 64;

/// A tensor that is known to lie inside its storage.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// The entry that holds it.
    pub(super) entry: String,
    storage: Range<usize>,
    /// The byte of the first element in the storage.
    start: usize,
    /// The bytes of the elements.
    bytes: usize,
    /// The bytes from one element to the next, per dimension; `None` if they lie
    /// one after another.
    steps: Option<Vec<usize>>,
}

impl Placed {
    pub(super) fn new(spec: &TensorSpec, archive: &Archive, root: &str) -> Result<Self, Fault> {
        let entry = format!("{root}/data/{}", spec.storage.key);
        let storage = storage_of(spec, archive, &entry)?;
        let element = spec.dtype.size();
        let layout = Layout::of(spec)?;
        let past_end = || Fault::PastEnd {
            shape: spec.shape.clone(),
            strides: spec.strides.clone(),
            offset: spec.offset,
            elements: storage.len() / element,
        };
        let bytes = bytes_of(spec.dtype, &layout.shape).ok_or_else(past_end)?;
        let last = layout.last().ok_or_else(past_end)?;
        let end = last.checked_add(1).and_then(|end| end.checked_mul(element));
        if bytes > 0 && end.is_none_or(|end| end > storage.len()) {
            return Err(past_end());
        }
        let contiguous = bytes == 0 || is_contiguous(&layout.shape, &layout.strides);
        Ok(Self {
            dtype: spec.dtype,
            entry,
            // Without elements there is no first; otherwise both products are below `end`.
            start: if bytes == 0 {
                0
            } else {
                layout.offset * element
            },
            bytes,
            steps: (!contiguous).then(|| layout.steps(element)),
            shape: layout.shape,
            storage,
        })
    }

    /// Returns the bytes that must be copied to bring the elements in order.
    pub(super) fn copied(&self) -> usize {
        if self.steps.is_some() { self.bytes } else { 0 }
    }

    pub(super) fn read(&self, source: &Source) -> Result<Tensor, Fault> {
        let Some(steps) = &self.steps else {
            let start = self.storage.start + self.start;
            let range = start..start + self.bytes;
            return Tensor::within(self.dtype, self.shape.clone(), source.clone(), range);
        };
        let storage = source.get(self.storage.clone()).unwrap_or_default();
        let element = self.dtype.size();
        let mut copy = Vec::with_capacity(self.bytes);
        let mut position = vec![0; self.shape.len()];
        let mut at = self.start;
        while copy.len() < self.bytes {
            copy.extend_from_slice(storage.get(at..at + element).unwrap_or_default());
            // The last dimension moves; one that has reached its end goes back and
            // moves the one before it.
            for ((index, size), step) in position.iter_mut().zip(&self.shape).zip(steps).rev() {
                if *index + 1 < *size {
                    *index += 1;
                    at += step;
                    break;
                }
                at -= *index * step;
                *index = 0;
            }
        }
        Tensor::new(self.dtype, self.shape.clone(), copy)
    }
}

/// Returns the bytes of the archive that hold the tensor's storage, which are as many as
/// the description claims.
fn storage_of(spec: &TensorSpec, archive: &Archive, entry: &str) -> Result<Range<usize>, Fault> {
    let storage = archive.entry(entry)?.range.clone();
    // The element size the storage is counted in: bytes, if it has no type.
    let counted = spec.storage.dtype.map_or(1, Dtype::size);
    let elements = usize::try_from(spec.storage.elements)
        .map_err(|_| Fault::Description("its storage has a negative size"))?;
    let claimed = elements as u128 * counted as u128;
    if claimed != storage.len() as u128 {
        return Err(Fault::Storage {
            entry: entry.to_owned(),
            claimed,
            found: storage.len(),
        });
    }
    Ok(storage)
}

/// Where the elements lie in the storage, counted in elements.
struct Layout {
    shape: Vec<usize>,
    strides: Vec<usize>,
    offset: usize,
}

impl Layout {
    fn of(spec: &TensorSpec) -> Result<Self, Fault> {
        if spec.shape.len() != spec.strides.len() || spec.shape.len() > MAX_DIMENSIONS {
            return Err(Fault::Description("shape and strides do not match"));
        }
        let sizes = |numbers: &[i64]| -> Option<Vec<usize>> {
            let sizes = numbers.iter().map(|number| usize::try_from(*number).ok());
            sizes.collect()
        };
        let offset = usize::try_from(spec.offset).ok();
        let (Some(shape), Some(strides), Some(offset)) =
            (sizes(&spec.shape), sizes(&spec.strides), offset)
        else {
            return Err(Fault::Description("offset, shape or strides are negative"));
        };
        Ok(Self {
            shape,
            strides,
            offset,
        })
    }

    /// Returns the place of the last element; `None` if no number holds it.
    fn last(&self) -> Option<usize> {
        let mut dimensions = self.shape.iter().zip(&self.strides);
        dimensions.try_fold(self.offset, |last, (size, stride)| {
            last.checked_add(size.saturating_sub(1).checked_mul(*stride)?)
        })
    }

    /// Returns the bytes from one element of `element` bytes to the next, per dimension.
    fn steps(&self, element: usize) -> Vec<usize> {
        let dimensions = self.shape.iter().zip(&self.strides);
        // A dimension of one element takes no step.
        dimensions
            .map(|(size, stride)| if *size > 1 { stride * element } else { 0 })
            .collect()
    }
}

/// Returns whether the elements lie one after another, row by row.
fn is_contiguous(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1;
    shape.iter().zip(strides).rev().all(|(size, stride)| {
        let fits = *size == 1 || *stride == expected;
        expected *= size;
        fits
    })
}
