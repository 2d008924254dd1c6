//! Fixtures, and files made by hand: a second, plainer writer of ZIP and pickle.

use std::path::{Path, PathBuf};

use myxtts_weights::torch::TorchFile;
use myxtts_weights::{TensorMap, WeightsError, read_safetensors};

pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../parity/fixtures")
        .join(name)
}

/// The reference weights of a part, under `prefix`.
pub fn weights(part: &str, prefix: &str) -> TensorMap {
    let map = read_safetensors(&fixture(&format!("weights_{part}.safetensors"))).unwrap();
    map.into_iter()
        .map(|(name, tensor)| (format!("{prefix}{name}"), tensor))
        .collect()
}

/// Opens bytes as `x.pth`.
pub fn open(bytes: Vec<u8>) -> Result<TorchFile, WeightsError> {
    TorchFile::from_bytes(Path::new("x.pth"), bytes)
}

/// Opens bytes and reads every tensor.
pub fn read(bytes: Vec<u8>) -> Result<TensorMap, WeightsError> {
    let file = open(bytes)?;
    file.names()
        .map(|name| Ok((name.to_owned(), file.read(name)?)))
        .collect()
}

/// One entry of a hand-made archive.
#[derive(Clone)]
pub struct HandEntry {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub method: u16,
    pub size: u32,
    pub packed: u32,
    pub crc: u32,
    pub offset: Option<u32>,
}

pub fn entry(name: &'static str, bytes: &[u8]) -> HandEntry {
    HandEntry {
        name,
        bytes: bytes.to_vec(),
        method: 0,
        size: bytes.len() as u32,
        packed: bytes.len() as u32,
        crc: crc(bytes),
        offset: None,
    }
}

/// CRC-32 bit by bit, as it is defined.
pub fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |mut crc, byte| {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
        crc
    })
}

pub fn archive(entries: &[HandEntry]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for entry in entries {
        let offset = file.len() as u32;
        let shared = [
            &20_u16.to_le_bytes()[..],
            &0_u16.to_le_bytes(),
            &entry.method.to_le_bytes(),
            &[0; 4],
            &entry.crc.to_le_bytes(),
            &entry.packed.to_le_bytes(),
            &entry.size.to_le_bytes(),
            &(entry.name.len() as u16).to_le_bytes(),
            &[0; 2],
        ]
        .concat();
        file.extend(b"PK\x03\x04");
        file.extend(&shared);
        file.extend(entry.name.as_bytes());
        file.extend(&entry.bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&shared);
        directory.extend([0; 10]);
        directory.extend(entry.offset.unwrap_or(offset).to_le_bytes());
        directory.extend(entry.name.as_bytes());
    }
    let start = file.len() as u32;
    let count = (entries.len() as u16).to_le_bytes();
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].concat());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start.to_le_bytes());
    file.extend([0, 0]);
    file
}

/// A torch file of this pickle with one storage of eight floats, 0 to 7.
pub fn torch(pickle: &[u8]) -> Vec<u8> {
    archive(&[entry("x/data.pkl", pickle), entry("x/data/0", &floats())])
}

pub fn floats() -> Vec<u8> {
    (0..8_u8)
        .flat_map(|value| f32::from(value).to_le_bytes())
        .collect()
}

pub fn text(text: &str) -> Vec<u8> {
    [
        b"X",
        &(text.len() as u32).to_le_bytes()[..],
        text.as_bytes(),
    ]
    .concat()
}

pub fn int(value: i64) -> Vec<u8> {
    [&[0x8a, 8][..], &value.to_le_bytes()].concat()
}

pub fn ints(values: &[i64]) -> Vec<u8> {
    let values: Vec<u8> = values.iter().flat_map(|value| int(*value)).collect();
    [b"(", &values[..], b"t"].concat()
}

/// The instructions of a tensor in storage 0.
pub fn tensor(elements: i64, offset: i64, shape: &[i64], strides: &[i64]) -> Vec<u8> {
    [
        b"ctorch._utils\n_rebuild_tensor_v2\n((",
        &text("storage")[..],
        b"ctorch\nFloatStorage\n",
        &text("0"),
        &text("cpu"),
        &int(elements),
        b"tQ",
        &int(offset),
        &ints(shape),
        &ints(strides),
        b"\x89ccollections\nOrderedDict\n)RtR",
    ]
    .concat()
}

/// A pickle of a dictionary with these keys and values.
pub fn dict(entries: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut pickle = b"\x80\x02}(".to_vec();
    for (key, value) in entries {
        pickle.extend(text(key));
        pickle.extend(value);
    }
    pickle.extend(b"u.");
    pickle
}
