//! Keys and values of one sequence in one layer.

use crate::kernel::attention::Heads;

/// Keys and values so far, in room that was taken beforehand.
#[derive(Clone, Debug)]
pub struct LayerCache {
    /// `(heads, room, channels)` each.
    keys: Vec<f32>,
    values: Vec<f32>,
    heads: usize,
    channels: usize,
    room: usize,
    length: usize,
}

impl LayerCache {
    /// Empty, with room for so many positions; more are possible, for a copy.
    pub fn new(heads: usize, channels: usize, room: usize) -> Self {
        // Zeroed memory comes from the system page by page, when it is used.
        let size = heads * room * channels;
        Self {
            keys: vec![0.0; size],
            values: vec![0.0; size],
            heads,
            channels,
            room,
            length: 0,
        }
    }

    /// Positions it holds.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Forgets the positions from `length` on.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Room for `room` positions in all.
    pub fn reserve(&mut self, room: usize) {
        if room <= self.room {
            return;
        }
        let mut larger = Self::new(self.heads, self.channels, room);
        let (old, new) = (self.room * self.channels, room * self.channels);
        let held = self.length * self.channels;
        for (from, to) in [
            (&self.keys, &mut larger.keys),
            (&self.values, &mut larger.values),
        ] {
            let heads = from
                .chunks_exact(old.max(1))
                .zip(to.chunks_exact_mut(new.max(1)));
            for (from, to) in heads {
                to[..held].copy_from_slice(&from[..held]);
            }
        }
        larger.length = self.length;
        *self = larger;
    }

    /// Appends positions of `(queries | keys | values)`.
    pub(super) fn append(&mut self, qkv: &[f32]) {
        let width = self.heads * self.channels;
        let positions = qkv.len() / (3 * width).max(1);
        if self.length + positions > self.room {
            self.reserve((self.length + positions).max(2 * self.room));
        }
        for row in qkv.chunks_exact(3 * width) {
            let (_, kv) = row.split_at(width);
            let (key, value) = kv.split_at(width);
            for head in 0..self.heads {
                let from = head * self.channels..(head + 1) * self.channels;
                let at = (head * self.room + self.length) * self.channels;
                let to = at..at + self.channels;
                self.keys[to.clone()].copy_from_slice(&key[from.clone()]);
                self.values[to].copy_from_slice(&value[from]);
            }
            self.length += 1;
        }
    }

    /// The keys and the values of a head.
    pub(super) fn head(&self, head: usize) -> [&[f32]; 2] {
        let start = head * self.room * self.channels;
        let held = start..start + self.length * self.channels;
        [&self.keys[held.clone()], &self.values[held]]
    }

    /// The keys and the values, for many queries at once.
    pub(super) fn all(&self) -> [Heads<'_>; 2] {
        [&self.keys, &self.values].map(|data| Heads {
            data,
            start: 0,
            batch_stride: 0,
            head_stride: self.room * self.channels,
            row_stride: self.channels,
            column_stride: 1,
        })
    }
}
