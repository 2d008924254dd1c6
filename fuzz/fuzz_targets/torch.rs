//! Any bytes given to the torch reader open or give an error with a fix, and
//! every tensor of what opens reads or does too. Bytes that are no archive are
//! tried as the pickle of one, which is where the depth is.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use myxtts_weights::torch::TorchFile;

fuzz_target!(|bytes: &[u8]| {
    read(bytes.to_vec());
    if !bytes.starts_with(b"PK") {
        read(archive(&[("x/data.pkl", bytes), ("x/data/0", &[7; 64])]));
    }
});

fn read(bytes: Vec<u8>) {
    let path = Path::new("fuzz.pth");
    let file = match TorchFile::from_bytes(path, bytes) {
        Ok(file) => file,
        Err(error) => return assert!(error.to_string().contains("fix:")),
    };
    for name in file.names() {
        if let Ok(tensor) = file.read(name) {
            assert_eq!(tensor.bytes().len(), tensor.elements() * tensor.dtype().size());
        }
    }
}

/// Stored entries without checksums.
fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut directory = Vec::new();
    for (name, bytes) in entries {
        let offset = (file.len() as u32).to_le_bytes();
        let size = (bytes.len() as u32).to_le_bytes();
        let name_size = (name.len() as u16).to_le_bytes();
        let shared = [&[20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], &size, &size, &name_size, &[0; 2]].concat();
        file.extend(b"PK\x03\x04");
        file.extend(&shared);
        file.extend(name.as_bytes());
        file.extend(*bytes);
        directory.extend(b"PK\x01\x02\x14\x00");
        directory.extend(&shared);
        directory.extend([0; 10]);
        directory.extend(offset);
        directory.extend(name.as_bytes());
    }
    let count = (entries.len() as u16).to_le_bytes();
    let start = (file.len() as u32).to_le_bytes();
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    file.extend([count, count].concat());
    file.extend((directory.len() as u32).to_le_bytes());
    file.extend(start);
    file.extend([0, 0]);
    file
}
