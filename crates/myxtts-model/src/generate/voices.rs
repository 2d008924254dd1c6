//! Keeps voices that were heard before.
//!
//! A voice stands before the text, and attention looks back only, so its keys and values are the
//! same whatever is said. They are computed with the first text of a voice, and those of the
//! voices that spoke last are kept.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use myxtts_ops::inference::LayerCache;

/// Voices that are kept, enough for a server's usual clients. One of XTTS-v2 takes 8 MB.
const KEPT: usize = 16;

/// The keys and values of voices; clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Voices(Arc<Mutex<Vec<Kept>>>);

#[derive(Debug)]
struct Kept {
    latents: Vec<f32>,
    layers: Arc<Vec<LayerCache>>,
}

impl Voices {
    /// Returns the keys and values of a voice, in every layer.
    pub(super) fn get(&self, latents: &[f32]) -> Option<Arc<Vec<LayerCache>>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|kept| kept.latents == latents)?;
        // The voice that spoke last stands last.
        kept[at..].rotate_left(1);
        Some(kept.last()?.layers.clone())
    }

    /// Keeps a voice; the one that has been silent longest gives way.
    pub(super) fn keep(&self, latents: &[f32], layers: Vec<LayerCache>) {
        let mut kept = self.lock();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(Kept {
            latents: latents.to_vec(),
            layers: Arc::new(layers),
        });
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Kept>> {
        // A panic cannot leave it half changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_voices_that_spoke_last_are_kept() {
        let voices = Voices::default();
        let latents = |voice: usize| vec![voice as f32; 3];
        let layers = |voice: usize| vec![LayerCache::new(1, 1, voice + 1)];
        for voice in 0..KEPT {
            assert!(voices.get(&latents(voice)).is_none());
            voices.keep(&latents(voice), layers(voice));
        }
        assert!(voices.get(&latents(0)).is_some());
        voices.keep(&latents(KEPT), layers(KEPT));
        assert!(voices.get(&latents(0)).is_some());
        assert!(voices.get(&latents(1)).is_none());
        assert!(voices.clone().get(&latents(KEPT)).is_some());
        assert_eq!(voices.lock().len(), KEPT);
    }
}
