//! As much of protobuf's wire format as event files need, written field by field.
//! As in protobuf itself, a number that is zero is left out.

/// A message that is being built.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

/// How a field is stored.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
    Fixed32 = 5,
}

impl Message {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub(super) fn whole(mut self, field: u32, value: u64) -> Self {
        if value != 0 {
            self.key(field, Wire::Varint);
            self.varint(value);
        }
        self
    }

    pub(super) fn double(mut self, field: u32, value: f64) -> Self {
        if value.to_bits() != 0 {
            self.key(field, Wire::Fixed64);
            self.0.extend(value.to_le_bytes());
        }
        self
    }

    /// Adds a float, even when it is zero: a field that is one of several must be
    /// present.
    pub(super) fn float(mut self, field: u32, value: f32) -> Self {
        self.key(field, Wire::Fixed32);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn blob(mut self, field: u32, bytes: &[u8]) -> Self {
        self.key(field, Wire::Bytes);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    pub(super) fn doubles(self, field: u32, values: &[f64]) -> Self {
        let packed: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        self.blob(field, &packed)
    }

    pub(super) fn message(self, field: u32, message: &Self) -> Self {
        self.blob(field, &message.0)
    }

    fn key(&mut self, field: u32, wire: Wire) {
        self.varint(u64::from(field) << 3 | wire as u64);
    }

    fn varint(&mut self, mut value: u64) {
        loop {
            let [low, ..] = value.to_le_bytes();
            value >>= 7;
            if value == 0 {
                self.0.push(low & 0x7F);
                return;
            }
            self.0.push(low | 0x80);
        }
    }
}
