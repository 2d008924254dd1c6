//! A full disk is an error that leaves what was there before.
//!
//! A limit on the size of files stands in for the disk: the shell sets it and
//! ignores the signal that comes with it, so that a write fails as it does on
//! a full disk. It holds for a whole process, so the test runs itself again.

use std::process::Command;

use super::support::Dataset;

const FOLDER: &str = "FULL_DISK_DATASET";

fn request(data: &std::path::Path) -> myxtts_data::prepare::Request<'static> {
    let mut request = Dataset::new().request();
    request.dataset = data.to_owned();
    request.out = data.join("myxtts");
    request.workers = std::num::NonZeroUsize::MIN;
    request
}

#[test]
fn it_is_reported_and_the_earlier_results_stay() {
    let mut data = Dataset::new();
    data.good_clips(2);
    let request = request(data.path());
    let before = data.prepare_as(&request).unwrap();
    // A line of the manifest has some 350 bytes; the limit is 1 or 2 KiB, as
    // the shell counts.
    data.good_clips(40);
    let script = "trap '' XFSZ; ulimit -f 2; exec \"$0\" \"$@\"";
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
    cannot write DATASET/myxtts/manifest.jsonl: File too large (os error 27)
      fix:   free some disk space, or give a writable folder with --prepared; what was already written stays valid
    ");
    let kept = myxtts_data::prepare::Manifest::open(&request.out).unwrap();
    let kept: Vec<_> = kept.map(Result::unwrap).collect();
    assert_eq!(kept, before.clips, "what was there before");
    let names = std::fs::read_dir(&request.out).unwrap();
    let left = names.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with(".unfinished-")
    });
    assert_eq!(left.count(), 0, "nothing half written is left");
    assert_eq!(data.prepare_as(&request).unwrap().clips.len(), 42);
}

/// Not a test of its own: what the test above runs under a limit.
#[test]
#[ignore = "run by the test above"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let request = request(std::path::Path::new(&folder));
    let error =
        myxtts_data::prepare::prepare(&request, &mut myxtts_data::prepare::unwatched).unwrap_err();
    println!("\nMESSAGE\n{error}\nEND");
}
