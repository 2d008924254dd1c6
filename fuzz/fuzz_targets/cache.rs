//! Any bytes in the place of a cache entry are a hit whose shape fits its
//! bytes, or are reported as damaged and removed.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use myxtts_data::cache::{Element, EntryKey, EntryShape, FeatureCache, Lookup};

/// A cache, the key of its one entry, and that entry's file and bytes.
struct Filled {
    cache: FeatureCache,
    key: EntryKey,
    file: PathBuf,
    entry: Vec<u8>,
}

static FILLED: LazyLock<Filled> = LazyLock::new(|| {
    let root = std::env::temp_dir().join(format!("myxtts-fuzz-{}", std::process::id()));
    let cache = FeatureCache::open(&root).unwrap();
    let key = EntryKey::new("mel", &[1; 32], &[2; 32]);
    let shape = EntryShape { element: Element::F32, rows: 2, columns: 2 };
    cache.put(&key, shape, &[3; 16]).unwrap();
    let folder = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| !path.ends_with("tmp"))
        .unwrap();
    let file = fs::read_dir(folder).unwrap().next().unwrap().unwrap().path();
    let entry = fs::read(&file).unwrap();
    Filled { cache, key, file, entry }
});

fuzz_target!(|bytes: &[u8]| {
    look(bytes.to_vec());
    // The same bytes laid over a good entry, so that its key is right.
    let mut changed = FILLED.entry.clone();
    for (place, byte) in changed.iter_mut().zip(bytes) {
        *place ^= byte;
    }
    look(changed);
});

fn look(bytes: Vec<u8>) {
    fs::write(&FILLED.file, &bytes).unwrap();
    match FILLED.cache.get(&FILLED.key).unwrap() {
        Lookup::Hit(features) => {
            assert_eq!(features.shape().payload(), Some(features.bytes().len()));
        }
        Lookup::Damaged(why) => {
            assert!(!why.to_string().is_empty());
            assert!(!FILLED.file.exists());
        }
        Lookup::Miss => panic!("the entry was there"),
    }
}
