//! Two devices against one: how many steps a second, and why.
//!
//! `LP_NUM_THREADS=1 cargo run --release --example devices -- gpu` measures on software GPUs,
//! each with one thread; `-- cpu` on the CPU backend with `RAYON_NUM_THREADS=1`, where the two
//! devices are two threads. Run it below `crates/`, whose `cubecl.toml` keeps tuning short.
//!
//! `-- feeds` measures the device stage alone on software GPUs: few kernels, soon compiled.
//!
//! The work is real: clips are decoded, the data device makes mels and codes with a DVAE (no
//! cache), the model device trains a GPT. One device, two of them split, and two mirrored take
//! turns in one process, so that all meet the same load of the machine.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    missing_docs,
    reason = "a measurement"
)]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::Path;
use std::rc::Weak;
use std::sync::Arc;
use std::time::{Duration, Instant};

use burn::module::Module;
use burn::tensor::Device;
use myxtts_audio::units::Samples;
use myxtts_audio::{AudioConfig, Limits};
use myxtts_data::dataset::{Corpus, train_vocabulary};
use myxtts_data::generated_corpus::generate;
use myxtts_data::host_stage::{Clip, HostFeed, HostStage, HostStageConfig, Segments};
use myxtts_data::layout::Split;
use myxtts_data::prepare::{self, Settings, prepare, unwatched};
use myxtts_data::schedule::{BucketShape, ConditioningSpec, Schedule};
use myxtts_device::discover::{discover, probe};
use myxtts_device::{PlanRequest, SoftwareGpus, open, plan};
use myxtts_model::conditioning::PerceiverConfig;
use myxtts_model::dvae::{Dvae, DvaeConfig};
use myxtts_model::gpt::{Gpt, GptConfig, Vocabulary};
use myxtts_model::init::Init;
use myxtts_pipeline::{Bounds, Knobs, Ledger, Pipeline, PipelineStage, Start, Summary, Ticket};
use myxtts_run::guard::{SpikeAction, SpikeSettings};
use myxtts_run::lr::{LrSchedule, Parts, Shape};
use myxtts_run::signals::StopRequest;
use myxtts_run::units::Step;
use myxtts_train::TrainError;
use myxtts_train::feed::{DeviceFeed, FrontEnd, LargestBatch, RingBytes, ShapeTracker, Targets};
use myxtts_train::objective::{GptObjective, GptObjectiveConfig};
use myxtts_train::optim::{AdamW, AdamWConfig};
use myxtts_train::placement::Placement;
use myxtts_train::stage::execute::{PrefetchConfig, StageObserver, StageRun, run_stage};
use myxtts_train::train_loop::{Guards, LoopConfig, LossScale, State, StepObserver, StepReport};

type Failed = Box<dyn std::error::Error>;

const CONDITIONING: ConditioningSpec = ConditioningSpec {
    min: Samples(11_025),
    max: Samples(11_025),
};
const KNOBS: Knobs = Knobs {
    workers: 1,
    in_flight: 6,
    ring_depth: 2,
};
/// Steps that compile kernels, allocate moments and fill rings.
const WARM_UP: u64 = 2;
/// Steps after those that are measured. A data device works ahead, so the last
/// steps of a run have no data to make: counted, they would flatter the device
/// that makes it beside the model's work.
const RUN_OUT: u64 = 4;

fn main() -> Result<(), Failed> {
    let mut arguments = std::env::args().skip(1);
    let place = arguments.next().ok_or("name `gpu`, `cpu` or `feeds`")?;
    let mut number = |default: usize| match arguments.next() {
        Some(text) => text.parse::<usize>(),
        None => Ok(default),
    };
    let (rounds, steps) = (number(3)?, number(12)?);
    let (hidden, channels, rows) = (number(64)?, number(64)?, number(2)?);
    let devices = match place.as_str() {
        "cpu" => [Device::flex(), Device::flex()],
        _ => software()?,
    };
    let folder = tempfile::tempdir()?;
    let world = World::new(folder.path(), hidden, channels, u32::try_from(rows)?)?;
    let cores = std::thread::available_parallelism()?;
    println!("{cores} cores, load {}", load());
    let [one, other] = devices;
    if place == "feeds" {
        return world.feeds([&one, &other], rounds, steps as u64);
    }
    let placements = [
        ("one", Placement::on(&one)),
        (
            "split",
            Placement {
                data: vec![other.clone()],
                has_hop: true,
                ..Placement::on(&one)
            },
        ),
        (
            "mirrored",
            Placement {
                data: vec![one.clone(), other.clone()],
                models: vec![one.clone(), other],
                shared_data_device: false,
                ..Placement::on(&one)
            },
        ),
    ];
    println!(
        "{rounds} rounds of {steps} steps, DVAE {hidden} wide, GPT 2 x {channels}, {rows} rows"
    );
    for round in 0..=rounds {
        let mut single = None;
        for (name, placement) in &placements {
            let run = world.run(placement, steps as u64)?;
            let replicas = placement.models.len() as f64;
            let speed = replicas / run.step_s;
            let ratio = speed / *single.get_or_insert(speed);
            let kind = if round == 0 { "compiles" } else { "measured" };
            println!(
                "{kind} {name:<9} {:>7.3} s/step {ratio:>5.2}x samples/s  busiest thread {:.3} s/step  \
                 CPU {:>4.0} % of a core  stolen {:>2.0} % of all cores  loss {:.4} .. {:.4}  {}  \
                 load {}",
                run.step_s,
                run.thread_s,
                run.cpu_percent,
                run.stolen_percent,
                run.losses.first().copied().unwrap_or(f32::NAN),
                run.losses.last().copied().unwrap_or(f32::NAN),
                busy(&run.summary),
                load()
            );
        }
    }
    Ok(())
}

/// Two software GPUs.
fn software() -> Result<[Device; 2], Failed> {
    if std::env::var("LP_NUM_THREADS").as_deref() != Ok("1") {
        return Err("set LP_NUM_THREADS=1: each device is to have one thread".into());
    }
    let mut request = PlanRequest::default();
    request.pipeline.data_gpu = Some(1);
    request.pipeline.model_gpu = Some(0);
    let machine = discover(SoftwareGpus::from_value(Some("2"))?, probe);
    let plan = plan(&request, &machine)?;
    let model = plan.model_devices.first().ok_or("no model device")?;
    Ok([open(model)?, open(&plan.data_device)?])
}

struct World {
    clips: Arc<[Clip]>,
    vocabulary: Arc<myxtts_text::Vocabulary>,
    schedules: [Arc<Schedule>; 2],
    dvae: Dvae,
    gpt: GptConfig,
}

/// What one placement did.
struct Run {
    step_s: f64,
    /// What the host of a shared machine took away meanwhile.
    stolen_percent: f64,
    /// Processor time of the busiest thread, a step.
    thread_s: f64,
    cpu_percent: f64,
    losses: Vec<f32>,
    summary: Summary,
}

impl World {
    fn new(folder: &Path, hidden: usize, channels: usize, rows: u32) -> Result<Self, Failed> {
        let (dataset, out) = (folder.join("dataset"), folder.join("prepared"));
        generate(&dataset, 8)?;
        let request = prepare::Request {
            dataset,
            out: out.clone(),
            vocabulary: None,
            next: vec![],
            workers: NonZeroUsize::MIN,
            settings: Settings {
                held_out_fraction: 0.0,
                ..Settings::default()
            },
        };
        prepare(&request, &mut unwatched)?;
        let vocabulary = train_vocabulary(&out)?;
        let corpus = Corpus::read(&out, Split::Train, &vocabulary)?;
        let longest = BucketShape {
            text: corpus
                .lengths
                .iter()
                .map(|l| l.text)
                .max()
                .unwrap_or_default(),
            audio: corpus
                .lengths
                .iter()
                .map(|l| l.audio)
                .max()
                .unwrap_or_default(),
        };
        let schedule = |replicas| {
            Schedule::new(&corpus.lengths, &[longest], rows, replicas, 0)
                .map(Arc::new)
                .map_err(|clip| format!("{clip:?} fits no bucket"))
        };
        let dvae = DvaeConfig {
            hidden,
            codes: 64,
            codebook_dim: hidden,
            resnet_blocks: 1,
            ..DvaeConfig::TINY
        };
        Ok(Self {
            schedules: [schedule(1)?, schedule(2)?],
            clips: corpus.clips.into(),
            dvae: Dvae::new(&Init::new(0, &Device::flex()), &dvae)?,
            gpt: GptConfig {
                layers: 2,
                channels,
                heads: 2,
                vocabulary: Vocabulary {
                    text_tokens: vocabulary.text_tokens(),
                    start_text: vocabulary.start(),
                    stop_text: vocabulary.stop(),
                    codes: 64,
                    ..Vocabulary::XTTS_V2
                },
                mel_bands: 80,
                encoder_blocks: 1,
                perceiver: PerceiverConfig {
                    latents: 8,
                    depth: 1,
                    heads: 2,
                    head_channels: 32,
                },
                dropout: 0.0,
                embedding_std: 0.02,
            },
            vocabulary: Arc::new(vocabulary),
        })
    }

    fn run(&self, placement: &Placement, steps: u64) -> Result<Run, Failed> {
        let schedule = match placement.models.len() {
            1 => &self.schedules[0],
            _ => &self.schedules[1],
        };
        let dvae = self.dvae.clone();
        let loop_config = LoopConfig {
            steps: WARM_UP + steps + RUN_OUT,
            accumulation: 1,
            lr_schedule: LrSchedule::new(Parts {
                base: 1e-4,
                warmup: Step(0),
                shape: Shape::Constant,
            })?,
            gradient_clip: 1.0,
            seed: 0,
            compare_every: 0,
            reads_late: true,
            faults: Default::default(),
        };
        let run = StageRun {
            placement,
            prefetch: PrefetchConfig {
                knobs: KNOBS,
                bounds: Bounds {
                    least: KNOBS,
                    most: KNOBS,
                },
                ring_bytes: RingBytes::default(),
                fill_target: 1,
                start_delay: Duration::from_secs(600),
            },
            largest: LargestBatch::of(schedule, CONDITIONING, &FrontEnd::XTTS.conditioning),
            host: HostFeed::new(self.stage(), Arc::clone(schedule), None)?,
            device_stage: Arc::new(move |device: &Device| {
                let tracker = Arc::new(ShapeTracker::default());
                let dvae = dvae.clone().to_device(device);
                DeviceFeed::new(device, dvae, &FrontEnd::XTTS, true, tracker)
                    .map_err(|why| why.to_string())
            }),
            state: |device: &Device| Ok(self.state(device)),
            loop_config: &loop_config,
            // Asked for where a step has several batches.
            targets: Targets::by(|_| vec![]),
            ledger: Ledger::in_memory(),
            stop: StopRequest::new(),
        };
        let mut clock = Clock::of(steps);
        let (_, outcome) = run_stage(run, &mut clock)?;
        let begun = clock.begun.ok_or("no step was taken")?;
        let ended = clock.ended.ok_or("no step was taken after the warm-up")?;
        let wall = ended.0 - begun.0;
        let cpu = ended.1 - begun.1;
        let cores = std::thread::available_parallelism()?.get() as f64;
        Ok(Run {
            step_s: wall.as_secs_f64() / steps as f64,
            stolen_percent: 100.0 * (ended.3 - begun.3) / wall.as_secs_f64() / cores,
            cpu_percent: 100.0 * cpu / wall.as_secs_f64(),
            thread_s: busiest(&begun.2, &ended.2) / steps as f64,
            losses: clock.losses,
            summary: outcome.summary,
        })
    }

    /// The device stage alone: on one device, then on both at once. Few kernels
    /// are compiled for it, and it shows whether two devices work side by side.
    fn feeds(&self, devices: [&Device; 2], rounds: usize, batches: u64) -> Result<(), Failed> {
        let host = HostFeed::new(self.stage(), Arc::clone(&self.schedules[0]), None)?;
        let filled = host.prepare(Ticket { step: 0, lane: 0 }, None)?;
        let work = |device: &Device, count: u64| -> Result<(), String> {
            let dvae = self.dvae.clone().to_device(device);
            let feed = DeviceFeed::new(device, dvae, &FrontEnd::XTTS, true, Arc::default());
            let mut feed = feed.map_err(|why| why.to_string())?;
            for _ in 0..count {
                feed.batch(&filled)?;
            }
            Ok(())
        };
        for device in devices {
            work(device, 2)?;
        }
        for _ in 0..rounds {
            let timed = |devices: &[&Device]| -> Result<(f64, f64, f64), String> {
                let (begin, before, cpu) = (Instant::now(), threads(), ticks("/proc/self/stat"));
                std::thread::scope(|scope| {
                    let all: Vec<_> = devices
                        .iter()
                        .map(|device| scope.spawn(|| work(device, batches)))
                        .collect();
                    all.into_iter().try_for_each(|thread| {
                        thread
                            .join()
                            .unwrap_or_else(|_| Err("a thread panicked".to_owned()))
                    })
                })?;
                let wall = begin.elapsed().as_secs_f64();
                Ok((
                    wall,
                    busiest(&before, &threads()),
                    ticks("/proc/self/stat") - cpu,
                ))
            };
            let (alone, both) = (timed(&devices[..1])?, timed(&devices)?);
            println!(
                "{batches} batches: one device {:.2} s (busiest thread {:.2} s, CPU {:.2} s), each of two \
                 {:.2} s (busiest {:.2} s, CPU {:.2} s): {:.2}x batches/s, {:.2}x by the busiest \
                 thread, load {}",
                alone.0,
                alone.1,
                alone.2,
                both.0,
                both.1,
                both.2,
                2.0 * alone.0 / both.0,
                2.0 * alone.1 / both.1,
                load()
            );
        }
        Ok(())
    }

    fn stage(&self) -> HostStage<Arc<[Clip]>> {
        HostStage::new(
            Arc::clone(&self.clips),
            Arc::clone(&self.vocabulary),
            HostStageConfig {
                audio: AudioConfig::default(),
                limits: Limits::default(),
                text: myxtts_text::CleanOptions::default(),
                conditioning: CONDITIONING,
                segments: Segments::Drawn { seed: 0 },
            },
        )
    }

    fn state(&self, device: &Device) -> State<GptObjective> {
        let gpt = Gpt::new(&Init::new(0, &device.clone().autodiff()), &self.gpt);
        let objective_config = GptObjectiveConfig::default();
        let guards = Guards {
            bad_steps: 0,
            spikes: SpikeSettings {
                window: 100,
                threshold: 6.0,
                action: SpikeAction::Log,
            },
            scale: LossScale::off(),
        };
        let optimizer = AdamW::new(AdamWConfig::default());
        State::new(
            GptObjective::new(gpt, objective_config),
            vec![optimizer],
            None,
            guards,
        )
    }
}

/// A time, and then the processor's time of the process, of its threads, and
/// what the host has taken from all cores.
type Mark = (Instant, f64, BTreeMap<String, f64>, f64);

/// When the steps after the warm-up began and ended, and the processor's time then.
struct Clock {
    /// The step that the measurement ends with.
    last: u64,
    begun: Option<Mark>,
    ended: Option<Mark>,
    losses: Vec<f32>,
}

impl Clock {
    fn of(steps: u64) -> Self {
        Self {
            last: WARM_UP + steps,
            begun: None,
            ended: None,
            losses: vec![],
        }
    }
}

impl StepObserver<GptObjective> for Clock {
    fn looks_at(&self, step: u64) -> bool {
        step == WARM_UP || step == self.last
    }

    fn after_step(
        &mut self,
        report: &StepReport,
        _: &State<GptObjective>,
    ) -> Result<bool, TrainError> {
        self.losses.push(report.loss);
        let now = Some((
            Instant::now(),
            ticks("/proc/self/stat"),
            threads(),
            stolen(),
        ));
        match report.step {
            WARM_UP => self.begun = now,
            step if step == self.last => self.ended = now,
            _ => {}
        }
        Ok(false)
    }
}

impl StageObserver<GptObjective> for Clock {
    fn started(
        &mut self,
        _: Duration,
        _: &Start,
        _: &State<GptObjective>,
    ) -> Result<bool, TrainError> {
        Ok(false)
    }

    fn pipeline(&mut self, _: Weak<Pipeline>) {}
}

/// Shares of the time that device and model stages worked, one thread's worth.
fn busy(summary: &Summary) -> String {
    let share = |stage: PipelineStage| {
        let report = summary.stages.iter().find(|report| report.stage == stage);
        report.map_or(0.0, |report| {
            let all = report.busy_s + report.wait_in_s + report.wait_out_s;
            100.0 * report.busy_s / all.max(1e-9)
        })
    };
    format!(
        "busy: data {:.0} %, model {:.0} %",
        share(PipelineStage::Device),
        share(PipelineStage::Model)
    )
}

/// User and system time that a `stat` file tells, in seconds.
fn ticks(path: &str) -> f64 {
    let line = std::fs::read_to_string(path).unwrap_or_default();
    let fields = line.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(2);
    ticks.filter_map(|t| t.parse::<f64>().ok()).sum::<f64>() / 100.0
}

/// Processor time by thread.
fn threads() -> BTreeMap<String, f64> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = entries
        .flatten()
        .map(|entry| entry.path().display().to_string());
    names
        .map(|name| (name.clone(), ticks(&format!("{name}/stat"))))
        .collect()
}

/// No step can be shorter than what its busiest thread computes, however
/// loaded the machine is: what a step takes when every thread has a core.
fn busiest(before: &BTreeMap<String, f64>, after: &BTreeMap<String, f64>) -> f64 {
    let spent = |(name, cpu): (&String, &f64)| cpu - before.get(name).unwrap_or(&0.0);
    after.iter().map(spent).fold(0.0, f64::max)
}

/// Seconds that the host has taken from all cores since the machine's start.
fn stolen() -> f64 {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks = text.split_whitespace().nth(8);
    ticks.and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0) / 100.0
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unavailable").to_owned()
}
