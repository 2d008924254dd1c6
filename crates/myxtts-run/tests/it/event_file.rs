//! An event file, read back by a reader that shares nothing with the writer.
//! `tools/check-tensorboard` has TensorBoard itself read the same file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use myxtts_run::tensorboard::{EventWriter, Histogram, Wav, mel_image};
use myxtts_run::units::Step;

/// Eight samples of 16-bit mono at 8 kHz.
fn wav() -> Vec<u8> {
    let mut file = b"RIFF\x34\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0".to_vec();
    file.extend(8000_u32.to_le_bytes());
    file.extend(16_000_u32.to_le_bytes());
    file.extend(b"\x02\0\x10\0data\x10\0\0\0");
    file.extend((0..8_i16).flat_map(|n| (n * 1000).to_le_bytes()));
    file
}

fn mel() -> Vec<f32> {
    (0..80 * 300)
        .map(|n| ((n / 300) as f32 / 9.0).sin() + (n % 300) as f32 / 100.0)
        .collect()
}

/// A run of three steps, killed, and resumed after the second.
fn write(folder: &Path) -> [PathBuf; 2] {
    let mut first = EventWriter::create(folder, None).unwrap();
    for step in 1..=3 {
        first
            .scalar("loss/train", Step(step), 4.0 - step as f32 / 3.0)
            .unwrap();
    }
    first.scalar("zero", Step(1), 0.0).unwrap();
    first.flush().unwrap();

    let mut second = EventWriter::create(folder, Some(Step(2))).unwrap();
    second.scalar("loss/train", Step(3), 2.5).unwrap();
    second.text("sentence", Step(3), "**سلام** world").unwrap();
    let bytes = wav();
    let audio = Wav {
        bytes: &bytes,
        sample_rate: 8000,
        channels: 1,
        samples: 8,
    };
    second.audio("sample", Step(3), audio).unwrap();
    second
        .image("mel", Step(3), &mel_image(&mel(), 80, 300).unwrap())
        .unwrap();
    let values: Vec<f32> = (0..600).map(|n| n as f32 / 100.0).collect();
    second
        .histogram("weights", Step(3), &Histogram::of(&values).unwrap())
        .unwrap();
    second.flush().unwrap();
    [first.path().into(), second.path().into()]
}

/// CRC-32C bit by bit.
fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc % 2 == 1 {
                (crc / 2) ^ 0x82F6_3B78
            } else {
                crc / 2
            };
        }
    }
    let crc = !crc;
    crc.rotate_right(15).wrapping_add(0xA282_EAD8)
}

fn records(path: &Path) -> Vec<Vec<u8>> {
    let file = std::fs::read(path).unwrap();
    let mut rest = file.as_slice();
    let mut records = Vec::new();
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    while !rest.is_empty() {
        let length = u64::from_le_bytes(rest[..8].try_into().unwrap()) as usize;
        assert_eq!(word(&rest[8..12]), checksum(&rest[..8]));
        let data = &rest[12..12 + length];
        assert_eq!(word(&rest[12 + length..16 + length]), checksum(data));
        records.push(data.to_vec());
        rest = &rest[16 + length..];
    }
    records
}

type Fields = BTreeMap<u64, Vec<Vec<u8>>>;

/// The fields of a message; numbers as their bits.
fn message(mut bytes: &[u8]) -> Fields {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for place in 0.. {
            let (first, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(first & 127) << (7 * place);
            if first & 128 == 0 {
                break;
            }
        }
        value
    }
    let mut fields = Fields::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let length = match key & 7 {
            0 => {
                let value = varint(&mut bytes);
                fields
                    .entry(key >> 3)
                    .or_default()
                    .push(value.to_le_bytes().into());
                continue;
            }
            1 => 8,
            5 => 4,
            2 => varint(&mut bytes) as usize,
            other => panic!("wire type {other}"),
        };
        let (field, rest) = bytes.split_at(length);
        fields.entry(key >> 3).or_default().push(field.into());
        bytes = rest;
    }
    fields
}

fn whole(field: &[Vec<u8>]) -> u64 {
    u64::from_le_bytes(field[0].as_slice().try_into().unwrap())
}

/// Step and value of each summary.
fn values(path: &Path) -> Vec<(u64, Fields)> {
    let events = records(path).into_iter().map(|record| message(&record));
    let summaries = events.filter(|event| event.contains_key(&5));
    summaries
        .map(|event| (whole(&event[&2]), message(&message(&event[&5][0])[&1][0])))
        .collect()
}

#[test]
fn an_independent_reader_finds_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = write(folder.path());
    assert!(
        first < second,
        "TensorBoard reads files in the order of their names"
    );

    let head = message(&records(&first)[0]);
    assert_eq!(head[&3], [b"brain.Event:2"]);
    let restart = message(&records(&second)[1]);
    assert_eq!(
        (whole(&restart[&2]), message(&restart[&7][0])[&1].clone()),
        (3, vec![1_u64.to_le_bytes().to_vec()])
    );

    let scalars: Vec<_> = values(&first)
        .into_iter()
        .map(|(step, value)| {
            let number = f32::from_le_bytes(value[&2][0].as_slice().try_into().unwrap());
            (
                String::from_utf8(value[&1][0].clone()).unwrap(),
                step,
                number,
            )
        })
        .collect();
    let loss = |step: u64| ("loss/train".to_string(), step, 4.0 - step as f32 / 3.0);
    assert_eq!(
        scalars,
        [loss(1), loss(2), loss(3), ("zero".into(), 1, 0.0)]
    );

    let values = values(&second);
    assert!(values.iter().all(|(step, _)| *step == 3));
    let [_, (_, text), (_, audio), (_, image), (_, histogram)] = values.as_slice() else {
        panic!("{} values", values.len());
    };
    assert_eq!(message(&text[&8][0])[&8], ["**سلام** world".as_bytes()]);
    assert_eq!(message(&audio[&6][0])[&4], [wav()]);
    let image = message(&image[&4][0]);
    assert_eq!(
        (whole(&image[&1]), whole(&image[&2]), whole(&image[&3])),
        (80, 300, 3)
    );
    assert!(image[&4][0].starts_with(b"\x89PNG\r\n\x1a\n"));
    let histogram = message(&histogram[&5][0]);
    assert_eq!(histogram[&6][0].len(), 30 * 8);
    let counts = histogram[&7][0]
        .chunks(8)
        .map(|c| f64::from_le_bytes(c.try_into().unwrap()));
    assert_eq!(counts.sum::<f64>(), 600.0);
}

/// For `tools/check-tensorboard`, which says where.
#[test]
fn write_for_tensorboard() {
    let Some(folder) = std::env::var_os("MYXTTS_TENSORBOARD_DIR") else {
        return;
    };
    write(Path::new(&folder));
}
