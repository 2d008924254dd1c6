//! Everything that can be wrong with a clip, in one folder: none panics, none
//! is lost, none stops the rest.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Waveform, write_wav_f32, write_wav_pcm16};
use myxtts_data::prepare::Note;

use super::support::{Dataset, tone};

const TEXT: &str = "one two three four";

fn wav(samples: Vec<f32>) -> Waveform {
    Waveform {
        samples,
        rate: SampleRate::XTTS,
    }
}

fn dataset() -> Dataset {
    let mut data = Dataset::new();
    data.good_clips(30);

    let path = data.named("truncated", TEXT);
    write_wav_pcm16(&path, &tone("truncated", 2.0, 22_050)).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(20_001)
        .unwrap();

    let path = data.named("lying_header", TEXT);
    write_wav_pcm16(&path, &tone("lying", 2.0, 22_050)).unwrap();
    let mut bytes = fs::read(&path).unwrap();
    bytes[24..28].copy_from_slice(&5_u32.to_le_bytes());
    fs::write(&path, bytes).unwrap();

    fs::write(data.named("zero_bytes", TEXT), b"").unwrap();
    fs::write(data.named("a_text_file", TEXT), b"one two three").unwrap();

    let path = data.named("one_sample", TEXT);
    write_wav_pcm16(&path, &wav(vec![0.5])).unwrap();

    // Five hours at the usual rate: a header and a hole.
    let path = data.named("five_hours", TEXT);
    write_wav_pcm16(&path, &tone("hours", 1.0, 22_050)).unwrap();
    let size = 5 * 3600 * 22_050 * 2_u32;
    let mut bytes = fs::read(&path).unwrap();
    bytes[4..8].copy_from_slice(&(36 + size).to_le_bytes());
    bytes[40..44].copy_from_slice(&size.to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let file = File::options().write(true).open(&path).unwrap();
    file.set_len(44 + u64::from(size)).unwrap();

    let path = data.named("not_a_number", TEXT);
    let mut samples = tone("nan", 2.0, 22_050).samples;
    samples[777] = f32::NAN;
    write_wav_f32(&path, &wav(samples)).unwrap();

    data.named("missing", TEXT);
    fs::create_dir(data.named("a_folder", TEXT)).unwrap();
    let path = data.named("a_loop", TEXT);
    symlink(&path, &path).unwrap();

    let path = data.named("silent", TEXT);
    write_wav_pcm16(&path, &wav(vec![0.0003; 40_000])).unwrap();
    data.clip("too_short", 0.4, TEXT);
    data.clip("too_long", 9.5, TEXT);

    let path = data.named("clipped", TEXT);
    let loud = tone("clipped", 2.0, 22_050)
        .samples
        .iter()
        .map(|x| x * 8.0)
        .collect();
    write_wav_pcm16(&path, &wav(loud)).unwrap();
    let path = data.named("low_rate", TEXT);
    write_wav_pcm16(&path, &tone("low", 2.0, 8_000)).unwrap();
    data.clip("outlier", 8.0, "Hi");

    fs::copy(
        data.wav("good_03"),
        data.named("again", "four five six seven one two"),
    )
    .unwrap();
    fs::copy(
        data.wav("good_03"),
        data.named("contradiction", "another text"),
    )
    .unwrap();

    data.clip("no_text", 2.0, "");
    data.clip("only_marks", 2.0, "... !?");
    data.line(b"no_delimiter");
    data.line(b"invalid|\xff\xfe bytes");
    data.line(
        "latin_1|caf\u{e9}"
            .chars()
            .map(|c| c as u8)
            .collect::<Vec<_>>()
            .as_slice(),
    );
    let mut long = b"a_megabyte|".to_vec();
    long.resize(1 << 20, b'a');
    data.line(&long);
    data.clip("last", 2.0, TEXT);
    data
}

#[test]
fn every_kind_is_named_and_the_rest_goes_on() {
    let data = dataset();
    let prepared = data.prepare();
    let lines = prepared.quarantined.iter().map(|bad| {
        format!(
            "{} {} ({}): {}",
            bad.source,
            bad.audio.as_deref().unwrap_or("-"),
            bad.reason,
            bad.why
        )
    });
    let lines: Vec<String> = lines.collect();
    insta::assert_snapshot!("quarantine", lines.join("\n"));
    insta::assert_snapshot!("report", data.anonymous(&prepared.report));
    assert_eq!((prepared.report.total, prepared.report.kept), (55, 35));
    prepared.clip("last");
    assert_eq!(prepared.clip("clipped").notes, [Note::Clipped]);
    assert_eq!(prepared.clip("low_rate").notes, [Note::LowRate]);
    assert_eq!(prepared.clip("outlier").notes, [Note::TextOutlier]);
    assert_eq!(prepared.clip("again").notes, [Note::Duplicate]);
    let message = data.anonymous(prepared.report.check().unwrap_err());
    insta::assert_snapshot!("too_many_bad", message);
}

#[test]
fn the_result_is_the_same_whatever_the_number_of_workers() {
    let data = dataset();
    let files = [
        "manifest.jsonl",
        "quarantine.jsonl",
        "report.json",
        "report.txt",
    ];
    let run = |workers| {
        let mut request = data.request();
        request.workers = std::num::NonZeroUsize::new(workers).unwrap();
        data.prepare_as(&request).unwrap();
        files.map(|file| fs::read_to_string(request.out.join(file)).unwrap())
    };
    let alone = run(1);
    assert_eq!(alone, run(2));
    assert_eq!(alone, run(7));
}

#[test]
fn a_recording_that_may_not_be_read() {
    let mut data = Dataset::new();
    data.good_clips(3);
    let path = data.wav("good_01");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let prepared = data.prepare();
    assert_eq!(prepared.quarantined[0].reason, "permission");
    assert_eq!(prepared.report.kept, 2);
}

#[test]
fn a_folder_that_may_not_be_written_names_the_way_out() {
    let mut data = Dataset::new();
    data.good_clips(1);
    // A file in the way is refused for everybody, root included.
    File::create(data.path().join("myxtts"))
        .unwrap()
        .write_all(b"x")
        .unwrap();
    let Err(error) = data.prepare_as(&data.request()) else {
        panic!("written")
    };
    insta::assert_snapshot!(data.anonymous(error), @r"
    cannot write DATASET/myxtts: File exists (os error 17)
      fix:   free some disk space, or give a writable folder with --prepared; what was already written stays valid
    ");
}

#[test]
fn results_in_the_datasets_own_folder_are_refused() {
    let mut data = Dataset::new();
    data.good_clips(1);
    let mut request = data.request();
    request.out = data.path().join("wavs/..");
    let Err(error) = data.prepare_as(&request) else {
        panic!("accepted")
    };
    insta::assert_snapshot!(data.anonymous(error));
}

#[test]
fn a_language_that_is_none_is_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let mut data = Dataset::new();
    data.good_clips(2);
    let list = "audio|text|speaker|language\nwavs/good_00.wav|one two|a|en\nwavs/good_01.wav|three|a|[english]\n";
    let file = data.path().join("list.csv");
    fs::write(&file, list).unwrap();
    let mut request = data.request();
    request.dataset = file;
    request.out = folder.path().to_owned();
    let prepared = data.prepare_as(&request).unwrap();
    assert_eq!(prepared.quarantined[0].reason, "bad_language");
    assert_eq!(prepared.clip("good_00").language, "en");
}
