//! Observes the steps of a probe, and ends it.

use std::rc::Weak;
use std::thread::sleep;
use std::time::{Duration, Instant};

use myxtts_audio::units::SampleRate;
use myxtts_device::{KernelUse, KernelWatch, Launches};
use myxtts_pipeline::{Pipeline, Start};

use super::subject::Steps;
use super::threads::{ThreadUse, Threads};
use super::{BatchSource, ProbeRequest, StepTiming};
use crate::error::TrainError;
use crate::stage::execute::StageObserver;
use crate::train_loop::{State, StepObserver, StepReport};

/// What a probe has observed so far.
pub(super) struct ProbeObserver<'a> {
    request: &'a ProbeRequest,
    steps: Steps,
    rate: SampleRate,
    begin: Instant,
    pipeline: Weak<Pipeline>,
    kernels: Option<KernelWatch>,
    /// Counts launches from the end of the warm-up on, if asked for.
    pub(super) launches: Option<Launches>,
    made_ready: Duration,
    start: Option<Start>,
    /// When the model started.
    started: Instant,
    /// When the last step and the pause after it ended.
    lap: Instant,
    /// The end of the warm-up, and what threads had used by then.
    warm: Option<(Instant, Option<Threads>)>,
    wall: Duration,
    threads: Option<ThreadUse>,
    timings: Vec<StepTiming>,
    loss: f32,
}

/// What a probe has observed in all.
pub(super) struct Observed {
    pub(super) steps: Vec<StepTiming>,
    pub(super) made_ready: Duration,
    pub(super) start: Start,
    pub(super) wall: Duration,
    pub(super) kernels: [usize; 2],
    pub(super) launches: Option<Vec<KernelUse>>,
    pub(super) threads: Option<ThreadUse>,
    pub(super) loss: f32,
}

impl<'a> ProbeObserver<'a> {
    pub(super) fn new(
        request: &'a ProbeRequest,
        steps: Steps,
        rate: SampleRate,
        kernels: Option<KernelWatch>,
        begin: Instant,
    ) -> Self {
        Self {
            request,
            steps,
            rate,
            begin,
            pipeline: Weak::new(),
            kernels,
            launches: None,
            made_ready: Duration::ZERO,
            start: None,
            started: begin,
            lap: begin,
            warm: None,
            wall: Duration::ZERO,
            threads: None,
            timings: vec![],
            loss: f32::NAN,
        }
    }

    pub(super) fn finish(self) -> Result<Observed, TrainError> {
        let Some(start) = self.start.filter(|_| !self.timings.is_empty()) else {
            return Err(TrainError::failed(
                "the training ended before a step was measured; this is a defect of the program",
            ));
        };
        Ok(Observed {
            steps: self.timings,
            made_ready: self.made_ready,
            start,
            wall: self.wall,
            kernels: self.kernels.map_or([0, 0], KernelWatch::finish),
            launches: self.launches.map(Launches::finish),
            threads: self.threads,
            loss: self.loss,
        })
    }

    /// Adjusts the steps to the batches that are ready. The model begins with those that wait for
    /// it; only those that follow are made while it works, and show how fast they are made. If
    /// all batches are made beforehand, there are as many steps as batches were made in time.
    fn settle_steps(&mut self, start: &Start) {
        let Steps {
            begin,
            accumulation,
            replicas,
            ..
        } = self.steps;
        match self.request.keep {
            BatchSource::Live => {
                let pipeline = self.pipeline.upgrade();
                let in_flight = pipeline.map_or(0, |pipeline| pipeline.in_flight().0) as u64;
                // Batches that workers are still filling are made while it works.
                let ready = in_flight.saturating_sub(self.steps.workers);
                let waiting = ready / (accumulation * replicas);
                self.steps.warm_up = self.steps.warm_up.max(waiting);
            }
            BatchSource::Cached => {
                let made = start.held as u64 / accumulation;
                let warm_up = self.steps.warm_up.min(made.saturating_sub(1));
                self.steps.warm_up = warm_up;
                self.steps.measured = self.steps.measured.min(made - warm_up);
            }
        }
        self.steps.end = begin + self.steps.warm_up + self.steps.measured;
    }

    /// Whether the warm-up is over. On a slow machine half of the time is for steps that count.
    fn is_warm(&self, step: u64) -> bool {
        let half = self.request.at_most / 2;
        step >= self.steps.begin + self.steps.warm_up || self.started.elapsed() >= half
    }

    /// Whether the probe is over. One step is measured however long it takes.
    fn is_over(&self, step: u64) -> bool {
        let is_late = self.started.elapsed() >= self.request.at_most;
        step >= self.steps.end || is_late && !self.timings.is_empty()
    }
}

impl<T> StepObserver<T> for ProbeObserver<'_> {
    /// At both ends of what is measured, so that it is whole steps, and where the probe pauses.
    fn looks_at(&self, step: u64) -> bool {
        let Steps { begin, warm_up, .. } = self.steps;
        let pause = self.request.faults.pause;
        step == begin + warm_up
            || step == self.steps.end
            || pause.is_some_and(|(every, _)| step.is_multiple_of(every.max(1)))
    }

    fn after_step(&mut self, report: &StepReport, _: &State<T>) -> Result<bool, TrainError> {
        let now = Instant::now();
        let step = now - std::mem::replace(&mut self.lap, now);
        self.loss = report.loss;
        self.request.listener.tell(&format!("step {}", report.step));
        let late = self.kernels.as_mut().and_then(KernelWatch::pause);
        if let Some(kernels) = &mut self.kernels {
            kernels.count();
        }
        match &self.warm {
            None if self.is_warm(report.step) => {
                self.warm = Some((now, Threads::now()));
                self.launches.as_ref().inspect(|launches| launches.begin());
            }
            None => {}
            Some((warm, threads)) => {
                let mut timing = StepTiming {
                    kernels_new: late.map(|late| late as u64),
                    ..StepTiming::of(report, step, self.rate)
                };
                if let Some((every, pause)) = self.request.faults.pause
                    && report.step.is_multiple_of(every.max(1))
                {
                    sleep(pause);
                    timing.pause = self.lap.elapsed();
                    self.lap = Instant::now();
                }
                self.timings.push(timing);
                self.wall = warm.elapsed();
                if self.is_over(report.step) {
                    self.launches.as_ref().inspect(|launches| launches.end());
                    let now = threads.as_ref().zip(Threads::now());
                    self.threads = now.map(|(then, now)| now.since(then));
                }
            }
        }
        Ok(self.is_over(report.step))
    }
}

impl<T> StageObserver<T> for ProbeObserver<'_> {
    fn started(&mut self, _: Duration, start: &Start, _: &State<T>) -> Result<bool, TrainError> {
        self.settle_steps(start);
        self.start = Some(*start);
        self.made_ready = self.begin.elapsed();
        self.started = Instant::now();
        self.lap = self.started;
        if self.steps.warm_up == 0 {
            self.warm = Some((self.started, Threads::now()));
            self.launches.as_ref().inspect(|launches| launches.begin());
        }
        Ok(false)
    }

    fn pipeline(&mut self, pipeline: Weak<Pipeline>) {
        self.request.listener.tell("making the first batches");
        self.pipeline = pipeline;
    }
}
