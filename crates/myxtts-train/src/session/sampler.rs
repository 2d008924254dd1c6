//! `devices.jsonl`: what the devices and the host do while a run trains.
//!
//! A thread looks every other second, for as long as the run takes. Readings depend on the driver
//! and must not disturb the training: what cannot be read is written with its reason, a card that
//! goes away is one that cannot be read, and a file that cannot be written ends the readings but
//! not the run.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use myxtts_device::telemetry::{HostReadings, HostTelemetry, Readings, Telemetry};
use myxtts_device::{Gpu, Reading};
use myxtts_run::FileError;
use myxtts_run::rotating::RotatingFile;
use myxtts_run::run_folder::RunLog;
use myxtts_run::units::Bytes;
use serde_json::{Value, json};

/// The time between two looks.
pub(crate) const EVERY: Duration = Duration::from_secs(2);

/// The largest size of the file: some six hours of a card.
const MOST: Bytes = Bytes(4 << 20);

/// A thread that reads devices until it is dropped.
#[derive(Debug)]
pub(crate) struct Sampler {
    /// Nothing is sent: dropping the sender ends the thread.
    running: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Sampler {
    /// Starts to write readings of `gpus`, by their number in the run.
    pub(crate) fn start<T: Telemetry>(
        path: PathBuf,
        gpus: Vec<(u32, Gpu)>,
        telemetry: impl FnOnce() -> T + Send + 'static,
        every: Duration,
        log: Arc<RunLog>,
    ) -> Result<Self, FileError> {
        let file = RotatingFile::open(path, MOST)?;
        let (running, is_over) = channel();
        let body = move || {
            // The driver's library is loaded here because that takes a while.
            let telemetry = telemetry();
            if let Err(why) = sample(file, &gpus, &telemetry, every, &is_over) {
                let _ = log.line(&format!("readings of the devices end here: {why}"));
            }
        };
        let thread = std::thread::Builder::new()
            .name("devices".to_owned())
            .spawn(body);
        Ok(Self {
            running: Some(running),
            // If no thread can be started, the run trains without readings.
            thread: thread.ok(),
        })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        drop(self.running.take());
        if let Some(thread) = self.thread.take() {
            // The thread catches panics of a driver's library, so it cannot fail.
            let _ = thread.join();
        }
    }
}

fn sample(
    mut file: RotatingFile,
    gpus: &[(u32, Gpu)],
    telemetry: &impl Telemetry,
    every: Duration,
    is_over: &Receiver<()>,
) -> Result<(), FileError> {
    let mut host = HostTelemetry::new();
    loop {
        let is_running = is_over.recv_timeout(every) == Err(RecvTimeoutError::Timeout);
        let devices: Vec<Value> = gpus
            .iter()
            .map(|(number, gpu)| device(*number, gpu, &read(telemetry, gpu)))
            .collect();
        let line = json!({
            "wall_time": wall_time(),
            "host": host_line(&host.read()),
            "devices": devices,
        });
        file.line(&line.to_string())?;
        if !is_running {
            return Ok(());
        }
    }
}

/// Reads a GPU. A driver that has lost its card may do anything, so panics are caught.
fn read(telemetry: &impl Telemetry, gpu: &Gpu) -> Readings {
    let read = catch_unwind(AssertUnwindSafe(|| telemetry.read(gpu)));
    read.unwrap_or_else(|_| Readings::unavailable("the driver's library panicked"))
}

fn wall_time() -> f64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = now.unwrap_or_default().as_millis();
    u64::try_from(millis).map_or(0.0, |millis| millis as f64 / 1e3)
}

fn host_line(now: &HostReadings) -> Value {
    json!({
        "cores": std::thread::available_parallelism().map_or(1, usize::from),
        "cpu_pct": field(&now.cpu_percent, |share| json!(tenths(*share))),
        "memory_mb": field(&now.memory_used_mb, |memory| json!(memory.0)),
        "memory_total_mb": field(&now.memory_total_mb, |memory| json!(memory.0)),
    })
}

fn device(number: u32, gpu: &Gpu, now: &Readings) -> Value {
    let number_of = |reading: &Reading<f64>| field(reading, |value| json!(tenths(*value)));
    let pcie = |part: fn(&myxtts_device::telemetry::PcieLink) -> u32| {
        field(&now.pcie, |link| json!(part(link)))
    };
    json!({
        "device": number,
        "name": gpu.name,
        "utilisation_pct": number_of(&now.busy_percent),
        "memory_used_mb": field(&now.memory_used_mb, |memory| json!(memory.0)),
        "memory_total_mb": field(&gpu.memory, |memory| json!(memory.0)),
        "power_w": number_of(&now.power_watts),
        "power_limit_w": number_of(&now.power_limit_watts),
        "temperature_c": number_of(&now.temperature_celsius),
        "clock_mhz": number_of(&now.clock_mhz),
        "clock_max_mhz": number_of(&now.clock_max_mhz),
        "throttle": field(&now.throttling, |reasons| json!(reasons)),
        "pcie_gen": pcie(|link| link.generation),
        "pcie_gen_max": pcie(|link| link.max_generation),
        "pcie_width": pcie(|link| link.width),
        "pcie_width_max": pcie(|link| link.max_width),
    })
}

/// Returns the value of a reading, or the reason why there is none.
fn field<T>(reading: &Reading<T>, value: impl FnOnce(&T) -> Value) -> Value {
    match reading {
        Reading::Value(read) => value(read),
        Reading::Unavailable(why) => json!({ "unavailable": why }),
    }
}

fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use myxtts_device::telemetry::PcieLink;
    use myxtts_device::{Machine, PlanRequest, discover};
    use myxtts_run::observer::Silent;

    use super::*;

    fn gpu() -> Gpu {
        let memory = PlanRequest::default().pipeline.data_gpu_memory;
        let machine = Machine::assume(discover::host(), 1, memory);
        machine.backends[0].gpus[0].clone()
    }

    /// A card that answers twice, then fails, then makes its library panic.
    struct Going(AtomicU32);

    impl Telemetry for Going {
        fn read(&self, gpu: &Gpu) -> Readings {
            match self.0.fetch_add(1, Ordering::SeqCst) {
                0 | 1 => Readings {
                    busy_percent: Reading::Value(37.04),
                    memory_used_mb: gpu.memory.clone(),
                    throttling: Reading::Value(vec!["sw_power_cap".to_owned()]),
                    pcie: Reading::Value(PcieLink {
                        generation: 3,
                        width: 8,
                        max_generation: 4,
                        max_width: 16,
                    }),
                    ..Readings::unavailable("no sensor")
                },
                2 => Readings::unavailable("NVML: the GPU is lost"),
                _ => panic!("no card"),
            }
        }
    }

    #[test]
    fn a_card_that_goes_away_is_one_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("devices.jsonl");
        let log = RunLog::open(&folder.path().join("train.log"), Arc::new(Silent)).unwrap();
        let going = || Going(AtomicU32::new(0));
        let every = Duration::from_millis(20);
        let sampler =
            Sampler::start(path.clone(), vec![(0, gpu())], going, every, Arc::new(log)).unwrap();
        let lines = || std::fs::read_to_string(&path).unwrap();
        while lines().lines().count() < 5 {
            std::thread::sleep(every);
        }
        drop(sampler);
        let count = lines().lines().count();
        std::thread::sleep(5 * every);
        assert_eq!(lines().lines().count(), count, "it ended with the run");
        let text = lines();
        let looks: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let shown = |look: &Value| serde_json::to_string_pretty(&look["devices"]).unwrap();
        insta::assert_snapshot!(shown(&looks[0]));
        let why = |look: &Value| look["devices"][0]["power_w"]["unavailable"].clone();
        assert_eq!(why(&looks[2]), "NVML: the GPU is lost");
        assert_eq!(why(&looks[4]), "the driver's library panicked");
        assert!(looks[4]["host"]["cpu_pct"].is_number());
        assert!(looks[0]["host"]["memory_mb"].is_number());
        assert!(looks[0]["wall_time"].as_f64().unwrap() > 1.7e9);
    }
}
