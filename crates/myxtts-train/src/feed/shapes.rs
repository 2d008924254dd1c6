//! Keeps track of the shapes that the device has seen.
//!
//! A shape seen for the first time makes the engine compile and tune kernels,
//! which takes longer than many steps; after the warm-up there must be none.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use myxtts_model::gpt::GptBatch;

/// The sizes of a batch that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shapes {
    /// Rows, empty ones included.
    pub rows: usize,
    /// Text tokens of a row, with padding.
    pub text: usize,
    /// Audio codes of a row, with padding.
    pub codes: usize,
    /// Frames of a row's conditioning mel.
    pub frames: usize,
}

impl Shapes {
    /// Returns the sizes of a batch.
    pub(crate) fn of(batch: &GptBatch) -> Self {
        let [rows, text] = batch.text_bt.dims();
        let [_, codes] = batch.codes_bm.dims();
        let [.., frames] = batch.conditioning_bcs.dims();
        Self {
            rows,
            text,
            codes,
            frames,
        }
    }
}

/// Counts shapes, before and after the end of the warm-up.
#[derive(Debug, Default)]
pub struct ShapeTracker(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    shapes: BTreeSet<Shapes>,
    warm: bool,
    after: Vec<Shapes>,
}

impl ShapeTracker {
    /// Counts a shape that the device is about to see.
    pub(crate) fn see(&self, shapes: Shapes) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.shapes.insert(shapes) && seen.warm {
            seen.after.push(shapes);
        }
    }

    /// Ends the warm-up: every shape to come should have been seen by now.
    pub fn end_warm_up(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).warm = true;
    }

    /// Counts the new shapes since the end of the warm-up.
    pub fn after_warm_up(&self) -> u64 {
        self.new_shapes().len() as u64
    }

    /// Returns the new shapes since the end of the warm-up.
    pub(crate) fn new_shapes(&self) -> Vec<Shapes> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.after.clone()
    }

    /// Returns all shapes seen, warm-up included.
    pub fn shapes(&self) -> Vec<Shapes> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.shapes.iter().copied().collect()
    }
}
