//! A safetensors file whose tensors are read while it is written.
//!
//! The header holds names, types and shapes, which are known before any number
//! is read. So the numbers of one tensor at a time are in memory, whatever the
//! file's size. Byte for byte the file is the one that the safetensors crate
//! makes of the same tensors.

use std::fmt;
use std::io::{self, Write};

use safetensors::tensor::{Metadata, TensorInfo};

use crate::error::Fault;
use crate::safetensors::{broken, theirs};
use crate::tensor::{Dtype, Tensor, bytes_of};

type WriteNumbers<'a> = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'a>;

/// A tensor on its way to a file, its numbers still where they are.
pub struct TensorStream<'a> {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    write: WriteNumbers<'a>,
}

impl<'a> TensorStream<'a> {
    /// Makes a tensor whose numbers `write` gives, little-endian and row-major.
    pub fn new(
        name: impl Into<String>,
        dtype: Dtype,
        shape: Vec<usize>,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()> + Send + 'a,
    ) -> Self {
        Self {
            name: name.into(),
            dtype,
            shape,
            write: Box::new(write),
        }
    }

    /// Makes the stream of a tensor; one of a mapped file is read from there.
    pub fn of(name: &str, tensor: &Tensor) -> Self {
        let (dtype, shape) = (tensor.dtype(), tensor.shape().to_vec());
        let tensor = tensor.clone();
        Self::new(name, dtype, shape, move |out| out.write_all(tensor.bytes()))
    }

    /// Returns the tensor's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the sizes, slowest dimension first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Puts `prefix` before the tensor's name.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        self.name.insert_str(0, prefix);
        self
    }

    fn bytes(&self) -> Result<usize, Fault> {
        bytes_of(self.dtype, &self.shape).ok_or(Fault::TooMuch {
            what: "bytes in a tensor",
            limit: usize::MAX,
        })
    }
}

impl fmt::Debug for TensorStream<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?} {:?})", self.name, self.dtype, self.shape)
    }
}

/// A safetensors file that is yet to be written.
#[derive(Debug)]
pub struct SafetensorsStream<'a> {
    header: Vec<u8>,
    tensors: Vec<TensorStream<'a>>,
    bytes: u64,
}

impl<'a> SafetensorsStream<'a> {
    /// Makes a file of these tensors.
    ///
    /// # Errors
    /// Fails if two have one name, or one is larger than memory can name.
    pub fn new(mut tensors: Vec<TensorStream<'a>>) -> Result<Self, Fault> {
        tensors.sort_by(|one, other| {
            let by_size = theirs(other.dtype).cmp(&theirs(one.dtype));
            by_size.then_with(|| one.name.cmp(&other.name))
        });
        let mut end = 0_usize;
        let mut infos = Vec::with_capacity(tensors.len());
        for tensor in &tensors {
            let start = end;
            end = start.saturating_add(tensor.bytes()?);
            let info = TensorInfo {
                dtype: theirs(tensor.dtype),
                shape: tensor.shape.clone(),
                data_offsets: (start, end),
            };
            infos.push((tensor.name.clone(), info));
        }
        let mut names: Vec<&str> = tensors.iter().map(TensorStream::name).collect();
        names.sort_unstable();
        if names.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Fault::DuplicateName);
        }
        let metadata = Metadata::new(None, infos).map_err(broken)?;
        let mut text = serde_json::to_vec(&metadata).map_err(Fault::Json)?;
        text.resize(text.len().next_multiple_of(ALIGNMENT), b' ');
        let mut header = (text.len() as u64).to_le_bytes().to_vec();
        header.append(&mut text);
        let bytes = header.len() as u64 + end as u64;
        Ok(Self {
            header,
            tensors,
            bytes,
        })
    }

    /// Returns the size in bytes that the file will have.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the file, one tensor after the other.
    ///
    /// # Errors
    /// Fails if `out` refuses, or if a tensor cannot be read; then with its name.
    pub fn write(self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.header)?;
        for tensor in self.tensors {
            let expected = tensor.bytes().unwrap_or(usize::MAX) as u64;
            let mut counted = Counted { out, written: 0 };
            let TensorStream { name, write, .. } = tensor;
            write(&mut counted).map_err(|why| match why.kind() {
                io::ErrorKind::Other => io::Error::other(format!("tensor {name}: {why}")),
                _ => why,
            })?;
            if counted.written != expected {
                return Err(io::Error::other(format!(
                    "tensor {name} gave {} bytes instead of {expected}; this is a bug in the \
                     program",
                    counted.written
                )));
            }
        }
        Ok(())
    }
}

/// Headers end on a multiple of this, so that the numbers after them begin on one.
const ALIGNMENT: usize = 8;

/// Counts what passes through: a tensor that gave too few bytes would shift
/// every one after it.
struct Counted<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl Write for Counted<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::map::TensorMap;

    impl ::safetensors::View for &Tensor {
        fn dtype(&self) -> ::safetensors::Dtype {
            theirs(Tensor::dtype(self))
        }

        fn shape(&self) -> &[usize] {
            Tensor::shape(self)
        }

        fn data(&self) -> Cow<'_, [u8]> {
            Cow::Borrowed(self.bytes())
        }

        fn data_len(&self) -> usize {
            self.bytes().len()
        }
    }

    fn map() -> TensorMap {
        [
            ("b", Tensor::from_f32(vec![2, 3], &[0.5; 6])),
            ("a", Tensor::from_f32(vec![1], &[-1.0])),
            ("steps", Tensor::new(Dtype::I64, vec![1], vec![7; 8])),
            ("flags", Tensor::new(Dtype::Bool, vec![3], vec![1; 3])),
            ("empty", Tensor::from_f32(vec![0, 4], &[])),
        ]
        .map(|(name, tensor)| (name, tensor.unwrap()))
        .into_iter()
        .collect()
    }

    #[test]
    fn the_file_is_the_one_that_the_crate_makes() {
        for map in [map(), TensorMap::new()] {
            let tensors = map
                .iter()
                .map(|(name, tensor)| TensorStream::of(name, tensor));
            let stream = SafetensorsStream::new(tensors.collect()).unwrap();
            let bytes = stream.bytes();
            let mut file = vec![];
            stream.write(&mut file).unwrap();
            assert_eq!(file, ::safetensors::serialize(map.iter(), None).unwrap());
            assert_eq!(file.len() as u64, bytes);
        }
    }

    #[test]
    fn names_are_given_once() {
        let one = || TensorStream::new("a", Dtype::F32, vec![1], |out| out.write_all(&[0; 4]));
        let twice = SafetensorsStream::new(vec![one(), one()]);
        assert!(matches!(twice, Err(Fault::DuplicateName)));
        let apart = SafetensorsStream::new(vec![one(), one().below("gpt.")]);
        assert_eq!(apart.unwrap().tensors[1].name(), "gpt.a");
    }

    #[test]
    fn a_tensor_that_cannot_be_read_is_named() {
        let said = |write: fn(&mut dyn Write) -> io::Result<()>| {
            let tensor = TensorStream::new("gpt.h.0.weight", Dtype::F32, vec![2], write);
            let stream = SafetensorsStream::new(vec![tensor]).unwrap();
            stream.write(&mut vec![]).unwrap_err().to_string()
        };
        insta::assert_snapshot!(
            [
                said(|_| Err(io::Error::other("the device was lost"))),
                said(|out| out.write_all(&[0; 4])),
                said(|_| Err(io::ErrorKind::StorageFull.into())),
            ]
            .join("\n")
        );
    }
}
