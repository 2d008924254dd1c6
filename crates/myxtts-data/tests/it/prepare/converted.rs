//! `--convert`: FLAC once, and only where it is not right already.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Limits, decode, write_wav_pcm16};

use super::support::{Dataset, tone};

fn inode(path: &Path) -> u64 {
    fs::metadata(path).unwrap().ino()
}

/// Recordings with texts beside them: the layout that would find our FLAC files.
fn pairs() -> Dataset {
    let data = Dataset::new();
    for id in ["a", "sub/b"] {
        let path = data.path().join(format!("{id}.wav"));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_wav_pcm16(&path, &tone(id, 1.0, 44_100)).unwrap();
        fs::write(path.with_extension("txt"), "one two three").unwrap();
    }
    data
}

#[test]
fn a_second_run_writes_nothing_and_what_is_wrong_is_replaced() {
    let data = pairs();
    let mut request = data.request();
    request.settings.convert = true;
    let first = data.prepare_as(&request).unwrap();
    let clip = first.clip("sub/b");
    assert_eq!(clip.audio, "audio/sub/b.flac");
    assert_eq!(clip.converted_from.as_deref(), Some("../sub/b.wav"));
    assert_eq!(clip.rate.hz(), 44_100, "of the recording as it came");
    let [a, b] = ["a", "sub/b"].map(|id| request.out.join(format!("audio/{id}.flac")));
    let decoded = decode(&a, &Limits::default()).unwrap();
    assert_eq!(decoded.source.rate, SampleRate::XTTS);
    assert_eq!(decoded.source.channels, 1);
    let hash = |path: &Path| blake3::hash(&fs::read(path).unwrap()).to_hex().to_string();
    assert_eq!(clip.content, hash(&b));

    let (before_a, before_b) = (inode(&a), inode(&b));
    let second = data.prepare_as(&request).unwrap();
    assert_eq!(second.clips, first.clips, "our own files are no recordings");
    assert_eq!(
        (inode(&a), inode(&b)),
        (before_a, before_b),
        "nothing is written again"
    );

    let mut bytes = fs::read(&b).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(&b, bytes).unwrap();
    write_wav_pcm16(&data.path().join("a.wav"), &tone("new", 1.0, 44_100)).unwrap();
    let third = data.prepare_as(&request).unwrap();
    assert_eq!(
        third.clip("sub/b").content,
        clip.content,
        "damaged, made again"
    );
    assert_ne!(
        third.clip("a").content,
        first.clip("a").content,
        "stale, made again"
    );
    assert_eq!(third.report.total, 2);
}

#[test]
fn rejected_clips_are_not_converted() {
    let mut data = Dataset::new();
    data.good_clips(1);
    data.clip("short", 0.2, "one");
    let mut request = data.request();
    request.settings.convert = true;
    data.prepare_as(&request).unwrap();
    assert!(request.out.join("audio/good_00.flac").exists());
    assert!(!request.out.join("audio/short.flac").exists());
}
