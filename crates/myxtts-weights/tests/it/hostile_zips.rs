//! Archives made to harm or damaged, and files that are no archives.

use std::path::Path;

use crate::support::{archive, dict, entry, floats, open, read, tensor};

fn good() -> Vec<u8> {
    dict(&[("t", tensor(8, 0, &[8], &[1]))])
}

fn refusal(bytes: Vec<u8>) -> String {
    read(bytes).unwrap_err().to_string()
}

#[test]
fn sizes_past_the_end() {
    let mut storage = entry("x/data/0", &floats());
    (storage.size, storage.packed) = (1 << 30, 1 << 30);
    insta::assert_snapshot!(refusal(archive(&[entry("x/data.pkl", &good()), storage])));
}

#[test]
fn sizes_that_reach_into_the_directory() {
    let mut storage = entry("x/data/0", &floats());
    (storage.size, storage.packed) = (40, 40);
    let message = refusal(archive(&[entry("x/data.pkl", &good()), storage]));
    assert!(message.contains("outside the file"), "{message}");
}

#[test]
fn two_sizes_that_differ() {
    let mut storage = entry("x/data/0", &floats());
    storage.packed = 8;
    insta::assert_snapshot!(refusal(archive(&[entry("x/data.pkl", &good()), storage])));
}

#[test]
fn a_compressed_pickle() {
    let mut pickle = entry("x/data.pkl", &good());
    pickle.method = 8;
    insta::assert_snapshot!(refusal(archive(&[pickle, entry("x/data/0", &floats())])));
}

#[test]
fn an_offset_past_the_end() {
    let mut storage = entry("x/data/0", &floats());
    storage.offset = Some(u32::MAX - 1);
    let message = refusal(archive(&[entry("x/data.pkl", &good()), storage.clone()]));
    assert!(message.contains("outside the file"), "{message}");
    // Said to be in a 64-bit field that is not there.
    storage.offset = Some(u32::MAX);
    let message = refusal(archive(&[entry("x/data.pkl", &good()), storage]));
    assert!(
        message.contains("directory of entries is broken"),
        "{message}"
    );
}

#[test]
fn an_entry_twice() {
    let storage = entry("x/data/0", &floats());
    let entries = [entry("x/data.pkl", &good()), storage.clone(), storage];
    insta::assert_snapshot!(refusal(archive(&entries)));
}

#[test]
fn a_missing_storage() {
    insta::assert_snapshot!(refusal(archive(&[entry("x/data.pkl", &good())])));
}

#[test]
fn a_zip_of_something_else() {
    insta::assert_snapshot!(refusal(archive(&[entry("readme.txt", b"hello")])));
}

#[test]
fn a_wrong_checksum() {
    let mut storage = entry("x/data/0", &floats());
    storage.crc ^= 1;
    let message = refusal(archive(&[entry("x/data.pkl", &good()), storage.clone()]));
    assert!(
        message.contains("checksum of its entry `x/data/0`"),
        "{message}"
    );
    // Torch can be told to compute none and leaves 0.
    storage.crc = 0;
    assert!(read(archive(&[entry("x/data.pkl", &good()), storage])).is_ok());
}

#[test]
fn a_big_endian_file() {
    let entries = [
        entry("x/data.pkl", &good()),
        entry("x/byteorder", b"big"),
        entry("x/data/0", &floats()),
    ];
    insta::assert_snapshot!(refusal(archive(&entries)));
}

#[test]
fn what_is_often_found_in_a_torch_files_place() {
    let files: [&[u8]; 6] = [
        b"",
        b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        b"\n<!DOCTYPE html><html>",
        b"RIFF\0\0\0\0WAVE",
        b"PK\x03\x04 and no end",
    ];
    let messages = files.map(|file| open(file.to_vec()).unwrap_err().to_string());
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn files_that_are_none() {
    let missing = myxtts_weights::read_torch(Path::new("no/such.pth")).unwrap_err();
    insta::assert_snapshot!(missing);
    let folder = myxtts_weights::read_torch(Path::new("/")).unwrap_err();
    insta::assert_snapshot!(folder);
}

#[test]
fn safetensors_that_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let header = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let files: [Vec<u8>; 6] = [
        b"short".to_vec(),
        u64::MAX.to_le_bytes().to_vec(),
        header("not json"),
        header(r#"{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#),
        header(r#"{"t":{"dtype":"F32","shape":[18446744073709551615,9],"data_offsets":[0,8]}}"#),
        [
            header(r#"{"t":{"dtype":"F8_E4M3","shape":[1],"data_offsets":[0,1]}}"#),
            vec![0],
        ]
        .concat(),
    ];
    let messages = files.map(|file| {
        std::fs::write(&path, file).unwrap();
        let message = myxtts_weights::read_safetensors(&path)
            .unwrap_err()
            .to_string();
        message.replace(&path.display().to_string(), "x.safetensors")
    });
    insta::assert_snapshot!(messages.join("\n"));
}
