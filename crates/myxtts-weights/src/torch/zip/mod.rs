//! ZIP as far as torch uses it: plain stored entries, with ZIP64 sizes.

mod read;
mod write;

pub(super) use read::Archive;
pub(super) use write::ArchiveWriter;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;

const LOCAL_BYTES: usize = 30;
const CENTRAL_BYTES: usize = 46;
const END_BYTES: usize = 22;
const END64_BYTES: usize = 56;
const LOCATOR64_BYTES: usize = 20;

/// The extra field that holds 64-bit sizes.
const EXTRA64: u16 = 1;
/// In a 16- or 32-bit field: the value is in the 64-bit one.
const IN_64_16: u16 = u16::MAX;
const IN_64_32: u32 = u32::MAX;
