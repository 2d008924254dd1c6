//! Which sizes fit the memory of the devices.
//!
//! A batch size nobody chose shrinks until it fits, and accumulation nobody chose
//! grows, so that a step still sees as many clips; a batch size somebody chose is
//! refused with the largest that fits.

use myxtts_base::report;
use myxtts_config::units::Megabytes;
use thiserror::Error;

use super::buffers::Buffers;
use super::devices::Devices as Chosen;
use super::memory::{DeviceMemory, LongestShape, MemoryNeeds, Share, Verdict, Workload};
use super::savings::Savings;
use super::{PlanError, PlanRequest, PlannedDevice, Record};
use crate::config::{MemoryCheck, Precision};
use crate::machine::Backend;

const BATCH_KEY: &str = "data.batch_size";
const ACCUMULATION_KEY: &str = "training.gradient_accumulation_steps";
/// The most that accumulation grows to on its own.
const MOST_ACCUMULATED: u32 = 256;
/// The fewest mel frames that are still useful advice for a shorter longest clip.
const LEAST_FRAMES: u32 = 64;

/// By the estimate the training needs more memory than a device has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", report!(
    "the training does not fit {device}";
    asked: "{asked}";
    found: "{found}";
    why: "it needs {needed}, by estimate: {needs}";
    fix: "{fix}; or `--set data.memory_check=warn` to try it as it is"
))]
pub struct TooLarge {
    device: String,
    asked: String,
    needed: Megabytes,
    needs: String,
    found: String,
    fix: String,
}

/// What the memory of devices decides: the rows of a batch, the batches of a step, and how memory
/// is saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizing {
    pub(super) batch_size: u32,
    pub(super) accumulation: u32,
    pub(super) savings: Savings,
}

/// A sizing that fits, and what it needs.
pub(super) struct Fitted {
    pub(super) sizing: Sizing,
    pub(super) memory: Vec<DeviceMemory>,
    pub(super) notices: Vec<String>,
}

/// The devices of a plan, as a workload is asked about them.
pub(super) struct Devices<'a> {
    data: &'a PlannedDevice,
    models: &'a [PlannedDevice],
    precision: Precision,
    ring: u32,
    in_flight: u32,
    host_ring: Megabytes,
}

/// Returns the sizes as asked for, or, where memory is checked, as they fit.
pub(super) fn fit(
    request: &PlanRequest,
    [batch_size, accumulation]: [u32; 2],
    check: MemoryCheck,
    devices: &Devices<'_>,
    record: &mut Record,
) -> Result<Fitted, PlanError> {
    let workload = request.workload.as_deref();
    let may_adapt = workload.is_some_and(Workload::may_adapt);
    let ways = Savings::ways(&request.strategy, may_adapt);
    let asked = Sizing {
        batch_size,
        accumulation,
        savings: ways[0],
    };
    let Some(workload) = workload else {
        return Ok(Fitted::new(asked, vec![]));
    };
    let question = Question {
        request,
        workload,
        devices,
        asked,
    };
    let as_asked = question.as_asked();
    match tightest(&as_asked) {
        None => Ok(Fitted::new(asked, as_asked)),
        Some(tight) => question.fit_saving(ways, tight, check, record),
    }
}

impl Fitted {
    fn new(sizing: Sizing, memory: Vec<DeviceMemory>) -> Self {
        Self {
            sizing,
            memory,
            notices: vec![],
        }
    }
}

/// The question of which sizes fit.
struct Question<'a> {
    request: &'a PlanRequest,
    workload: &'a dyn Workload,
    devices: &'a Devices<'a>,
    asked: Sizing,
}

impl Question<'_> {
    /// Finds sizes that fit where those that were asked for do not, in these ways of saving.
    fn fit_saving(
        &self,
        ways: [Savings; 4],
        tight: &DeviceMemory,
        check: MemoryCheck,
        record: &mut Record,
    ) -> Result<Fitted, PlanError> {
        let [first, exact, rounded, last] = self.useful(ways);
        let is_chosen = self.request.is_chosen(BATCH_KEY);
        let may_change = !is_chosen || self.request.strategy.allow_fallback;
        // A smaller batch is better than rounding, where the batch may be smaller.
        let whole = self.saving(match may_change || check == MemoryCheck::Warn {
            true => exact,
            false if self.saving(rounded).fits_as_asked() => rounded,
            false => last,
        });
        let mut fitted = Fitted::new(whole.asked, whole.as_asked());
        let Some(still_tight) = tightest(&fitted.memory).cloned() else {
            whole.asked.savings.tell(first, tight, record);
            return Ok(fitted);
        };
        if check == MemoryCheck::Warn {
            whole.asked.savings.tell(first, tight, record);
            fitted.notices.push(warning(&still_tight));
            return Ok(fitted);
        }
        let largest = |savings: Savings| self.saving(savings).largest_fitting();
        let settled = [exact, rounded, last].into_iter().find_map(largest);
        let Some(settled) = settled.filter(|_| may_change) else {
            let least = self.saving(last);
            let tight = tightest(&least.as_asked()).cloned();
            let tight = tight.unwrap_or(still_tight);
            let refusal = least.refusal(&tight, least.largest_fitting());
            return Err(PlanError::Memory(Box::new(refusal)));
        };
        settled.savings.tell(first, tight, record);
        let asked = self.saving(settled.savings).asked;
        tell_settled(settled, asked, is_chosen, &still_tight, record);
        Ok(Fitted::new(settled, self.needs(settled, None)))
    }

    /// Asks the same of a training that saves memory in this way.
    fn saving(&self, savings: Savings) -> Question<'_> {
        Question {
            asked: Sizing {
                savings,
                ..self.asked
            },
            ..*self
        }
    }

    /// Replaces a way that saves nothing by the one before it.
    fn useful(&self, [first, exact, rounded, last]: [Savings; 4]) -> [Savings; 4] {
        let needed = |savings: Savings| -> Vec<MemoryNeeds> {
            let needs = self.saving(savings).as_asked().into_iter();
            needs.map(|device| device.needs).collect()
        };
        let or_before = |savings: Savings, before: Savings| match needed(savings) == needed(before)
        {
            true => before,
            false => savings,
        };
        let exact = or_before(exact, first);
        let rounded = or_before(rounded, exact);
        [first, exact, rounded, or_before(last, rounded)]
    }

    fn as_asked(&self) -> Vec<DeviceMemory> {
        self.needs(self.asked, None)
    }

    fn needs(&self, sizing: Sizing, mel_frames: Option<u32>) -> Vec<DeviceMemory> {
        self.devices
            .needs(self.request, self.workload, sizing, mel_frames)
    }

    fn fits(&self, sizing: Sizing, mel_frames: Option<u32>) -> bool {
        tightest(&self.needs(sizing, mel_frames)).is_none()
    }

    fn fits_as_asked(&self) -> bool {
        self.fits(self.asked, None)
    }

    /// Returns the sizes of a smaller batch that is accumulated as often as was asked for.
    fn kept(&self, batch: u32) -> Sizing {
        Sizing {
            batch_size: batch,
            ..self.asked
        }
    }

    /// Returns the sizes of a smaller batch, with as many clips in a step as were asked for.
    fn spread(&self, batch: u32) -> Sizing {
        let Sizing {
            batch_size,
            accumulation,
            ..
        } = self.asked;
        let rows = u64::from(batch_size) * u64::from(accumulation);
        let steps = u32::try_from(rows.div_ceil(u64::from(batch))).unwrap_or(u32::MAX);
        let most = MOST_ACCUMULATED.max(accumulation);
        Sizing {
            accumulation: steps.clamp(accumulation, most),
            ..self.kept(batch)
        }
    }

    /// Returns the sizes of the largest batch that fits, if there is one.
    fn largest_fitting(&self) -> Option<Sizing> {
        let batch_size = self.asked.batch_size;
        // As many clips in a step as were asked for, where nobody chose how many
        // batches they come in.
        let spread_out = match self.request.is_chosen(ACCUMULATION_KEY) {
            true => None,
            false => largest(batch_size, |batch| self.fits(self.spread(batch), None))
                .map(|batch| self.spread(batch)),
        };
        // A second set of gradients may be what does not fit.
        let largest_kept = || {
            largest(batch_size, |batch| self.fits(self.kept(batch), None))
                .map(|batch| self.kept(batch))
        };
        spread_out.or_else(largest_kept)
    }

    /// Reports that the sizes do not fit, and what would.
    fn refusal(&self, tight: &DeviceMemory, largest_fitting: Option<Sizing>) -> TooLarge {
        let longest = self.workload.longest();
        let fix = match largest_fitting {
            Some(sizing) => largest_words(sizing, self.asked),
            None => {
                let one = self.needs(self.kept(1), None);
                let least = one.iter().map(|memory| memory.needed_mb).max();
                let shorter = shorter(longest, least, |frames| {
                    self.fits(self.kept(1), Some(frames))
                });
                match self.adapters_would_fit() {
                    Some(adapters) => format!("{adapters}; or {shorter}"),
                    None => shorter,
                }
            }
        };
        TooLarge {
            device: format!("{} ({})", tight.device, self.devices.name(tight)),
            needed: tight.needed_mb,
            asked: words(self.asked, longest),
            found: tight.found(),
            needs: tight.needs.to_string(),
            fix,
        }
    }
}

impl Question<'_> {
    /// Says how to train adapters, where nothing fits without them and something does with them.
    fn adapters_would_fit(&self) -> Option<String> {
        let adapted = self.saving(self.asked.savings.adapted());
        if self.asked.savings.adapters > 0 || adapted.largest_fitting().is_none() {
            return None;
        }
        let key = format!(
            "`--set training.adapters={}`",
            adapted.asked.savings.adapters
        );
        Some(match self.workload.may_adapt() {
            true => format!("{key} freezes the weights and trains adapters, which fits"),
            false => format!(
                "--stage gpt --init DIR with {key} trains adapters beside weights that are there, \
                 which fits"
            ),
        })
    }
}

fn warning(tight: &DeviceMemory) -> String {
    format!(
        "{} may run out of memory: {} MB are estimated for the {}, and it has {} \
         (data.memory_check is warn)",
        tight.device,
        tight.needed_mb.0,
        tight.work(),
        tight.found()
    )
}

fn largest_words(largest: Sizing, asked: Sizing) -> String {
    let batch = largest.batch_size;
    match largest.accumulation > asked.accumulation {
        true => format!(
            "--batch-size {batch} --grad-accum {} is the largest that fits",
            largest.accumulation
        ),
        false => format!("--batch-size {batch} is the largest that fits"),
    }
}

/// Records why the batch is not the one that was asked for.
fn tell_settled(
    settled: Sizing,
    asked: Sizing,
    is_chosen: bool,
    tight: &DeviceMemory,
    record: &mut Record,
) {
    let [batch, batch_size] = [settled, asked].map(|sizing| sizing.batch_size);
    let why = tight.lack();
    let accumulated = match settled.accumulation > asked.accumulation {
        true => format!(", accumulated {} times", settled.accumulation),
        false => String::new(),
    };
    match is_chosen {
        true => record.given_up.push(format!(
            "--batch-size {batch_size} was given up for {batch}{accumulated}: {why}"
        )),
        false => record.because(format!(
            "the batch is {batch}{accumulated}: with the start value {batch_size} {why}"
        )),
    }
}

fn words(asked: Sizing, longest: LongestShape) -> String {
    let accumulated = match asked.accumulation {
        1 => String::new(),
        steps => format!(", --grad-accum {steps}"),
    };
    format!(
        "--batch-size {}{accumulated}, clips of up to {} text tokens and {} mel frames",
        asked.batch_size, longest.text, longest.mel_frames
    )
}

/// Advises what to do where no batch size fits.
fn shorter(longest: LongestShape, least: Option<Megabytes>, fits: impl Fn(u32) -> bool) -> String {
    let frames = largest(longest.mel_frames, fits).filter(|frames| *frames >= LEAST_FRAMES);
    match (frames, least) {
        (Some(frames), _) => format!(
            "no batch size fits clips of that length: --batch-size 1 --max-mel-frames {frames} \
             does, or take a smaller --model-size"
        ),
        (None, Some(least)) => format!(
            "no batch size fits: take a smaller --model-size, or a device with {} MB for one clip",
            least.0
        ),
        (None, None) => "no batch size fits: take a smaller --model-size".to_owned(),
    }
}

/// Returns the largest number up to `most` for which `fits` holds, if there is
/// one. What is asked of a device grows with the number.
fn largest(most: u32, fits: impl Fn(u32) -> bool) -> Option<u32> {
    let (mut low, mut high) = (0, most.saturating_add(1));
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match fits(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    (low > 0).then_some(low)
}

/// Returns the device that lacks most memory, if any lacks some.
fn tightest(devices: &[DeviceMemory]) -> Option<&DeviceMemory> {
    let lacking = |device: &&DeviceMemory| device.verdict == Verdict::TooLarge;
    let lack = |device: &&DeviceMemory| {
        let memory = device.memory_mb.map_or(0, |memory| memory.0);
        device.needed_mb.0.saturating_sub(memory)
    };
    devices.iter().filter(lacking).max_by_key(lack)
}

impl<'a> Devices<'a> {
    /// Describes devices that were chosen, and what is to wait in their memory.
    pub(super) fn of(chosen: &'a Chosen<'_>, buffers: &Buffers, precision: Precision) -> Self {
        Self {
            data: &chosen.data,
            models: &chosen.models,
            precision,
            ring: buffers.ring_depth,
            in_flight: buffers.starts.in_flight,
            host_ring: buffers.host_bytes,
        }
    }

    fn name(&self, memory: &DeviceMemory) -> &str {
        let mut all = std::iter::once(self.data).chain(self.models);
        let found = all.find(|device| device.logical == memory.logical);
        found.map_or("", |device| device.name.as_str())
    }

    /// Returns what each device needs. A device that two budgets share is listed
    /// for each.
    fn needs(
        &self,
        request: &PlanRequest,
        workload: &dyn Workload,
        sizing: Sizing,
        mel_frames: Option<u32>,
    ) -> Vec<DeviceMemory> {
        let is_isolated = request.pipeline.enable_memory_isolation;
        let is_shared = |model: &PlannedDevice| model.logical == self.data.logical;
        // Mirrored replicas each make their own batches.
        let own_data = self.models.iter().any(is_shared);
        let of = |device: &PlannedDevice, trains: bool, prepares: bool| {
            let share = Share {
                trains,
                prepares,
                has_copies: prepares && !own_data,
                is_host: device.backend == Backend::Cpu,
                batch_size: sizing.batch_size,
                accumulation: sizing.accumulation,
                ring: self.ring.max(1),
                in_flight: self.in_flight,
                host_ring: self.host_ring,
                precision: self.precision,
                savings: sizing.savings,
                mel_frames,
            };
            DeviceMemory {
                device: device.label(),
                logical: device.logical,
                share,
                needs: MemoryNeeds::default(),
                needed_mb: Megabytes(0),
                memory_mb: device.memory_budget_mb,
                budget: is_isolated.then_some(match trains {
                    true => "--model-gpu-memory",
                    false => "--data-gpu-memory",
                }),
                verdict: Verdict::Unknown,
            }
            .needing(workload.needs(&share))
        };
        let mut all = vec![];
        if is_isolated || !own_data {
            all.push(of(self.data, false, true));
        }
        let models = self.models.iter();
        all.extend(models.map(|model| of(model, true, own_data && !is_isolated)));
        all
    }
}
