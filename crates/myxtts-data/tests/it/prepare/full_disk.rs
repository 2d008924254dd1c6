//! A full disk is an error that leaves the cache usable.
//!
//! A limit on the size of files stands in for the disk: the shell sets it and
//! ignores the signal that comes with it, so that a write fails as it does on
//! a full disk. It holds for a whole process, so the test runs itself again.

use std::process::Command;

use myxtts_data::prepare::{Manifest, WaveformCache};

use super::support::Dataset;

const FOLDER: &str = "FULL_DISK_DATASET";

fn request(data: &std::path::Path) -> myxtts_data::prepare::Request<'static> {
    let mut request = Dataset::new().request();
    request.dataset = data.to_owned();
    request.out = data.join("myxtts");
    request.cache = true;
    request.workers = std::num::NonZeroUsize::MIN;
    request
}

#[test]
fn it_is_reported_and_the_cache_serves_afterwards() {
    let mut data = Dataset::new();
    // 0.6 s are 53 kB of f32, 3 s are 265 kB; the limit is 100 kB or 200 kB,
    // as the shell counts.
    for n in 0..5 {
        data.clip(&format!("fits_{n}"), 0.6, "one two");
    }
    data.clip("does_not", 3.0, "one two three four five six");
    let script = "trap '' XFSZ; ulimit -f 200; exec \"$0\" \"$@\"";
    let child = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().unwrap())
        .args([
            "prepare::full_disk::child",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(FOLDER, data.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(
        child.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&child.stderr)
    );
    let message = said
        .split_once("MESSAGE\n")
        .unwrap()
        .1
        .split_once("\nEND")
        .unwrap()
        .0;
    insta::assert_snapshot!(data.anonymous(message), @r"
    a feature could not be cached in DATASET/myxtts/cache: File too large (os error 27)
      fix:   free some disk space (what is cached stays good), or set data.cache to memory or none
    ");
    let out = data.path().join("myxtts");
    assert!(!out.join("manifest.jsonl").exists(), "whole or not at all");
    let left = std::fs::read_dir(out.join("cache/tmp")).unwrap().count();
    assert_eq!(left, 0, "nothing half written is left");

    let request = request(data.path());
    let cached = || {
        let cache =
            WaveformCache::open(&request.out.join("cache"), &request.settings.audio).unwrap();
        let clips = ["fits_0", "fits_4", "does_not"].map(|id| std::fs::read(data.wav(id)).unwrap());
        clips.map(|bytes| cache.get(blake3::hash(&bytes).as_bytes()).is_some())
    };
    assert_eq!(cached(), [true, true, false], "what was cached is served");
    data.prepare_as(&request).unwrap();
    assert_eq!(cached(), [true; 3], "with room again, it goes on");
    assert_eq!(Manifest::open(&request.out).unwrap().count(), 6);
}

/// Not a test of its own: what the test above runs under a limit.
#[test]
#[ignore = "run by the test above"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let request = request(std::path::Path::new(&folder));
    let error = myxtts_data::prepare::prepare(&request, &mut |_| {}).unwrap_err();
    println!("\nMESSAGE\n{error}\nEND");
}
