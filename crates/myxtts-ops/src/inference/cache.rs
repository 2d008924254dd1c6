//! Keys and values of one sequence in one layer.

/// The keys and values so far, in room that was reserved beforehand.
#[derive(Clone, Debug)]
pub struct LayerCache {
    /// The keys, `(heads, room, channels)`; `values` has the same shape.
    keys: Vec<f32>,
    values: Vec<f32>,
    heads: usize,
    channels: usize,
    room: usize,
    length: usize,
}

impl LayerCache {
    /// Makes an empty cache with room for `room` positions; more cost a copy.
    pub fn new(heads: usize, channels: usize, room: usize) -> Self {
        // The system provides zeroed memory page by page, when it is used.
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

    /// Returns the number of positions held.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// Forgets the positions from `length` on.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Makes room for `room` positions in all.
    fn reserve(&mut self, room: usize) {
        if room > self.room {
            *self = self.beginning(self.length, room);
        }
    }

    /// Copies the first `length` positions, with room for `room`.
    #[must_use]
    pub fn beginning(&self, length: usize, room: usize) -> Self {
        let length = length.min(self.length);
        let mut copy = Self::new(self.heads, self.channels, room.max(length));
        let (old, new) = (self.room * self.channels, copy.room * self.channels);
        let held = length * self.channels;
        for (from, to) in [
            (&self.keys, &mut copy.keys),
            (&self.values, &mut copy.values),
        ] {
            let heads = from
                .chunks_exact(old.max(1))
                .zip(to.chunks_exact_mut(new.max(1)));
            for (from, to) in heads {
                to[..held].copy_from_slice(&from[..held]);
            }
        }
        copy.length = length;
        copy
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

    /// Returns the keys and the values of a head, at the first positions.
    pub(super) fn head(&self, head: usize, positions: usize) -> [&[f32]; 2] {
        let start = head * self.room * self.channels;
        let held = start..start + positions.min(self.length) * self.channels;
        [&self.keys[held.clone()], &self.values[held]]
    }
}
