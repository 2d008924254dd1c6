//! Which shapes the device has seen.
//!
//! A shape seen for the first time makes the engine compile and tune kernels,
//! which takes longer than many steps; after the warm-up there must be none.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use myxtts_model::gpt::GptBatch;

/// What the model compiles for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shapes {
    /// Clips.
    pub rows: usize,
    /// Text tokens.
    pub text: usize,
    /// Audio codes.
    pub codes: usize,
    /// Conditioning frames.
    pub frames: usize,
}

impl Shapes {
    /// Of a batch.
    pub fn of(batch: &GptBatch) -> Self {
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
pub struct ShapeWatch(Mutex<Seen>);

#[derive(Debug, Default)]
struct Seen {
    shapes: BTreeSet<Shapes>,
    warm: bool,
    after: Vec<Shapes>,
}

impl ShapeWatch {
    /// Notes a shape.
    pub fn see(&self, shapes: Shapes) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.shapes.insert(shapes) && seen.warm {
            seen.after.push(shapes);
        }
    }

    /// Every shape there is has been seen, one hopes.
    pub fn end_warm_up(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).warm = true;
    }

    /// New shapes since the end of the warm-up.
    pub fn after_warm_up(&self) -> u64 {
        self.new_shapes().len() as u64
    }

    /// Which they were.
    pub fn new_shapes(&self) -> Vec<Shapes> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.after.clone()
    }

    /// All shapes seen.
    pub fn shapes(&self) -> Vec<Shapes> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.shapes.iter().copied().collect()
    }
}
