//! Files that cannot be read, each under the name of what is wrong with it.
//! The snapshot is the message a person sees.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use crate::support::{FLOAT, PCM, Wav, chunk, recording};
use myxtts_audio::{DecodeError, Fault, Limits, decode};

/// The message for a file of these bytes, with its folder left out.
fn message(name: &str, bytes: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    message_at(&path)
}

fn message_at(path: &Path) -> String {
    let error = decode(path, &Limits::default()).unwrap_err();
    let folder = path.parent().unwrap().display().to_string();
    format!(
        "[{}]\n{}",
        error.fault.reason(),
        error.to_string().replace(&folder, "DATA")
    )
}

macro_rules! refused {
    ($($name:ident: $bytes:expr;)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(message("x.wav", &$bytes));
        }
    )*};
}

fn with(change: impl FnOnce(&mut Wav)) -> Vec<u8> {
    let mut wav = Wav::tone(1000);
    change(&mut wav);
    wav.bytes()
}

fn floats(values: &[f32]) -> Vec<u8> {
    Wav::new(
        FLOAT,
        32,
        1,
        values.iter().flat_map(|x| x.to_le_bytes()).collect(),
    )
    .bytes()
}

fn cut(name: &str, keep: f64) -> Vec<u8> {
    let mut bytes = fs::read(recording(name)).unwrap();
    bytes.truncate((bytes.len() as f64 * keep) as usize);
    bytes
}

refused! {
    no_bytes: [];
    zero_bytes: [0; 4096];
    text_named_wav: b"wavs/0001.wav|hello there\n".repeat(20);
    an_image: [0x89, b'P', b'N', b'G', 13, 10, 26, 10, 0, 0, 0, 13];
    an_avi: *b"RIFF\x20\0\0\0AVI LIST";
    four_bytes_of_riff: *b"RIFF";
    big_endian: *b"RIFX\0\0\0\x20WAVEfmt ";
    truncated: Wav::tone(1000).bytes()[..44 + 500];
    truncated_before_the_data: Wav::tone(1000).bytes()[..36];
    truncated_inside_the_format: Wav::tone(1000).bytes()[..30];
    data_longer_than_the_file: {
        let mut bytes = Wav::tone(1000).bytes();
        bytes[40..44].copy_from_slice(&9_000_u32.to_le_bytes());
        bytes
    };
    sizes_never_written: {
        let mut bytes = Wav::tone(1000).bytes();
        bytes[4..8].fill(0);
        bytes[40..44].fill(0);
        bytes
    };
    zero_channels: with(|wav| { wav.channels = 0; wav.block_align = 0; });
    a_thousand_channels: with(|wav| { wav.channels = 1000; wav.block_align = 2000; });
    zero_rate: with(|wav| wav.rate = 0);
    a_rate_of_four_gigahertz: with(|wav| wav.rate = u32::MAX);
    absurd_block_align: with(|wav| wav.block_align = 65_535);
    zero_block_align: with(|wav| wav.block_align = 0);
    seventeen_bits: with(|wav| wav.bits = 17);
    half_a_frame: Wav::new(PCM, 16, 2, vec![0; 10]).bytes();
    mu_law: with(|wav| wav.tag = 7);
    an_unknown_codec: with(|wav| wav.tag = 0x1234);
    an_extensible_format_too_short: with(|wav| wav.tag = crate::support::EXTENSIBLE);
    a_private_sub_format: {
        let mut wav = Wav::tone(10).extensible();
        wav.format_tail[12] ^= 0xff;
        wav.bytes()
    };
    no_format: [&b"RIFF\x20\0\0\0WAVE"[..], &chunk(b"LIST", b"only this")].concat();
    data_before_format: [&b"RIFF\x20\0\0\0WAVE"[..], &chunk(b"data", &[0; 8])].concat();
    no_samples: Wav::tone(0).bytes();
    a_nan: floats(&[0.0, 0.5, f32::NAN]);
    an_infinity: floats(&[f32::NEG_INFINITY]);
    a_double_beyond_a_float: Wav::new(FLOAT, 64, 1, 1e300_f64.to_le_bytes().to_vec()).bytes();
    truncated_flac: cut("mono.flac", 0.95);
    truncated_mp3: cut("mono.mp3", 0.7);
    truncated_ogg: cut("mono.ogg", 0.9);
    truncated_m4a: cut("mono.m4a", 0.5);
    opus: fs::read(recording("opus.ogg")).unwrap();
    damaged_flac: {
        let mut bytes = fs::read(recording("mono.flac")).unwrap();
        let middle = bytes.len() - 1500;
        bytes[middle..middle + 40].fill(0x55);
        bytes
    };
}

#[test]
fn five_hours() {
    // Sparse: a header that tells the truth about 800 MB that were never written.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lecture.wav");
    let mut wav = Wav::tone(0);
    wav.data_size = 5 * 3600 * 22_050 * 2;
    fs::write(&path, wav.bytes()).unwrap();
    File::options()
        .append(true)
        .open(&path)
        .unwrap()
        .set_len(44 + u64::from(wav.data_size))
        .unwrap();
    insta::assert_snapshot!(message_at(&path));
}

#[test]
fn nothing_there() {
    insta::assert_snapshot!(message_at(Path::new("/no/such/folder/x.wav")));
}

#[test]
fn a_directory_named_wav() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.wav");
    fs::create_dir(&path).unwrap();
    insta::assert_snapshot!(message_at(&path));
}

#[cfg(unix)]
#[test]
fn a_link_to_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.wav");
    std::os::unix::fs::symlink(&path, &path).unwrap();
    insta::assert_snapshot!(message_at(&path));
}

#[cfg(unix)]
#[test]
fn a_device() {
    insta::assert_snapshot!(message_at(Path::new("/dev/zero")));
}

#[test]
fn not_permitted() {
    let fault = Fault::from(io::Error::from(io::ErrorKind::PermissionDenied));
    let error = DecodeError {
        path: "DATA/x.wav".into(),
        fault,
    };
    insta::assert_snapshot!(format!("[{}]\n{error}", error.fault.reason()));
}

/// Root reads everything, so this says something only for other users.
#[cfg(unix)]
#[test]
fn a_file_without_read_permission() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.wav");
    fs::write(&path, Wav::tone(10).bytes()).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    match File::open(&path) {
        Ok(_) => assert!(decode(&path, &Limits::default()).is_ok()),
        Err(_) => assert!(message_at(&path).starts_with("[permission]")),
    }
}
