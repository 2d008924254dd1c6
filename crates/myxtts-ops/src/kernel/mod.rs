//! The operations over slices of `f32`: no tensors, no graph.
//!
//! Work is cut into pieces whose size depends on the shapes only, and partial
//! sums are added in the order of the pieces: the result is the same bit for
//! bit whatever the number of threads.

pub(crate) mod adamw;
pub(crate) mod attention;
pub(crate) mod conv;
pub(crate) mod conv_batch;
pub(crate) mod dropout;
pub(crate) mod elementwise;
pub(crate) mod gelu;
pub(crate) mod gemm;
pub(crate) mod head;
pub(crate) mod linear;
pub(crate) mod loss;
pub(crate) mod math;
pub(crate) mod norm;
pub(crate) mod panels;
pub(crate) mod registers;
pub(crate) mod rounded;
mod uninit;
pub(crate) mod winograd;

/// About how many elements a piece of work has: enough to hide the hand-over to a thread, few
/// enough to stay in a core's cache.
const PIECE: usize = 1 << 14;

/// Returns the rows of a piece of work.
fn rows_per_piece(width: usize) -> usize {
    (PIECE / width.max(1)).max(1)
}

/// Adds up rows of partial sums, in order.
fn add_rows(partials: Vec<Vec<f32>>, width: usize) -> Vec<f32> {
    let mut total = vec![0.0; width];
    for partial in partials {
        for (t, p) in total.iter_mut().zip(&partial) {
            *t += p;
        }
    }
    total
}
