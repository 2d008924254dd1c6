//! Metadata of any size is a stream.

use std::fs::File;
use std::io::{BufWriter, Write};

use myxtts_base::process::resident_memory;
use myxtts_data::layout::{detect, rows};

use super::support::Dataset;

/// Resident memory in kB; 0 where the system does not say.
fn resident() -> u64 {
    resident_memory().unwrap_or(0) / 1024
}

#[test]
fn ten_million_lines_take_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let mut file = BufWriter::new(File::create(folder.path().join("metadata.csv")).unwrap());
    for _ in 0..20 {
        writeln!(file, "a.wav|text").unwrap();
    }
    for _ in 0..10_000 {
        file.write_all("a\n".repeat(1000).as_bytes()).unwrap();
    }
    file.flush().unwrap();
    let layout = detect(folder.path(), None).unwrap();
    assert_eq!(layout.lines().unwrap(), 10_000_020);
    let before = resident();
    let (mut good, mut bad) = (0_u64, 0_u64);
    for row in rows(&layout).unwrap() {
        match row.unwrap() {
            Ok(_) => good += 1,
            Err(_) => bad += 1,
        }
    }
    assert_eq!((good, bad), (20, 10_000_000));
    let grown = resident().saturating_sub(before);
    // Other tests run beside this one; ten million rows would be gigabytes.
    assert!(grown < 300_000, "grew by {grown} kB");
}

#[test]
fn a_hundred_thousand_bad_lines_are_all_quarantined() {
    let mut data = Dataset::new();
    data.good_clips(12);
    data.line("x\n".repeat(100_000).trim_end().as_bytes());
    let prepared = data.prepare();
    assert_eq!(
        (prepared.report.kept, prepared.report.reasons["bad_line"]),
        (12, 100_000)
    );
}
