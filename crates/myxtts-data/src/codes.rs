//! Codes of clips, kept from one epoch to the next.
//!
//! A frozen DVAE gives a clip the same codes in every epoch. An entry goes by
//! the recording's content, where in it the clip begins, the padded length
//! (convolutions see the padding) and a hash of everything that makes codes of a recording.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use myxtts_audio::units::Samples;
use myxtts_base::{report, splitmix64};

use crate::cache::{
    CacheError, CachedFeatures, Element, EntryKey, EntryShape, FeatureCache, Lookup,
};
use crate::host_stage::HostBatch;
use crate::schedule::{BucketShape, ClipIndex, Schedule};
use crate::units::Codes;

/// The hash of what makes codes of a recording: loading, mel and DVAE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodesSource([u8; 32]);

impl CodesSource {
    /// With a hash of everything that makes codes of a recording; who has a DVAE
    /// makes it.
    pub fn new(hash: [u8; 32]) -> Self {
        Self(hash)
    }

    /// Marks a cache's folder with this source, as that of its newest codes, and returns whether
    /// it bore the mark of another one. A damaged mark costs no more than counting the clips that
    /// have their codes.
    pub fn replaces(self, folder: &Path) -> io::Result<bool> {
        let mark = folder.join(MARK);
        let own = blake3::Hash::from(self.0).to_hex();
        let earlier = match fs::read(&mark) {
            Ok(earlier) => Some(earlier),
            Err(why) if why.kind() == io::ErrorKind::NotFound => None,
            Err(why) => return Err(why),
        };
        if earlier.as_deref() == Some(own.as_bytes()) {
            return Ok(false);
        }
        fs::write(mark, own.as_bytes())?;
        Ok(earlier.is_some())
    }
}

/// The file that names the source of the newest codes in a cache.
const MARK: &str = "codes-source";

/// The codes of clips that the DVAE has encoded before, in memory or on disk.
#[derive(Debug)]
pub struct CodesCache {
    contents: Vec<Option<[u8; 32]>>,
    source: CodesSource,
    store: Store,
    damaged: AtomicU64,
}

#[derive(Debug)]
enum Store {
    Memory(Mutex<HashMap<EntryKey, Vec<u16>>>),
    Disk(FeatureCache),
    /// Random codes of a codebook with this many entries.
    Drawn(u16),
}

/// Why codes could not be kept or read.
#[derive(Debug, thiserror::Error)]
pub enum CodesError {
    /// The file of an entry cannot be read.
    #[error(
        "{}",
        report!(
            "the cached codes of clip {} cannot be read: {why}", clip.0;
            fix: "make the cache folder readable, or set data.cache to memory or none"
        )
    )]
    Read {
        /// The clip whose codes it holds.
        clip: ClipIndex,
        /// What the file system reported.
        why: io::Error,
    },
    /// An entry cannot be written.
    #[error(transparent)]
    Write(#[from] CacheError),
}

impl CodesCache {
    /// Keeps codes in this process only, at two bytes a code. `contents` are the hashes of the
    /// clips by their index; clips without one are not cached.
    pub fn in_memory(contents: Vec<Option<[u8; 32]>>, source: CodesSource) -> Self {
        Self::new(contents, source, Store::Memory(Mutex::default()))
    }

    /// Keeps codes in a folder, for later runs as well.
    pub fn on_disk(
        contents: Vec<Option<[u8; 32]>>,
        source: CodesSource,
        cache: FeatureCache,
    ) -> Self {
        Self::new(contents, source, Store::Disk(cache))
    }

    /// Gives codes below `codes` that no DVAE made, drawn at random by clip and position. They
    /// are for measurements, in which their values do not matter.
    pub fn drawn(contents: Vec<Option<[u8; 32]>>, source: CodesSource, codes: u16) -> Self {
        Self::new(contents, source, Store::Drawn(codes.max(1)))
    }

    fn new(contents: Vec<Option<[u8; 32]>>, source: CodesSource, store: Store) -> Self {
        Self {
            contents,
            source,
            store,
            damaged: AtomicU64::new(0),
        }
    }

    /// Counts the damaged entries met so far; each is removed and made again.
    pub fn damaged(&self) -> u64 {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Counts the clips of a schedule that have no codes yet.
    pub fn missing(&self, schedule: &Schedule) -> Result<usize, CodesError> {
        let mut missing = 0;
        for step in 0..schedule.steps_per_epoch() {
            let replicas = (0..).map_while(|replica| schedule.batch(0, step, replica));
            for batch in replicas {
                for clip in batch.rows.iter().flatten() {
                    missing += usize::from(!self.has(*clip, batch.shape)?);
                }
            }
        }
        Ok(missing)
    }

    fn has(&self, clip: ClipIndex, shape: BucketShape) -> Result<bool, CodesError> {
        let Some(key) = self.key(clip, shape, Samples(0)) else {
            return Ok(false);
        };
        match &self.store {
            Store::Memory(entries) => {
                let entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(entries.contains_key(&key))
            }
            Store::Disk(cache) => {
                let found = cache.get(&key);
                let found = found.map_err(|why| CodesError::Read { clip, why })?;
                Ok(matches!(found, Lookup::Hit(_)))
            }
            Store::Drawn(_) => Ok(true),
        }
    }

    /// Fills `codes_bm` with the codes of every row, padded with zeros; `false` if a clip of the
    /// batch has none.
    pub fn read(&self, batch: &HostBatch, codes_bm: &mut Vec<i32>) -> Result<bool, CodesError> {
        let columns = batch.shape().audio.0 as usize;
        codes_bm.clear();
        codes_bm.resize(batch.rows() * columns, 0);
        for (((row, clip), length), first) in codes_bm
            .chunks_exact_mut(columns.max(1))
            .zip(batch.clips())
            .zip(batch.wave_lengths())
            .zip(batch.firsts())
        {
            let Some(clip) = clip else { continue };
            let length = Codes::of(*length).0 as usize;
            let Some(row) = row.get_mut(..length) else {
                return Ok(false);
            };
            if !self.read_row(*clip, batch.shape(), *first, row)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn read_row(
        &self,
        clip: ClipIndex,
        shape: BucketShape,
        first: Samples,
        row: &mut [i32],
    ) -> Result<bool, CodesError> {
        let Some(key) = self.key(clip, shape, first) else {
            return Ok(false);
        };
        match &self.store {
            Store::Drawn(codes) => {
                let places = row.iter_mut().zip(u64::from(clip.0) << 32..);
                for (code, place) in places {
                    let drawn = splitmix64(place) % u64::from(*codes);
                    *code = i32::try_from(drawn).unwrap_or_default();
                }
                Ok(true)
            }
            Store::Memory(entries) => {
                let entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(entries
                    .get(&key)
                    .is_some_and(|codes| copy(codes.iter().copied(), row)))
            }
            Store::Disk(cache) => {
                let found = cache.get(&key);
                match found.map_err(|why| CodesError::Read { clip, why })? {
                    Lookup::Hit(entry) => Ok(copy_entry(&entry, row)),
                    Lookup::Miss => Ok(false),
                    Lookup::Damaged(_) => {
                        self.damaged.fetch_add(1, Ordering::Relaxed);
                        Ok(false)
                    }
                }
            }
        }
    }

    /// Keeps the codes of every clip of a batch, without the padding.
    pub fn write(&self, batch: &HostBatch, codes_bm: &[i64]) -> Result<(), CodesError> {
        let columns = batch.shape().audio.0 as usize;
        for (((row, clip), length), first) in codes_bm
            .chunks_exact(columns.max(1))
            .zip(batch.clips())
            .zip(batch.wave_lengths())
            .zip(batch.firsts())
        {
            let Some(key) = clip.and_then(|clip| self.key(clip, batch.shape(), *first)) else {
                continue;
            };
            let Codes(length) = Codes::of(*length);
            let codes: Option<Vec<u16>> = row
                .iter()
                .take(length as usize)
                .map(|code| u16::try_from(*code).ok())
                .collect();
            // We have no codebook of more than 65536 entries; if we did, its codes would be made
            // again each time.
            let Some(codes) = codes else { continue };
            match &self.store {
                Store::Memory(entries) => {
                    let mut entries = entries.lock().unwrap_or_else(PoisonError::into_inner);
                    entries.insert(key, codes);
                }
                Store::Disk(cache) => {
                    let shape = EntryShape {
                        element: Element::U16,
                        rows: 1,
                        columns: length,
                    };
                    let bytes: Vec<u8> = codes.iter().flat_map(|code| code.to_le_bytes()).collect();
                    cache.put(&key, shape, &bytes)?;
                }
                Store::Drawn(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the key of a clip that begins at its sample `first`.
    fn key(&self, clip: ClipIndex, shape: BucketShape, first: Samples) -> Option<EntryKey> {
        let content = self.contents.get(clip.0 as usize)?.as_ref()?;
        let kind = match first {
            Samples(0) => format!("codes of {}", shape.audio.0),
            Samples(first) => format!("codes of {} from {first}", shape.audio.0),
        };
        Some(EntryKey::new(&kind, content, &self.source.0))
    }
}

fn copy_entry(entry: &CachedFeatures, row: &mut [i32]) -> bool {
    let (pairs, _) = entry.bytes().as_chunks::<2>();
    entry.shape().element == Element::U16
        && copy(pairs.iter().map(|pair| u16::from_le_bytes(*pair)), row)
}

/// Copies an entry into a row. One of another length belongs to another recording and is not a
/// hit.
fn copy(codes: impl ExactSizeIterator<Item = u16>, row: &mut [i32]) -> bool {
    let fits = codes.len() == row.len();
    if fits {
        for (to, code) in row.iter_mut().zip(codes) {
            *to = i32::from(code);
        }
    }
    fits
}
