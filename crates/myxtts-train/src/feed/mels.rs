//! Waves into mels on the data device, the fast way there.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::{MelError, MelFrontEnd, MelSpec};
use myxtts_model::mel::DeviceMel;

/// One front end. Both ways give the same mels (`myxtts-model`'s tests compare
/// them).
#[derive(Debug)]
pub(super) enum Mels {
    /// On a GPU.
    Device(DeviceMel),
    /// Where the CPU is the data device: there the host's own front end takes a
    /// fifth of the time that tensor operations take
    /// (`benchmarks/pipeline.md`).
    Host(Box<MelFrontEnd>),
}

impl Mels {
    pub(super) fn new(
        spec: MelSpec,
        stats: Option<&[f32]>,
        device: &Device,
    ) -> Result<Self, MelError> {
        Ok(if device.clone().inner() == Device::flex() {
            let stats = stats.map(<[f32]>::to_vec);
            Self::Host(Box::new(MelFrontEnd::new(spec, stats)?))
        } else {
            Self::Device(DeviceMel::new(spec, stats, device)?)
        })
    }

    /// Mels `(batch, bands, frames)` of `rows` waves, one behind the other.
    pub(super) fn forward(
        &mut self,
        wave_bn: &[f32],
        rows: usize,
        device: &Device,
    ) -> Result<Tensor<3>, MelError> {
        let samples = wave_bn.len() / rows.max(1);
        match self {
            Self::Device(mel) => {
                let data = TensorData::new(wave_bn.to_vec(), [rows, samples]);
                mel.forward(Tensor::from_data(data, device))
            }
            Self::Host(front_end) => {
                let bands = front_end.spec().bands;
                let mut mel_bct = Vec::new();
                for wave_n in wave_bn.chunks_exact(samples.max(1)) {
                    mel_bct.extend_from_slice(&front_end.mel(wave_n)?.values);
                }
                let frames = mel_bct.len() / (rows * bands).max(1);
                let data = TensorData::new(mel_bct, [rows, bands, frames]);
                Ok(Tensor::from_data(data, device))
            }
        }
    }
}
