//! The bytes of a pickle, read from front to back.

use crate::error::Fault;

pub(super) struct Operands<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Operands<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the position of the next byte.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn broken(&self, what: &'static str) -> Fault {
        Fault::Pickle { at: self.at, what }
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8], Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let taken = rest
            .get(..count)
            .ok_or_else(|| self.broken("it ends in the middle of an instruction"))?;
        self.at += count;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let taken = self.take(N)?;
        taken
            .try_into()
            .map_err(|_| self.broken("it ends in the middle of an instruction"))
    }

    pub(super) fn u8(&mut self) -> Result<u8, Fault> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, Fault> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Fault> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads the bytes behind a length of one, four or eight bytes.
    pub(super) fn counted(&mut self, width: usize) -> Result<&'a [u8], Fault> {
        let length = self.take(width)?;
        let length = length
            .iter()
            .rev()
            .try_fold(0_usize, |length, byte| {
                length
                    .checked_mul(256)
                    .map(|length| length + usize::from(*byte))
            })
            .ok_or_else(|| self.broken("a length is larger than memory"))?;
        self.take(length)
    }

    pub(super) fn text(&mut self, width: usize) -> Result<String, Fault> {
        let bytes = self.counted(width)?;
        self.utf8(bytes)
    }

    /// Reads text up to a line break.
    pub(super) fn line(&mut self) -> Result<String, Fault> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let length = rest
            .iter()
            .position(|byte| *byte == b'\n')
            .ok_or_else(|| self.broken("a name does not end"))?;
        let line = self.take(length)?;
        self.at += 1;
        self.utf8(line)
    }

    fn utf8(&self, bytes: &[u8]) -> Result<String, Fault> {
        let text = std::str::from_utf8(bytes).map_err(|_| self.broken("text is not UTF-8"))?;
        Ok(text.to_owned())
    }
}
