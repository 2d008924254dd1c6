//! How long the whole run will still take.
//!
//! The present stage is measured. A step of a later one is estimated to take longer in proportion
//! to its operations (see [`Work`]), and called `about` until it has steps of its own.

use std::time::{Duration, Instant};

use myxtts_model::dvae::DvaeConfig;
use myxtts_model::hifigan::HifiganConfig;
use myxtts_run::metrics::Line;
use myxtts_run::progress::Left;

use crate::config::StageName;

/// Steps after which a stage counts as measured.
const ENOUGH: u64 = 10;

/// How much work a step is, relative to those of other stages: operations of the forward and
/// backward pass, divided by how fast they run if those of the GPT run at 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Work(f64);

/// Operations of a weight: a multiplication and an addition, once forward and twice backward.
const OPERATIONS: f64 = 6.0;

/// Convolutions of few channels run slower than large products. Measured in default runs on two
/// cores (`benchmarks/pipeline.md`).
const DVAE_SPEED: f64 = 0.36;
const DECODER_SPEED: f64 = 0.17;

impl Work {
    /// Returns the work of a GPT step: all parameters at each position.
    pub(crate) fn gpt(parameters: usize, positions: f64) -> Self {
        Self(OPERATIONS * parameters as f64 * positions)
    }

    /// Returns the work of a DVAE step over `frames` frames.
    pub(crate) fn dvae(config: &DvaeConfig, frames: usize) -> Self {
        let DvaeConfig {
            channels,
            hidden,
            layers,
            resnet_blocks,
            kernel,
            codes,
            codebook_dim,
        } = *config;
        let width = |layer: usize| match layer {
            0 => channels,
            layer => hidden << (layer - 1),
        };
        let rate = |layer: usize| 0.5_f64.powi(i32::try_from(layer).unwrap_or(i32::MAX));
        // Each halving has one convolution, and so has each doubling.
        let scales = (1..=layers).map(|layer| {
            let product = (kernel * width(layer - 1) * width(layer)) as f64;
            product * (rate(layer) + rate(layer - 1))
        });
        let inner = width(layers);
        let blocks = 2 * resnet_blocks * (2 * kernel + 1) * inner * inner;
        let lowest = (blocks + 2 * inner * codebook_dim + codes * codebook_dim) as f64;
        let per_frame = scales.sum::<f64>() + lowest * rate(layers);
        Self(OPERATIONS * per_frame * frames as f64 / DVAE_SPEED)
    }

    /// Returns the work of a decoder step over `frames` frames: the generator counts twice, since
    /// it also runs for the discriminators.
    pub(crate) fn decoder(config: &HifiganConfig, frames: usize) -> Self {
        let taps: usize = config
            .resblock_kernels
            .iter()
            .zip(&config.resblock_dilations)
            .map(|(kernel, dilations)| 2 * kernel * dilations.len())
            .sum();
        let (mut rate, mut per_frame) = (1, 7 * config.latent_dim * config.channels);
        for (stage, (up, kernel)) in config
            .upsample_rates
            .iter()
            .zip(&config.upsample_kernels)
            .enumerate()
        {
            let width = config.channels >> (stage + 1);
            per_frame += rate * kernel * 2 * width * width;
            rate *= up;
            per_frame += rate * taps * width * width;
        }
        Self(2.0 * OPERATIONS * per_frame as f64 * frames as f64 / DECODER_SPEED)
    }
}

/// A stage of the run, as planned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StageEstimate {
    pub(crate) stage: StageName,
    /// Its steps, if it does not end early.
    pub(crate) steps: u64,
    /// The work of one step.
    pub(crate) work: Work,
}

/// What remains of the run.
#[derive(Debug, Default)]
pub(crate) struct RunEta {
    stage_estimates: Vec<StageEstimate>,
    /// Seconds of a step, for stages that an earlier session has trained.
    earlier: Vec<(StageName, f64)>,
    now: Option<Measuring>,
}

/// The stage that is being trained.
#[derive(Clone, Copy, Debug)]
struct Measuring {
    stage: StageName,
    since: Instant,
    steps: u64,
}

impl RunEta {
    /// Plans these stages; `lines` are what earlier sessions recorded.
    pub(crate) fn new(stage_estimates: Vec<StageEstimate>, lines: &[Line]) -> Self {
        let earlier = stage_estimates.iter().filter_map(|estimate| {
            let seconds = seconds_of_a_step(estimate.stage, lines)?;
            Some((estimate.stage, seconds))
        });
        Self {
            earlier: earlier.collect(),
            stage_estimates,
            now: None,
        }
    }

    /// Counts the steps of the stages after this one.
    pub(crate) fn steps_after(&self, stage: StageName) -> u64 {
        self.after(stage).map(|estimate| estimate.steps).sum()
    }

    /// Starts to measure a stage, at its first step of this session.
    pub(crate) fn begin(&mut self, stage: StageName, now: Instant) {
        self.now = Some(Measuring {
            stage,
            since: now,
            steps: 0,
        });
    }

    /// Counts a step of the stage, of which `left` remain, and returns the time that the run
    /// still takes, including pauses at the present rate.
    pub(crate) fn step(&mut self, left: u64, now: Instant) -> Option<Left> {
        let measuring = self.now.as_mut()?;
        measuring.steps += 1;
        let Measuring {
            stage,
            since,
            steps,
        } = *measuring;
        let own = now.saturating_duration_since(since).as_secs_f64() / steps as f64;
        let of_stage = |(known, _): &&(StageName, f64)| *known == stage;
        let earlier = self
            .earlier
            .iter()
            .find(of_stage)
            .map(|(_, seconds)| *seconds);
        let (seconds, is_measured) = match (steps >= ENOUGH, earlier) {
            (false, Some(earlier)) => (earlier, true),
            (is_enough, _) => (own, is_enough),
        };
        let work = self
            .stage_estimates
            .iter()
            .find(|estimate| estimate.stage == stage)?
            .work;
        let later: f64 = self
            .after(stage)
            .map(|estimate| estimate.steps as f64 * seconds * estimate.work.0 / work.0)
            .sum();
        let time = Duration::try_from_secs_f64(left as f64 * seconds + later).ok()?;
        Some(Left {
            time,
            is_about: !is_measured || later > 0.0,
        })
    }

    fn after(&self, stage: StageName) -> impl Iterator<Item = &StageEstimate> {
        let stage_estimates = self
            .stage_estimates
            .iter()
            .skip_while(move |estimate| estimate.stage != stage);
        stage_estimates.skip(1)
    }
}

/// Returns the mean seconds of a step of a stage, pauses included.
fn seconds_of_a_step(stage: StageName, lines: &[Line]) -> Option<f64> {
    let (mut steps, mut seconds) = (0_u32, 0.0);
    for line in lines {
        if line.text("stage").as_deref() != Some(stage.name()) {
            continue;
        }
        steps += u32::from(line.f64("step_s").is_some());
        let parts = ["step_s", "checkpoint_s", "validation_s", "samples_s"];
        seconds += parts.iter().filter_map(|part| line.f64(part)).sum::<f64>();
    }
    (u64::from(steps) >= ENOUGH).then(|| seconds / f64::from(steps))
}

#[cfg(test)]
mod tests {
    use myxtts_run::metrics::{MetricsWriter, Record, read};
    use myxtts_run::units::Step;

    use super::*;

    fn stage_estimates() -> Vec<StageEstimate> {
        let estimate = |stage, steps, work| StageEstimate {
            stage,
            steps,
            work: Work(work),
        };
        vec![
            estimate(StageName::Dvae, 100, 2.0),
            estimate(StageName::Gpt, 200, 5.0),
            estimate(StageName::Decoder, 50, 1.0),
        ]
    }

    fn after(eta: &mut RunEta, begin: Instant, steps: u32, each: f64, left: u64) -> (f64, bool) {
        let mut shown = None;
        for step in 1..=steps {
            let now = begin + Duration::from_secs_f64(each * f64::from(step));
            shown = eta.step(left, now);
        }
        let Left { time, is_about } = shown.unwrap();
        (time.as_secs_f64().round(), is_about)
    }

    #[test]
    fn later_stages_are_estimated_until_their_own_steps_are_there() {
        let mut eta = RunEta::new(stage_estimates(), &[]);
        let begin = Instant::now();
        assert_eq!(eta.step(100, begin), None);
        eta.begin(StageName::Dvae, begin);
        assert_eq!(eta.steps_after(StageName::Dvae), 250);
        // 80 of 2 s, 200 of 5 s, 50 of 1 s.
        assert_eq!(after(&mut eta, begin, 20, 2.0, 80), (1210.0, true));
        eta.begin(StageName::Gpt, begin);
        // The GPT is half as fast as was thought, and so is what comes then.
        assert_eq!(after(&mut eta, begin, 10, 10.0, 190), (2000.0, true));
        eta.begin(StageName::Decoder, begin);
        assert_eq!(after(&mut eta, begin, 4, 3.0, 46), (138.0, true));
        assert!(!after(&mut eta, begin, 6, 3.0, 40).1);
        assert_eq!(eta.steps_after(StageName::Decoder), 0);
    }

    /// A run that is resumed in its last stage knows from its first step on.
    #[test]
    fn a_resumed_run_takes_what_it_measured_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("metrics.jsonl");
        let (mut writer, _) = MetricsWriter::open(&path, None).unwrap();
        for step in 1..=20 {
            let line = Record::new(Step(step)).text("stage", "decoder");
            writer
                .append_at(&line.clone().f64("step_s", 1.5), 0.0)
                .unwrap();
            if step == 10 {
                writer
                    .append_at(&line.f64("checkpoint_s", 10.0), 0.0)
                    .unwrap();
            }
        }
        let lines = read(&path).unwrap();
        let mut eta = RunEta::new(stage_estimates(), &lines);
        let begin = Instant::now();
        eta.begin(StageName::Decoder, begin);
        assert_eq!(after(&mut eta, begin, 1, 60.0, 29), (58.0, false));
        // Its own steps count once there are enough.
        assert_eq!(after(&mut eta, begin, 19, 3.0, 10), (29.0, false));
    }

    /// Larger models and longer batches are more work.
    #[test]
    fn work_grows_with_sizes() {
        let dvae = |config: &DvaeConfig, frames| Work::dvae(config, frames).0;
        let (tiny, released) = (DvaeConfig::TINY, DvaeConfig::RELEASED);
        assert!(dvae(&released, 64) > 10.0 * dvae(&tiny, 64));
        assert!((dvae(&tiny, 128) / dvae(&tiny, 64) - 2.0).abs() < 1e-9);
        // By hand: 80 x 128 x 3 at half the rate and once, 128 x 256 x 3 at a
        // quarter and a half, then a quarter of 6 blocks of 7 taps at 256 x 256,
        // two ways to 128 and 512 codes of 128.
        let by_hand = 30_720.0 * 1.5 + 98_304.0 * 0.75;
        let lowest = 6.0 * 7.0 * 65_536.0 + 2.0 * 256.0 * 128.0 + 512.0 * 128.0;
        let by_hand = 6.0 * (by_hand + lowest / 4.0) * 64.0 / DVAE_SPEED;
        assert!((dvae(&tiny, 64) / by_hand - 1.0).abs() < 1e-9);
        let decoder = |config: &HifiganConfig| Work::decoder(config, 35).0;
        let small = HifiganConfig::tiny(64, 64);
        assert!(decoder(&HifiganConfig::released()) > 10.0 * decoder(&small));
    }
}
