//! Writing a pickle of protocol 2, the one torch writes.

use std::io;

use super::globals::storage_name;
use crate::tensor::Tensor;

/// Appends instructions to a pickle.
pub(in crate::torch) struct PickleWriter(Vec<u8>);

impl PickleWriter {
    pub(in crate::torch) fn new() -> Self {
        Self(vec![0x80, 2])
    }

    pub(in crate::torch) fn finish(mut self) -> Vec<u8> {
        self.0.push(b'.');
        self.0
    }

    pub(in crate::torch) fn none(&mut self) {
        self.0.push(b'N');
    }

    pub(in crate::torch) fn bool(&mut self, value: bool) {
        self.0.push(if value { 0x88 } else { 0x89 });
    }

    pub(in crate::torch) fn int(&mut self, value: i64) {
        match i32::try_from(value) {
            Ok(value) => {
                self.0.push(b'J');
                self.0.extend(value.to_le_bytes());
            }
            Err(_) => {
                self.0.extend([0x8a, 8]);
                self.0.extend(value.to_le_bytes());
            }
        }
    }

    pub(in crate::torch) fn float(&mut self, value: f64) {
        self.0.push(b'G');
        self.0.extend(value.to_be_bytes());
    }

    pub(in crate::torch) fn text(&mut self, text: &str) -> io::Result<()> {
        let length = u32::try_from(text.len())
            .map_err(|_| io::Error::other("a string is longer than a pickle can hold"))?;
        self.0.push(b'X');
        self.0.extend(length.to_le_bytes());
        self.0.extend(text.as_bytes());
        Ok(())
    }

    /// Writes a dictionary; `entries` writes its keys and values in turn.
    pub(in crate::torch) fn dict(
        &mut self,
        entries: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.0.extend(b"}(");
        entries(self)?;
        self.0.push(b'u');
        Ok(())
    }

    /// Writes a tensor whose storage is the entry `data/KEY`.
    pub(in crate::torch) fn tensor(&mut self, tensor: &Tensor, key: &str) -> io::Result<()> {
        self.global("torch._utils", "_rebuild_tensor_v2");
        self.0.extend(b"((");
        self.text("storage")?;
        self.global("torch", storage_name(tensor.dtype()));
        self.text(key)?;
        self.text("cpu")?;
        self.size(tensor.elements())?;
        self.0.extend(b"tQ");
        self.int(0);
        self.sizes(tensor.shape())?;
        let mut strides = vec![1; tensor.shape().len()];
        for dimension in (1..strides.len()).rev() {
            strides[dimension - 1] = strides[dimension] * tensor.shape()[dimension].max(1);
        }
        self.sizes(&strides)?;
        // It needs no gradient and has no hooks.
        self.0.push(0x89);
        self.global("collections", "OrderedDict");
        self.0.extend(b")RtR");
        Ok(())
    }

    fn global(&mut self, module: &str, name: &str) {
        self.0.push(b'c');
        for part in [module, name] {
            self.0.extend(part.as_bytes());
            self.0.push(b'\n');
        }
    }

    fn sizes(&mut self, sizes: &[usize]) -> io::Result<()> {
        self.0.push(b'(');
        for size in sizes {
            self.size(*size)?;
        }
        self.0.push(b't');
        Ok(())
    }

    fn size(&mut self, size: usize) -> io::Result<()> {
        let size = i64::try_from(size).map_err(io::Error::other)?;
        self.int(size);
        Ok(())
    }
}
