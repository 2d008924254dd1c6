//! The data device's part: turns a host batch into what the model trains on.

use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use burn::tensor::{Device, Int, Tensor};
use myxtts_audio::units::Samples;
use myxtts_audio::{MelError, MelSpec};
use myxtts_data::codes::CodesCache;
use myxtts_data::host_stage::{HostBatch, PreparedBatch};
use myxtts_data::schedule::{BucketShape, ConditioningSpec};
use myxtts_data::units::Codes;
use myxtts_device::{EngineError, check_for_oom};
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::{GptBatch, Quirks, RowLengths};
use myxtts_model::mel::Mels;
use myxtts_ops::on_side_pool;
use myxtts_pipeline::{DeviceStage, Ticket};

use super::device_batch::{BatchStats, DeviceBatch};
use super::shapes::{ShapeTracker, Shapes};
use super::uploads::Uploads;
use crate::error::TrainError;
use crate::faults::Faults;

/// The mel settings of a model.
#[derive(Clone, Debug)]
pub struct FrontEnd {
    /// The mel that codes are made from.
    pub codes: MelSpec,
    /// The mel that the model is conditioned on.
    pub conditioning: MelSpec,
    /// Divisors of each band, for both mels.
    pub stats: Option<Vec<f32>>,
}

impl FrontEnd {
    /// The mels of XTTS v2, without dividing the bands.
    pub const XTTS: Self = Self {
        codes: MelSpec::DVAE,
        conditioning: MelSpec::CONDITIONING,
        stats: None,
    };
}

/// Makes batches for the GPT on one device.
#[derive(Debug)]
pub struct DeviceFeed {
    device: Device,
    uploads: Uploads,
    dvae: Dvae,
    codes_mel: Mels,
    conditioning_mel: Mels,
    conditioning_spec: MelSpec,
    prompts: bool,
    quirks: Quirks,
    codes: Option<Arc<CodesCache>>,
    tracker: Arc<ShapeTracker>,
    faults: Faults,
}

impl DeviceFeed {
    /// Makes a feed on `device`, which must be the DVAE's. With `prompts`, batches say where
    /// their conditioning was cut, as training needs.
    pub fn new(
        device: &Device,
        dvae: Dvae,
        front_end: &FrontEnd,
        prompts: bool,
        tracker: Arc<ShapeTracker>,
    ) -> Result<Self, MelError> {
        let mel = |spec: MelSpec| Mels::new(spec, front_end.stats.as_deref(), device);
        Ok(Self {
            codes_mel: mel(front_end.codes)?,
            conditioning_mel: mel(front_end.conditioning)?,
            conditioning_spec: front_end.conditioning,
            device: device.clone(),
            uploads: Uploads::to(device),
            dvae,
            prompts,
            quirks: Quirks::default(),
            codes: None,
            tracker,
            faults: Faults::default(),
        })
    }

    /// Keeps the codes that the feed makes in a cache.
    pub fn keeping(mut self, codes: Option<Arc<CodesCache>>) -> Self {
        self.codes = codes;
        self
    }

    /// Counts targets as a model with these quirks does.
    #[must_use]
    pub fn with_quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// Injects the faults of the data device.
    #[must_use]
    pub(crate) fn with_faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Returns what the host knows about a batch.
    pub fn stats(&self, host: &HostBatch) -> BatchStats {
        let rows = host.wave_lengths().iter().zip(host.text_lengths());
        let rows: Vec<RowLengths> = rows
            .zip(host.segments())
            .map(|((wave, text), segment)| RowLengths {
                text: text.0 as usize,
                codes: Codes::of(*wave).0 as usize,
                prompt: self.prompts.then(|| {
                    let (start, length) = (segment.start.0, segment.length.0);
                    [start, start + length]
                }),
            })
            .collect();
        BatchStats::of(host, self.quirks.target_counts(&rows).to_vec())
    }

    /// Returns the frames of a batch's conditioning mel.
    pub(crate) fn conditioning_frames(&self, conditioning: ConditioningSpec) -> usize {
        let padded = conditioning.max.max(conditioning.min);
        self.conditioning_spec.frames(padded).0
    }

    /// Runs an empty batch of each shape, with its rows, before a step meets it.
    pub fn warm_up(
        &mut self,
        shapes: impl Iterator<Item = (BucketShape, u32)>,
        conditioning: ConditioningSpec,
    ) -> Result<(), String> {
        for (shape, rows) in shapes {
            let empty = || HostBatch::for_shape(shape, rows as usize, conditioning);
            self.batch(&PreparedBatch::new(empty()))?;
            // After the first epoch codes are read, not made.
            let codes = vec![0; rows as usize * shape.audio.0 as usize];
            self.batch(&PreparedBatch::with_codes(empty(), codes))?;
        }
        Ok(())
    }

    /// Makes a batch and waits until it is complete on the device.
    pub fn batch(&mut self, filled: &PreparedBatch) -> Result<GptBatch, String> {
        let host = &filled.batch;
        self.computed(filled).map_err(|why| match why {
            EngineError::OutOfMemory { line } => {
                let shapes = [(host.rows(), host.shape())];
                TrainError::out_of_memory("the data stage".to_owned(), &line, &shapes).to_string()
            }
            EngineError::Other { text } => text,
        })
    }

    fn computed(&mut self, filled: &PreparedBatch) -> Result<GptBatch, EngineError> {
        let host = &filled.batch;
        let (rows, columns) = (host.rows(), host.shape().audio.0 as usize);
        let lengths: Vec<i32> = host.wave_lengths().iter().map(|n| codes_of(*n)).collect();
        let code_lengths_b = self.int_1(lengths);
        self.uploads.delay(self.faults.upload);
        let codes_bm = match filled.codes_bm() {
            Some(codes) => self.int_2(codes.to_vec(), columns),
            None => self.encode(host, &code_lengths_b)?,
        };
        let text_lengths = host.text_lengths().iter().map(|n| n.0.cast_signed());
        let conditioning_bcs = self
            .conditioning_mel
            .forward(host.conditioning_bs(), rows, &self.uploads)
            .map_err(EngineError::new)?;
        let batch = GptBatch {
            text_bt: self.int_2(host.text_bt().to_vec(), host.tokens_per_row()),
            text_lengths_b: self.int_1(text_lengths.collect()),
            codes_bm,
            code_lengths_b,
            conditioning_bcs,
            prompts_b2: self.prompts.then(|| self.int_2(prompts(host), 2)),
        };
        self.finish(filled, &batch)?;
        self.tracker.see(Shapes::of(&batch));
        Ok(batch)
    }

    /// Encodes the waves, with zeros in the padding: whether codes came from here or from the
    /// cache must not show there.
    fn encode(
        &mut self,
        host: &HostBatch,
        lengths_b: &Tensor<1, Int>,
    ) -> Result<Tensor<2, Int>, EngineError> {
        let (rows, columns) = (host.rows(), host.shape().audio.0 as usize);
        let mel_bct = self
            .codes_mel
            .forward(host.wave_bn(), rows, &self.uploads)
            .map_err(EngineError::new)?;
        sleep(self.faults.encode);
        // A centred mel has one frame more than the wave has hops, and so one code too many.
        let codes_bm = self.dvae.encode(mel_bct).narrow(1, 0, columns);
        let position_bm = Tensor::<1, Int>::arange(0..columns as i64, &self.device)
            .reshape([1, columns])
            .expand([rows, columns]);
        let length_bm = lengths_b.clone().reshape([rows, 1]).expand([rows, columns]);
        Ok(codes_bm.mask_fill(position_bm.greater_equal(length_bm), 0))
    }

    /// Waits for the device, and keeps new codes. Values are read back because
    /// the engine reports a failed operation to whoever reads its result.
    fn finish(&self, filled: &PreparedBatch, batch: &GptBatch) -> Result<(), EngineError> {
        if filled.codes_bm().is_none() {
            let codes_bm = batch
                .codes_bm
                .clone()
                .try_into_data()
                .map_err(EngineError::new)?;
            // Codes that are kept on disk must be right, so check for a memory fault first.
            check_for_oom()?;
            if let Some(cache) = &self.codes {
                let codes_bm: Vec<i64> = codes_bm.iter::<i64>().collect();
                cache
                    .write(&filled.batch, &codes_bm)
                    .map_err(EngineError::new)?;
            }
        }
        let one = batch.conditioning_bcs.clone().slice([0..1, 0..1, 0..1]);
        one.try_into_data().map_err(EngineError::new)?;
        self.device.sync().map_err(EngineError::new)
    }

    fn int_1(&self, values: Vec<i32>) -> Tensor<1, Int> {
        let shape = [values.len()];
        self.uploads.integers(values, shape)
    }

    fn int_2(&self, values: Vec<i32>, columns: usize) -> Tensor<2, Int> {
        let shape = [values.len() / columns.max(1), columns];
        self.uploads.integers(values, shape)
    }
}

impl DeviceStage for DeviceFeed {
    type Buffer = PreparedBatch;
    type Batch = DeviceBatch<GptBatch>;

    fn process(
        &mut self,
        _ticket: Ticket,
        filled: &PreparedBatch,
    ) -> Result<DeviceBatch<GptBatch>, String> {
        // Time spent during a warm-up does not count for this batch.
        self.uploads.take_spent();
        let device = self.device.clone();
        Ok(DeviceBatch {
            batch: on_side_pool(&device, || self.batch(filled))?,
            stats: self.stats(&filled.batch),
        })
    }

    fn bytes(&self, device_batch: &DeviceBatch<GptBatch>) -> u64 {
        let [_, bands, _] = device_batch.batch.conditioning_bcs.dims();
        device_bytes(Shapes::of(&device_batch.batch), bands)
    }

    fn uploading(&mut self) -> Option<Duration> {
        Some(self.uploads.take_spent())
    }
}

/// Returns the bytes of a batch of these shapes.
pub(crate) fn device_bytes(shapes: Shapes, bands: usize) -> u64 {
    let Shapes {
        rows,
        text,
        codes,
        frames,
    } = shapes;
    // Tokens, codes, both lengths and the two ends of the prompt, then the mel.
    let integers = rows * (text + codes + 4);
    (integers * size_of::<i64>() + rows * bands * frames * size_of::<f32>()) as u64
}

fn codes_of(length: Samples) -> i32 {
    i32::try_from(Codes::of(length).0).unwrap_or(i32::MAX)
}

/// Returns `[start, end)` of each row's segment, in samples.
fn prompts(host: &HostBatch) -> Vec<i32> {
    let sample = |at: usize| i32::try_from(at).unwrap_or(i32::MAX);
    host.segments()
        .iter()
        .flat_map(|segment| {
            let (start, length) = (segment.start.0, segment.length.0);
            [sample(start), sample(start + length)]
        })
        .collect()
}
