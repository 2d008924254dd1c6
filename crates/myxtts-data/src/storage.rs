//! How fast the recordings of a dataset can be read from storage.
//!
//! The files themselves are read twice: first after asking the system to drop them
//! from memory, then again. A first epoch reads them cold; later epochs read them
//! warm, as far as memory goes.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use myxtts_audio::Slowness;

/// The number of bytes that is enough for a measurement.
const ENOUGH: u64 = 64 << 20;
/// The number of files that is enough for a measurement.
const ENOUGH_FILES: usize = 400;
/// The share of cold bytes that must have come from the disk for the rate to count.
const FROM_DISK: f64 = 0.8;
/// The number of bytes read at a time.
const CHUNK: usize = 1 << 20;

/// What to read, and for how long.
#[derive(Clone, Debug)]
pub struct StorageRequest {
    /// The recordings; an even sample of them is read.
    pub files: Vec<PathBuf>,
    /// The number of threads that read at once.
    pub threads: usize,
    /// The most time spent on each of the two readings.
    pub at_most: Duration,
    /// A delay to inject, for tests.
    #[doc(hidden)]
    pub slowness: Slowness,
}

/// The rates that were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageRates {
    /// The number of files chosen.
    pub files: usize,
    /// The number of bytes of them read in the warm reading.
    pub bytes: u64,
    /// The bytes a second from the disk, or why that is not known.
    pub cold: Result<f64, String>,
    /// The bytes a second when the same files are read again.
    pub warm: f64,
}

/// Reads the files cold, then warm, and returns both rates.
///
/// # Errors
/// Fails if a file cannot be read or if there are no files.
pub fn storage(request: &StorageRequest) -> io::Result<StorageRates> {
    let chosen = chosen(&request.files)?;
    if chosen.is_empty() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            "there is no recording to read",
        ));
    }
    let cold = cold(request, &chosen)?;
    let (bytes, took) = read_all(request, &chosen)?;
    Ok(StorageRates {
        files: chosen.len(),
        bytes,
        cold,
        warm: rate(bytes, took),
    })
}

/// Chooses files from all over the dataset, so that reading may stop at any of
/// them: neighbouring files may lie together on the disk and be of one length.
fn chosen(files: &[PathBuf]) -> io::Result<Vec<&Path>> {
    let (mut chosen, mut bytes) = (vec![], 0);
    for file in spread(files.len()).take(ENOUGH_FILES) {
        if bytes >= ENOUGH {
            break;
        }
        let Some(file) = files.get(file) else { break };
        bytes += file.metadata()?.len();
        chosen.push(file.as_path());
    }
    Ok(chosen)
}

/// Yields every number below `count` once, the first few as far apart as possible:
/// steps of the golden section, modulo `count`.
fn spread(count: usize) -> impl Iterator<Item = usize> {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a part of a count"
    )]
    let golden = (count as f64 * GOLDEN) as usize;
    // With a common factor some numbers would come twice and others never.
    let step = (golden.max(1)..).find(|step| common_factor(*step, count) == 1);
    let step = step.unwrap_or(1);
    (0..count).scan(0, move |at, _| {
        let now = *at;
        *at = (*at + step) % count;
        Some(now)
    })
}

fn common_factor(a: usize, b: usize) -> usize {
    if b == 0 { a } else { common_factor(b, a % b) }
}

fn cold(request: &StorageRequest, chosen: &[&Path]) -> io::Result<Result<f64, String>> {
    if let Err(why) = chosen.iter().try_for_each(|file| forget(file)) {
        return Ok(Err(format!(
            "the system does not drop files from memory when asked to: {why}"
        )));
    }
    let before = bytes_from_disk();
    let (bytes, took) = read_all(request, chosen)?;
    // An injected delay applies to files in memory, too.
    let is_slowed = request.slowness.read.is_some();
    let from_disk = before
        .zip(bytes_from_disk())
        .map(|(then, now)| now.saturating_sub(then));
    Ok(match from_disk {
        _ if is_slowed => Ok(rate(bytes, took)),
        None => Err("the system does not report whether files come from the disk".to_owned()),
        Some(read) if (read as f64) < FROM_DISK * bytes as f64 => Err(format!(
            "the files stay in memory: {} of {} kB came from the disk",
            read / 1024,
            bytes / 1024
        )),
        Some(_) => Ok(rate(bytes, took)),
    })
}

/// Asks the system to drop a file from memory, after writing out what is not on the
/// disk yet.
#[cfg(target_os = "linux")]
fn forget(path: &Path) -> io::Result<()> {
    let file = File::open(path)?;
    file.sync_data()?;
    rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn forget(_: &Path) -> io::Result<()> {
    Err(io::Error::new(
        io::ErrorKind::Unsupported,
        "only Linux can be asked",
    ))
}

/// Returns the number of bytes this process has had from a disk so far, if the
/// system tells.
fn bytes_from_disk() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/io").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("read_bytes:"))?;
    line.trim().parse().ok()
}

/// Reads files until all are read or time is up; returns the bytes read and the time taken.
fn read_all(request: &StorageRequest, files: &[&Path]) -> io::Result<(u64, Duration)> {
    let (next, bytes) = (AtomicUsize::new(0), AtomicU64::new(0));
    let begin = Instant::now();
    let reader = || -> io::Result<()> {
        let mut chunk = vec![0; CHUNK];
        while begin.elapsed() < request.at_most {
            let Some(path) = files.get(next.fetch_add(1, Ordering::Relaxed)) else {
                break;
            };
            let mut file = File::open(path)?;
            loop {
                match file.read(&mut chunk)? {
                    0 => break,
                    read => bytes.fetch_add(read as u64, Ordering::Relaxed),
                };
            }
            if let Some(read) = &request.slowness.read {
                read();
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..request.threads.max(1))
            .map(|_| scope.spawn(reader))
            .collect();
        threads.into_iter().try_for_each(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a reader panicked")))
        })
    })?;
    Ok((bytes.into_inner(), begin.elapsed()))
}

fn rate(bytes: u64, took: Duration) -> f64 {
    bytes as f64 / took.as_secs_f64().max(1e-9)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn files(folder: &Path, count: usize, bytes: usize) -> Vec<PathBuf> {
        (0..count)
            .map(|number| {
                let path = folder.join(format!("{number}.wav"));
                std::fs::write(&path, vec![7_u8; bytes]).unwrap();
                path
            })
            .collect()
    }

    fn request(files: Vec<PathBuf>) -> StorageRequest {
        StorageRequest {
            files,
            threads: 2,
            at_most: Duration::from_secs(5),
            slowness: Slowness::default(),
        }
    }

    #[test]
    fn all_files_are_read_and_cold_is_cold_or_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let rates = storage(&request(files(folder.path(), 9, 50_000))).unwrap();
        assert_eq!((rates.files, rates.bytes), (9, 450_000));
        assert!(rates.warm > 0.0);
        match rates.cold {
            Ok(cold) => assert!(cold > 0.0),
            Err(why) => assert!(
                why.contains("the system") || why.contains("in memory"),
                "{why}"
            ),
        }
    }

    #[test]
    fn a_slow_disk_is_as_slow_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let nap = Duration::from_millis(20);
        let request = StorageRequest {
            threads: 1,
            slowness: Slowness {
                read: Some(Arc::new(move || std::thread::sleep(nap))),
                decodes: 0,
            },
            ..request(files(folder.path(), 5, 10_000))
        };
        let cold = storage(&request).unwrap().cold.unwrap();
        assert!(cold <= 10_000.0 / nap.as_secs_f64(), "{cold}");
        // Time that is up ends it.
        let request = StorageRequest {
            at_most: nap,
            ..request
        };
        let rates = storage(&request).unwrap();
        assert!(rates.bytes < 50_000, "{rates:?}");
    }

    #[test]
    fn every_file_is_visited_and_the_first_ones_are_from_all_over() {
        for count in [0, 1, 2, 3, 10, 48, 400, 1620] {
            let order: Vec<usize> = spread(count).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..count).collect::<Vec<_>>());
            // Of the first eight, one in each quarter at least.
            for quarter in 0..4 {
                let first = order.iter().take(8);
                let in_it = first.filter(|at| **at * 4 / count.max(1) == quarter);
                assert!(count < 8 || in_it.count() > 0, "{count}: {order:?}");
            }
        }
    }

    #[test]
    fn nothing_to_read_is_said() {
        assert!(storage(&request(vec![])).is_err());
        let gone = PathBuf::from("/nowhere/at/all.wav");
        assert_eq!(
            storage(&request(vec![gone])).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
