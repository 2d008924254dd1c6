//! The sample corpus out of the program.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use myxtts_data::prepare::{Event, Request, Settings, prepare};
use myxtts_data::sample_corpus;

#[test]
fn it_is_unpacked_whole_and_mended() {
    let folder = tempfile::tempdir().unwrap();
    sample_corpus::unpack(folder.path()).unwrap();
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let names = |root: &Path| {
        let mut names: Vec<_> = fs::read_dir(root.join("wavs"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(folder.path()), names(&original));
    let path = folder.path().join("metadata.csv");
    let same = fs::read(original.join("metadata.csv")).unwrap();
    assert_eq!(fs::read(&path).unwrap(), same);

    let clip = folder.path().join("wavs/slt_000.ogg");
    let inode = fs::metadata(&clip).unwrap().ino();
    fs::write(&path, b"half").unwrap();
    sample_corpus::unpack(folder.path()).unwrap();
    assert_eq!(fs::read(&path).unwrap(), same, "mended");
    assert_eq!(fs::metadata(&clip).unwrap().ino(), inode, "left alone");
}

#[test]
fn every_clip_of_it_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let request = Request {
        dataset: Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus"),
        out: folder.path().to_owned(),
        vocabulary: None,
        next: vec![],
        workers: std::num::NonZeroUsize::new(2).unwrap(),
        settings: Settings::default(),
    };
    let mut last = 0;
    let report = prepare(&request, &mut |progress| {
        let Event::Row(progress) = progress else {
            panic!("nobody else is there")
        };
        assert_eq!((progress.done, progress.about), (last + 1, 640));
        last = progress.done;
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!((report.total, report.kept, last), (640, 640, 640));
    assert_eq!(report.speaker_count, 2);
    // Its voices are synthesised at 16 kHz.
    assert_eq!(report.notes, BTreeMap::from([("low_rate".to_owned(), 640)]));
    let padding: Vec<f64> = report.padding.values().copied().collect();
    assert!(
        padding.windows(2).all(|pair| pair[1] <= pair[0]),
        "{padding:?}"
    );
    assert_eq!(
        report
            .buckets
            .iter()
            .map(|bucket| bucket.clips)
            .sum::<u64>(),
        640
    );
}
