//! Waveforms in the feature cache, as the models see them: decoded, resampled,
//! trimmed, levelled. The key is the recording's content and everything that
//! shaped the waveform, so that a changed setting simply misses.

use std::path::Path;

use myxtts_audio::{AudioConfig, LoadError, Loader, Waveform};

use crate::cache::{CacheError, Element, EntryKey, EntryShape, FeatureCache, Lookup};

/// Raised when loading changes its arithmetic: entries of before must miss.
const VERSION: u8 = 1;
const KIND: &str = "waveform";

/// A cache of waveforms made under one configuration.
#[derive(Clone, Debug)]
pub struct WaveformCache {
    cache: FeatureCache,
    audio: AudioConfig,
    configuration: [u8; 32],
}

impl WaveformCache {
    /// Opens the cache in `folder` for waveforms made as `audio` says.
    pub fn open(folder: &Path, audio: &AudioConfig) -> Result<Self, CacheError> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&[VERSION]);
        // A configuration of numbers and words always has a JSON form.
        hasher.update(serde_json::to_string(audio).unwrap_or_default().as_bytes());
        Ok(Self {
            cache: FeatureCache::open(folder)?,
            audio: audio.clone(),
            configuration: *hasher.finalize().as_bytes(),
        })
    }

    /// The waveform of a recording with this content; `None` if it is not
    /// there, damaged (then it is removed) or cannot be read.
    pub fn get(&self, content: &[u8; 32]) -> Option<Waveform> {
        let Ok(Lookup::Hit(found)) = self.cache.get(&self.key(content)) else {
            return None;
        };
        if found.shape().element != Element::F32 || found.shape().rows != 1 {
            return None;
        }
        let samples = found
            .bytes()
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        Some(Waveform {
            samples: samples.collect(),
            rate: self.audio.sample_rate,
        })
    }

    /// Keeps a waveform, unless it is kept already.
    pub fn put(&self, content: &[u8; 32], waveform: &Waveform) -> Result<(), CacheError> {
        let key = self.key(content);
        if let Ok(Lookup::Hit(_)) = self.cache.get(&key) {
            return Ok(());
        }
        let payload: Vec<u8> = waveform
            .samples
            .iter()
            .flat_map(|sample| sample.to_le_bytes())
            .collect();
        let shape = EntryShape {
            element: Element::F32,
            rows: 1,
            columns: u32::try_from(waveform.samples.len()).unwrap_or(u32::MAX),
        };
        self.cache.put(&key, shape, &payload)
    }

    /// The waveform of a clip: from the cache, or loaded. What is loaded is not
    /// kept, because reading must work on a full disk too.
    pub fn load(
        &self,
        content: &[u8; 32],
        path: &Path,
        loader: &mut Loader,
    ) -> Result<Waveform, LoadError> {
        match self.get(content) {
            Some(waveform) => Ok(waveform),
            None => Ok(loader.load(path)?.waveform),
        }
    }

    fn key(&self, content: &[u8; 32]) -> EntryKey {
        EntryKey::new(KIND, content, &self.configuration)
    }
}
