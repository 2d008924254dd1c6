//! What the waveform decoder learns from: latents of the GPT, and the sound
//! they should become.
//!
//! The GPT is frozen, so it belongs to the feed and not to the model that is
//! trained: its pass happens ahead of use, once and not once for each of the
//! two phases, and a batch that goes to another device is a second of sound in
//! place of whole clips.

use std::time::Duration;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{ResampleSpec, Resampler};
use myxtts_data::host_stage::{HostBatch, PreparedBatch};
use myxtts_data::schedule::Schedule;
use myxtts_data::units::Codes;
use myxtts_infer::VoiceVectors;
use myxtts_model::gpt::Gpt;
use myxtts_model::hifigan::HifiganConfig;
use myxtts_model::init::mix;
use myxtts_model::mel::Upload;
use myxtts_pipeline::{DeviceStage, Ticket};

use super::device::DeviceFeed;
use super::device_batch::{BatchStats, DeviceBatch};
use super::uploads::Uploads;
use crate::placement::arrived;

/// Segments of clips, on a device.
#[derive(Clone, Debug)]
pub struct DecoderBatch {
    /// The generator's input: teacher-forced latents at its frame rate,
    /// `(batch, channels, frames)`.
    pub frames_bct: Tensor<3>,
    /// The voices, `(batch, channels, 1)`.
    pub voice_bc1: Tensor<3>,
    /// The sound that the generator should make, `(batch, 1, samples)`.
    pub wave_b1t: Tensor<3>,
}

impl DecoderBatch {
    /// Moves the batch to another device.
    #[must_use]
    pub fn to_device(self, device: &Device) -> Self {
        Self {
            frames_bct: self.frames_bct.to_device(device),
            voice_bc1: self.voice_bc1.to_device(device),
            wave_b1t: self.wave_b1t.to_device(device),
        }
    }
}

/// Where a segment is cut from a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cut {
    row: usize,
    /// The first frame of the segment.
    frame: usize,
}

/// How segments are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutting {
    /// Frames of a segment; fewer where a whole bucket has fewer.
    pub frames: usize,
    /// Draws where a segment begins, together with the epoch and the clip.
    pub seed: u64,
    /// Steps of an epoch.
    pub steps_per_epoch: u64,
}

/// Makes batches of segments on one device.
#[derive(Debug)]
pub struct DecoderFeed {
    feed: DeviceFeed,
    gpt: Gpt,
    voices: VoiceVectors,
    config: HifiganConfig,
    cutting: Cutting,
    time: Time,
    resampler: Resampler,
    uploads: Uploads,
}

impl DecoderFeed {
    /// Makes a feed; both `feed` and `gpt` are on `device`.
    pub fn new(
        device: &Device,
        feed: DeviceFeed,
        gpt: Gpt,
        voices: VoiceVectors,
        config: &HifiganConfig,
        cutting: Cutting,
    ) -> Result<Self, String> {
        let rate = |hz: u32| SampleRate::new(hz).ok_or("a sample rate of 0 Hz");
        let (from, to) = (rate(config.input_rate)?, rate(config.output_rate)?);
        Ok(Self {
            feed,
            gpt: gpt.valid(),
            voices,
            time: Time::of(config),
            config: config.clone(),
            cutting,
            resampler: Resampler::new(from, to, ResampleSpec::KAISER_BEST),
            uploads: Uploads::to(device),
        })
    }

    /// Makes a segment of each clip of a batch, as drawn for `epoch`.
    pub fn batch(&mut self, filled: &PreparedBatch, epoch: u64) -> Result<DecoderBatch, String> {
        let host = &filled.batch;
        let rates = self.config.rates();
        let frames = rates.count(host.shape().audio.0 as usize);
        let frames = frames.min(self.cutting.frames).max(1);
        let cuts = self.cuts(host, frames, epoch);
        self.cut(filled, &cuts, frames)
    }

    /// Makes one segment of the whole first clip of a batch.
    pub fn whole(&mut self, filled: &PreparedBatch) -> Result<DecoderBatch, String> {
        let lengths = filled.batch.wave_lengths();
        let codes = lengths.first().map_or(0, |length| Codes::of(*length).0);
        let frames = self.config.rates().count(codes as usize).max(1);
        self.cut(filled, &[Cut { row: 0, frame: 0 }], frames)
    }

    /// Chooses where to cut. A row without a clip takes another segment of a clip in the batch:
    /// the shape stays, and no silence that nobody recorded is learned.
    fn cuts(&self, host: &HostBatch, frames: usize, epoch: u64) -> Vec<Cut> {
        let clips: Vec<(usize, u64)> = (0..)
            .zip(host.clips())
            .filter_map(|(row, clip)| Some((row, u64::from(clip.as_ref()?.0))))
            .collect();
        let copies = clips.iter().cycle().enumerate().take(host.rows());
        let mut cuts: Vec<Cut> = copies
            .map(|(index, (row, clip))| {
                let codes = host.wave_lengths().get(*row).map_or(0, |n| Codes::of(*n).0);
                let spare = self.config.rates().count(codes as usize);
                let places = spare.saturating_sub(frames) / self.time.frames + 1;
                let copy = (index / clips.len().max(1)) as u64;
                let draw = mix(self.cutting.seed ^ mix(epoch ^ mix(clip ^ mix(copy))));
                #[expect(clippy::cast_possible_truncation, reason = "below `places`")]
                let place = (draw % places as u64) as usize;
                Cut {
                    row: *row,
                    frame: place * self.time.frames,
                }
            })
            .collect();
        cuts.resize(host.rows(), Cut { row: 0, frame: 0 });
        cuts
    }

    fn cut(
        &mut self,
        filled: &PreparedBatch,
        cuts: &[Cut],
        frames: usize,
    ) -> Result<DecoderBatch, String> {
        let words = |why: &dyn std::fmt::Display| why.to_string();
        let host = &filled.batch;
        let batch = self.feed.batch(filled)?;
        let forced = self.gpt.teacher_forced(&batch).map_err(|why| words(&why))?;
        let waves: Vec<&[f32]> = host
            .wave_bn()
            .chunks_exact(host.samples_per_row().max(1))
            .zip(host.wave_lengths())
            .map(|(wave, length)| wave.get(..length.0).unwrap_or(wave))
            .collect();
        let voice_bc1 = self.voices.of(&waves, forced.voice_bnd);
        let voice_bc1 = voice_bc1.map_err(|why| words(&why))?;
        let all_bct = self.config.rates().frames(forced.latents_bmd);
        let mut sound = vec![];
        let (mut segments, mut voices) = (vec![], vec![]);
        for cut in cuts {
            let row_1ct = all_bct.clone().narrow(0, cut.row, 1);
            segments.push(row_1ct.narrow(2, cut.frame, frames));
            voices.push(voice_bc1.clone().narrow(0, cut.row, 1));
            let wave = waves.get(cut.row).copied().unwrap_or_default();
            sound.extend(
                self.time
                    .sound(wave, cut.frame, frames, &mut self.resampler),
            );
        }
        let samples = sound.len() / cuts.len().max(1);
        let data = TensorData::new(sound, [cuts.len(), 1, samples]);
        let batch = DecoderBatch {
            frames_bct: Tensor::cat(segments, 0),
            voice_bc1: Tensor::cat(voices, 0),
            wave_b1t: (&self.uploads).upload(data),
        };
        // The engine reports a failed operation to whoever reads its result.
        arrived(&batch.frames_bct)?;
        Ok(batch)
    }
}

impl DeviceStage for DecoderFeed {
    type Buffer = PreparedBatch;
    type Batch = DeviceBatch<DecoderBatch>;

    fn process(
        &mut self,
        ticket: Ticket,
        filled: &PreparedBatch,
    ) -> Result<DeviceBatch<DecoderBatch>, String> {
        let epoch = ticket.step / self.cutting.steps_per_epoch.max(1);
        let batch = self.batch(filled, epoch)?;
        let host = &filled.batch;
        let [rows, _, frames] = batch.frames_bct.dims();
        // Every row is a segment, unless there is no clip at all.
        let targets = match host.clips().iter().flatten().next() {
            Some(_) => rows,
            None => 0,
        };
        let mut stats = BatchStats::of(host, vec![targets]);
        stats.audio = Samples(targets * self.time.inputs(frames));
        stats.used = (targets * frames) as u64;
        stats.padded = (rows * frames) as u64;
        Ok(DeviceBatch { batch, stats })
    }

    fn bytes(&self, device_batch: &DeviceBatch<DecoderBatch>) -> u64 {
        let [rows, _, frames] = device_batch.batch.frames_bct.dims();
        segment_bytes(&self.config, rows, frames)
    }

    fn uploading(&mut self) -> Option<Duration> {
        let clips = self.feed.uploading()?;
        Some(clips + self.uploads.take_spent())
    }
}

/// Returns the bytes of the largest batch of segments.
pub(crate) fn largest_segments(
    schedule: &Schedule,
    config: &HifiganConfig,
    cutting: Cutting,
) -> u64 {
    let rows = schedule.shapes().map(|(_, rows)| rows as usize).max();
    segment_bytes(config, rows.unwrap_or(0), cutting.frames)
}

fn segment_bytes(config: &HifiganConfig, rows: usize, frames: usize) -> u64 {
    let row = (config.latent_dim + config.hop()) * frames + config.speaker_dim;
    (rows * row * size_of::<f32>()) as u64
}

/// How frames relate to samples of the recording.
///
/// A frame does not begin at a whole sample of the recording, except every few frames. Segments
/// begin there, so that resampling a segment gives the very samples that resampling the whole
/// clip would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Time {
    /// Frames between two such places.
    frames: usize,
    /// Samples of the recording between two such places.
    inputs: usize,
    hop: usize,
}

impl Time {
    fn of(config: &HifiganConfig) -> Self {
        let hop = config.hop();
        let (from, to) = (config.input_rate as usize, config.output_rate as usize);
        let common = greatest_common_divisor(hop * from, to);
        Self {
            frames: to / common,
            inputs: hop * from / common,
            hop,
        }
    }

    /// Returns the samples of the recording that `frames` frames span, rounded up.
    fn inputs(self, frames: usize) -> usize {
        (frames * self.inputs).div_ceil(self.frames)
    }

    /// Returns the sound of `frames` frames from `frame` on, which must be a multiple of
    /// `self.frames`; beyond the clip it is silence.
    fn sound(
        self,
        wave: &[f32],
        frame: usize,
        frames: usize,
        resampler: &mut Resampler,
    ) -> Vec<f32> {
        let start = frame / self.frames * self.inputs;
        // A margin of as much on both sides, for the filter to reach into.
        let margin = self.inputs;
        let length = self.inputs(frames) + 2 * margin;
        let heard: Vec<f32> = (start..start + length)
            .map(|at| at.checked_sub(margin).and_then(|at| wave.get(at)))
            .map(|sample| sample.copied().unwrap_or(0.0))
            .collect();
        let sound = resampler.process(&heard);
        let mut sound: Vec<f32> = sound
            .into_iter()
            .skip(self.frames * self.hop)
            .take(frames * self.hop)
            .collect();
        sound.resize(frames * self.hop, 0.0);
        sound
    }
}

fn greatest_common_divisor(a: usize, b: usize) -> usize {
    match b {
        0 => a.max(1),
        b => greatest_common_divisor(b, a % b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_cut_from_the_resampled_clip() {
        let config = HifiganConfig::released();
        let time = Time::of(&config);
        assert_eq!((time.frames, time.inputs), (5, 1176));
        let wave: Vec<f32> = (0_u16..20_000)
            .map(|n| (f32::from(n) * 0.11).sin() * f32::from(n % 777) / 777.0)
            .collect();
        let spec = ResampleSpec::KAISER_BEST;
        let mut resampler = Resampler::new(SampleRate::XTTS, SampleRate::VOCODER, spec);
        let whole = resampler.process(&wave);
        for (frame, frames) in [(0, 7), (5, 20), (40, 16), (75, 20)] {
            let sound = time.sound(&wave, frame, frames, &mut resampler);
            assert_eq!(sound.len(), frames * 256);
            for (index, sample) in sound.iter().enumerate() {
                let expected = whole.get(frame * 256 + index).copied();
                // The filter still rings a little behind the clip's end.
                let Some(expected) = expected else {
                    assert!(sample.abs() < 0.1, "{sample}");
                    continue;
                };
                assert!((sample - expected).abs() < 1e-5, "{frame} {index}");
            }
        }
    }
}
