//! New vectors whose memory is first touched where it is filled.
//!
//! `vec![0.0; n]` writes its zeros on the one thread that asks for it while all cores wait, and
//! the operation that follows writes every element again. Here each piece becomes zero on the
//! thread that fills it, just before that, and so in that core's cache.

#![expect(
    unsafe_code,
    reason = "the length of a vector is set after counting that every element was written"
)]

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

/// A vector whose elements have not been written yet.
#[derive(Debug)]
pub(crate) struct Uninit {
    elements: Vec<f32>,
    len: usize,
    written: AtomicUsize,
}

impl Uninit {
    /// Makes room for `len` elements.
    pub(crate) fn new(len: usize) -> Self {
        Self {
            elements: Vec::with_capacity(len),
            len,
            written: AtomicUsize::new(0),
        }
    }

    /// Returns all elements as pieces of this size, each zeroed.
    pub(crate) fn pieces(
        &mut self,
        size: usize,
    ) -> impl IndexedParallelIterator<Item = &mut [f32]> {
        self.written = AtomicUsize::new(0);
        let written = &self.written;
        self.elements.spare_capacity_mut()[..self.len]
            .par_chunks_mut(size.max(1))
            .map(move |piece| {
                written.fetch_add(piece.len(), Ordering::Relaxed);
                zeroed(piece)
            })
    }

    /// Lets `write` fill all elements through a pointer.
    ///
    /// # Safety
    ///
    /// `write` must have written every element when it returns.
    pub(super) unsafe fn written_by(mut self, write: impl FnOnce(*mut f32)) -> Vec<f32> {
        write(self.elements.as_mut_ptr());
        *self.written.get_mut() = self.len;
        self.finish()
    }

    /// Returns the vector; all of its pieces must have been given out.
    pub(crate) fn finish(mut self) -> Vec<f32> {
        assert_eq!(
            *self.written.get_mut(),
            self.len,
            "pieces of a new vector were left out"
        );
        // SAFETY: the capacity is at least `len`, and as many elements were written since
        // `pieces` began, each piece being given out once.
        unsafe { self.elements.set_len(self.len) };
        self.elements
    }
}

fn zeroed(piece: &mut [MaybeUninit<f32>]) -> &mut [f32] {
    for element in &mut *piece {
        element.write(0.0);
    }
    // SAFETY: every element was just written.
    unsafe { piece.assume_init_mut() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_zero_and_stay_in_order() {
        for (len, size) in [(0, 3), (1, 3), (10, 3), (12, 3), (5, 0)] {
            let mut fresh = Uninit::new(len);
            fresh.pieces(size).enumerate().for_each(|(i, piece)| {
                assert!(piece.iter().all(|&x| x == 0.0));
                piece.fill(i as f32);
            });
            let want: Vec<f32> = (0..len).map(|i| (i / size.max(1)) as f32).collect();
            assert_eq!(fresh.finish(), want);
        }
    }

    #[test]
    #[should_panic(expected = "left out")]
    fn a_piece_that_nobody_took_is_noticed() {
        let mut fresh = Uninit::new(10);
        fresh.pieces(3).take(3).for_each(drop);
        fresh.finish();
    }

    #[test]
    #[should_panic(expected = "left out")]
    fn pieces_count_from_the_last_time() {
        let mut fresh = Uninit::new(10);
        fresh.pieces(5).for_each(drop);
        fresh.pieces(5).take(1).for_each(drop);
        fresh.finish();
    }
}
