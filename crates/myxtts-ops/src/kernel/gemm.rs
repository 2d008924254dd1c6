//! Matrix products over strided views, checked.

#![expect(
    unsafe_code,
    reason = "the product takes pointers; `Matrix` and `MatrixMut` check on construction that \
              every element they name is inside their slice, and a `MatrixMut` never names one twice"
)]

use super::uninit::Uninit;

/// A view of a matrix to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Views `data` so that element `(r, c)` is `data[r * row_stride + c * column_stride]`.
    pub(crate) fn strided(
        data: &'a [f32],
        [rows, columns]: [usize; 2],
        [row_stride, column_stride]: [usize; 2],
    ) -> Self {
        if rows > 0 && columns > 0 {
            let last = (rows - 1) * row_stride + (columns - 1) * column_stride;
            assert!(last < data.len(), "a matrix ends outside its storage");
        }
        Self {
            data,
            rows,
            columns,
            row_stride,
            column_stride,
        }
    }

    /// Views rows that lie one after the other.
    pub(crate) fn packed(data: &'a [f32], columns: usize) -> Self {
        Self::strided(data, [data.len() / columns.max(1), columns], [columns, 1])
    }

    /// Exchanges rows and columns.
    pub(crate) fn transposed(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Returns the rows `start..end`.
    pub(crate) fn rows(self, start: usize, end: usize) -> Self {
        assert!(start <= end && end <= self.rows, "rows outside the matrix");
        let skipped = (start * self.row_stride).min(self.data.len());
        Self {
            data: &self.data[skipped..],
            rows: end - start,
            ..self
        }
    }

    /// Returns the element `(row, column)`.
    #[inline(always)]
    pub(crate) fn at(&self, row: usize, column: usize) -> f32 {
        self.data[row * self.row_stride + column * self.column_stride]
    }

    /// Returns one row, if its elements are neighbours.
    #[inline(always)]
    pub(crate) fn row(&self, row: usize) -> Option<&'a [f32]> {
        let start = row * self.row_stride;
        (self.column_stride == 1).then(|| &self.data[start..start + self.columns])
    }

    pub(crate) fn shape(&self) -> [usize; 2] {
        [self.rows, self.columns]
    }
}

/// A view of a matrix to write, whose rows lie one after the other.
#[derive(Debug)]
pub(crate) struct MatrixMut<'a> {
    data: &'a mut [f32],
    rows: usize,
    columns: usize,
}

impl<'a> MatrixMut<'a> {
    /// Views rows that lie one after the other.
    pub(crate) fn packed(data: &'a mut [f32], columns: usize) -> Self {
        let rows = data.len() / columns.max(1);
        Self {
            data,
            rows,
            columns,
        }
    }
}

/// The threads that compute a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The calling thread alone.
    One,
    /// All threads, if the product is large enough.
    All,
}

/// What happens to the numbers that are there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Old {
    /// The product overwrites them.
    Replace,
    /// The product is added to them.
    Add,
}

/// Products smaller than this many multiplications stay on one thread.
const SHARED: usize = 128 * 128 * 128;

/// Returns `a b`, computed on all cores.
pub(crate) fn product(a: Matrix<'_>, b: Matrix<'_>) -> Vec<f32> {
    let [m, n] = [a.rows, b.columns];
    // SAFETY: a product that replaces writes every element of its `m x n` and reads none.
    unsafe {
        Uninit::new(m * n)
            .written_by(|out| into(out, [m, n], Old::Replace, 1.0, a, b, Threads::All))
    }
}

/// Computes `out = scale a b`, or `out += scale a b`.
pub(crate) fn multiply(
    out: MatrixMut<'_>,
    old: Old,
    scale: f32,
    a: Matrix<'_>,
    b: Matrix<'_>,
    threads: Threads,
) {
    let (shape, out) = ([out.rows, out.columns], out.data.as_mut_ptr());
    // SAFETY: `out` is borrowed mutably and has these rows and columns.
    unsafe { into(out, shape, old, scale, a, b, threads) }
}

/// # Safety
///
/// `out` must be `m x n` elements that nobody else reads or writes, and must be initialised
/// unless they are replaced.
unsafe fn into(
    out: *mut f32,
    [m, n]: [usize; 2],
    old: Old,
    scale: f32,
    a: Matrix<'_>,
    b: Matrix<'_>,
    threads: Threads,
) {
    let k = a.columns;
    assert!(
        a.rows == m && b.columns == n && b.rows == k,
        "matrices of shapes {:?} and {:?} have no product of shape {:?}",
        a.shape(),
        b.shape(),
        [m, n]
    );
    let shared = threads == Threads::All && m.saturating_mul(n).saturating_mul(k) >= SHARED;
    let parallelism = if shared {
        gemm::Parallelism::Rayon(0)
    } else {
        gemm::Parallelism::None
    };
    // A slice never has more elements than `isize::MAX` bytes, so its strides fit.
    let stride = |s: usize| isize::try_from(s).unwrap_or(isize::MAX);
    // SAFETY: the constructors checked that `(rows - 1, columns - 1)`, and so every smaller
    // index, lies inside the slices of `a` and `b`; the caller guarantees `out`.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out,
            1,
            stride(n),
            old == Old::Add,
            a.data.as_ptr(),
            stride(a.column_stride),
            stride(a.row_stride),
            b.data.as_ptr(),
            stride(b.column_stride),
            stride(b.row_stride),
            1.0_f32,
            scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_views() {
        let a: Vec<f32> = (0..12_u8).map(f32::from).collect();
        let b: Vec<f32> = (0..20_u8).map(|x| f32::from(x) * 0.5).collect();
        // (3, 4) from columns of a (4, 3), times (4, 5).
        let left = Matrix::packed(&a, 3).transposed();
        let right = Matrix::packed(&b, 5);
        let mut out = vec![1.0; 15];
        multiply(
            MatrixMut::packed(&mut out, 5),
            Old::Add,
            2.0,
            left,
            right,
            Threads::One,
        );
        for r in 0..3 {
            for c in 0..5 {
                let want: f32 = (0..4).map(|k| a[k * 3 + r] * b[k * 5 + c]).sum();
                assert_eq!(out[r * 5 + c], 1.0 + 2.0 * want);
            }
        }
    }

    #[test]
    #[should_panic(expected = "outside its storage")]
    fn a_view_past_the_end_is_refused() {
        Matrix::strided(&[0.0; 11], [3, 4], [4, 1]);
    }

    #[test]
    #[should_panic(expected = "no product")]
    fn shapes_that_do_not_fit_are_refused() {
        let data = [0.0; 12];
        let mut out = [0.0; 9];
        multiply(
            MatrixMut::packed(&mut out, 3),
            Old::Replace,
            1.0,
            Matrix::packed(&data, 4),
            Matrix::packed(&data, 4),
            Threads::One,
        );
    }
}
