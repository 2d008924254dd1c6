//! Computes mels of waves, the fast way on any device.

use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::{MelError, MelFrontEnd, MelSpec};

use super::DeviceMel;

/// Moves values to a device.
pub trait Upload {
    /// Makes a tensor of `data` on the device.
    fn upload<const D: usize>(self, data: TensorData) -> Tensor<D>;
}

impl Upload for &Device {
    fn upload<const D: usize>(self, data: TensorData) -> Tensor<D> {
        Tensor::from_data(data, self)
    }
}

/// One mel front end; both variants give the same mels.
#[derive(Debug)]
pub enum Mels {
    /// On a GPU, with tensor operations.
    Device(Box<DeviceMel>),
    /// On the CPU, where the host's own front end takes a fifth of the time of tensor operations
    /// (`benchmarks/pipeline.md`).
    Host(Box<MelFrontEnd>),
}

impl Mels {
    /// Makes a front end for `device`, which may be one with gradients. `stats` divides each
    /// band.
    pub fn new(spec: MelSpec, stats: Option<&[f32]>, device: &Device) -> Result<Self, MelError> {
        Ok(if device.clone().inner() == Device::flex() {
            let stats = stats.map(<[f32]>::to_vec);
            Self::Host(Box::new(MelFrontEnd::new(spec, stats)?))
        } else {
            Self::Device(Box::new(DeviceMel::new(spec, stats, device)?))
        })
    }

    /// Computes mels `(batch, bands, frames)` of `rows` waves, one after the other, on the device
    /// that `to` uploads to.
    pub fn forward(
        &mut self,
        wave_bn: &[f32],
        rows: usize,
        to: impl Upload,
    ) -> Result<Tensor<3>, MelError> {
        let samples = wave_bn.len() / rows.max(1);
        match self {
            Self::Device(mel) => {
                let data = TensorData::new(wave_bn.to_vec(), [rows, samples]);
                mel.forward(to.upload(data))
            }
            Self::Host(front_end) => {
                let bands = front_end.spec().bands;
                let mut mel_bct = Vec::new();
                for wave_n in wave_bn.chunks_exact(samples.max(1)) {
                    mel_bct.extend_from_slice(&front_end.mel(wave_n)?.values);
                }
                let frames = mel_bct.len() / (rows * bands).max(1);
                let data = TensorData::new(mel_bct, [rows, bands, frames]);
                Ok(to.upload(data))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_give_the_same_mels() {
        let device = Device::flex();
        let (rows, samples) = (3, 4 * 1024);
        let wave_bn: Vec<f32> = (0_u16..3 * 4 * 1024)
            .map(|n| (f32::from(n) * 0.07).sin() * f32::from(n % 997) / 997.0)
            .collect();
        assert_eq!(wave_bn.len(), rows * samples);
        let stats: Vec<f32> = (0_u8..80)
            .map(|band| 1.0 + f32::from(band) / 40.0)
            .collect();
        for spec in [MelSpec::DVAE, MelSpec::CONDITIONING] {
            let mut host = Mels::new(spec, Some(&stats), &device).unwrap();
            assert!(matches!(host, Mels::Host(_)));
            let mel = DeviceMel::new(spec, Some(&stats), &device).unwrap();
            let mut tensors = Mels::Device(Box::new(mel));
            let ours = host.forward(&wave_bn, rows, &device).unwrap();
            let theirs = tensors.forward(&wave_bn, rows, &device).unwrap();
            assert_eq!(ours.dims(), [rows, 80, samples / 256 + 1]);
            assert_eq!(ours.dims(), theirs.dims());
            let apart: f32 = (ours - theirs).abs().max().into_scalar();
            assert!(apart < 1e-3, "{apart}");
        }
    }
}
