//! The cache gives back what it was given, or nothing.

use std::fs;
use std::path::{Path, PathBuf};

use myxtts_data::cache::{Element, EntryKey, EntryShape, FeatureCache, Lookup, Malformed};
use proptest::prelude::*;

const SHAPE: EntryShape = EntryShape {
    element: Element::F32,
    rows: 3,
    columns: 5,
};

fn key(seed: u8) -> EntryKey {
    EntryKey::new("mel", &[seed; 32], &[9; 32])
}

fn payload() -> Vec<u8> {
    (0..60).collect()
}

/// A cache with one entry, and that entry's file.
fn filled() -> (tempfile::TempDir, FeatureCache, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let cache = FeatureCache::open(dir.path()).unwrap();
    cache.put(&key(1), SHAPE, &payload()).unwrap();
    let file = entries(dir.path()).pop().unwrap();
    (dir, cache, file)
}

fn entries(root: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    folders
        .flat_map(|folder| fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()))
        .collect()
}

fn damage(edit: impl FnOnce(&mut Vec<u8>)) -> Malformed {
    let (_dir, cache, file) = filled();
    let mut bytes = fs::read(&file).unwrap();
    edit(&mut bytes);
    fs::write(&file, bytes).unwrap();
    let Lookup::Damaged(why) = cache.get(&key(1)).unwrap() else {
        panic!("read as good")
    };
    assert!(!file.exists(), "a damaged entry is removed");
    assert!(matches!(cache.get(&key(1)).unwrap(), Lookup::Miss));
    cache.put(&key(1), SHAPE, &payload()).unwrap();
    assert!(
        matches!(cache.get(&key(1)).unwrap(), Lookup::Hit(_)),
        "and can be made again"
    );
    why
}

#[test]
fn a_hit_is_bit_for_bit_what_was_put() {
    let (_dir, cache, _) = filled();
    let Lookup::Hit(found) = cache.get(&key(1)).unwrap() else {
        panic!("no hit")
    };
    assert_eq!(found.shape(), SHAPE);
    assert_eq!(found.bytes(), payload());
    assert!(matches!(cache.get(&key(2)).unwrap(), Lookup::Miss));
}

#[test]
fn everything_that_matters_is_in_the_key() {
    let base = EntryKey::new("mel", &[1; 32], &[2; 32]);
    assert_ne!(base, EntryKey::new("codes", &[1; 32], &[2; 32]));
    assert_ne!(base, EntryKey::new("mel", &[3; 32], &[2; 32]));
    assert_ne!(base, EntryKey::new("mel", &[1; 32], &[3; 32]));
    assert_eq!(base, EntryKey::new("mel", &[1; 32], &[2; 32]));
}

#[test]
fn malformed_files_by_name() {
    let number = |at: usize, value: u32| {
        move |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes())
    };
    assert_eq!(damage(|b| b.clear()), Malformed::Short, "empty");
    assert_eq!(
        damage(|b| b.truncate(95)),
        Malformed::Short,
        "cut in the header"
    );
    assert_eq!(damage(|b| b[0] = 0), Malformed::Magic, "another file");
    assert_eq!(
        damage(number(8, 2)),
        Malformed::Version(2),
        "from the future"
    );
    assert_eq!(
        damage(number(12, 7)),
        Malformed::ElementType(7),
        "unknown element"
    );
    assert_eq!(
        damage(|b| b[25] = 1),
        Malformed::Reserved,
        "reserved bytes used"
    );
    assert_eq!(
        damage(number(16, u32::MAX)),
        Malformed::TooLarge,
        "a shape of gigabytes"
    );
    assert_eq!(
        damage(number(16, 4)),
        Malformed::Length {
            needed: 80,
            found: 60
        },
        "more rows"
    );
    assert_eq!(
        damage(|b| b.truncate(100)),
        Malformed::Length {
            needed: 60,
            found: 4
        },
        "cut"
    );
    assert_eq!(
        damage(|b| b.push(0)),
        Malformed::Length {
            needed: 60,
            found: 61
        },
        "trailing"
    );
    assert_eq!(damage(|b| b[40] ^= 1), Malformed::Key, "under another name");
    assert_eq!(
        damage(|b| b[100] ^= 1),
        Malformed::Checksum,
        "one bit of payload"
    );
    assert_eq!(
        damage(|b| b[70] ^= 1),
        Malformed::Checksum,
        "one bit of checksum"
    );
}

#[test]
fn a_payload_that_is_not_its_shape_is_refused() {
    let (_dir, cache, _) = filled();
    let error = cache.put(&key(3), SHAPE, &[0; 3]).unwrap_err();
    insta::assert_snapshot!(error, @"a feature of 3 bytes was given for a shape of 60");
}

#[test]
fn leftovers_of_a_killed_process_do_no_harm_and_are_swept() {
    let (dir, cache, _) = filled();
    let orphan = dir.path().join("tmp/orphan");
    fs::write(&orphan, b"half an entry").unwrap();
    assert!(matches!(cache.get(&key(1)).unwrap(), Lookup::Hit(_)));
    FeatureCache::open(dir.path()).unwrap();
    assert!(
        orphan.exists(),
        "a young one may belong to a living process"
    );
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    fs::File::options()
        .write(true)
        .open(&orphan)
        .unwrap()
        .set_modified(old)
        .unwrap();
    FeatureCache::open(dir.path()).unwrap();
    assert!(!orphan.exists());
}

#[test]
fn many_writers_of_one_entry_agree() {
    let (dir, _, _) = filled();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let cache = FeatureCache::open(dir.path()).unwrap();
                for seed in 0..40 {
                    cache.put(&key(seed), SHAPE, &payload()).unwrap();
                    assert!(matches!(cache.get(&key(seed)).unwrap(), Lookup::Hit(_)));
                }
            });
        }
    });
    assert_eq!(
        entries(dir.path()).len(),
        40,
        "and nothing temporary is left"
    );
}

#[test]
fn a_folder_that_cannot_be_made_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, b"").unwrap();
    let message = FeatureCache::open(&file).unwrap_err().to_string();
    assert!(message.contains("cannot be used"), "{message}");
    assert!(message.contains("data.cache"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn any_bytes_under_an_entrys_name_are_read_or_removed(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (_dir, cache, file) = filled();
        fs::write(&file, bytes).unwrap();
        prop_assert!(matches!(cache.get(&key(1)).unwrap(), Lookup::Damaged(_)));
    }
}

#[test]
fn an_entry_may_be_read_by_whom_the_umask_lets() {
    use std::os::unix::fs::PermissionsExt;
    let (dir, _cache, entry) = filled();
    let plain = dir.path().join("plain");
    fs::write(&plain, b"").unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&entry), mode(&plain));
}

#[test]
fn an_entry_that_cannot_be_read_is_named() {
    let (_dir, cache, entry) = filled();
    fs::remove_file(&entry).unwrap();
    fs::create_dir(&entry).unwrap();
    let why = cache.get(&key(1)).unwrap_err().to_string();
    assert!(why.contains(&entry.display().to_string()), "{why}");
}
