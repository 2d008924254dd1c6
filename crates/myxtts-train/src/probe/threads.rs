//! How much of the cores the threads of this process take.

use std::collections::BTreeMap;
use std::time::Duration;

use myxtts_base::process::ThreadTime;

/// Processor time between two moments, and time spent waiting for a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ThreadUse {
    /// Processor time of the threads that load recordings.
    pub loading: Duration,
    /// Processor time of all threads of the process.
    pub process: Duration,
    /// The longest time for which a thread outside the data side could have run but had no core.
    pub core_wait: Duration,
    /// How busy all cores were with everything, from 0 to 1; absent where the system does not
    /// report it.
    pub system: Option<f64>,
}

/// The name, processor time and wait for a core of each thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Threads {
    threads: BTreeMap<String, Thread>,
    cores: Option<Cores>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Thread {
    name: String,
    time: ThreadTime,
}

impl Threads {
    /// Reads all threads of the process; only Linux reports them.
    pub(super) fn now() -> Option<Self> {
        let tasks = std::fs::read_dir("/proc/self/task").ok()?;
        let threads: BTreeMap<String, Thread> = tasks
            .filter_map(|task| {
                let task = task.ok()?;
                let read = |file: &str| std::fs::read_to_string(task.path().join(file)).ok();
                let thread = Thread::parse(&read("comm")?, &read("schedstat")?)?;
                Some((task.file_name().into_string().ok()?, thread))
            })
            .collect();
        let cores = std::fs::read_to_string("/proc/stat").ok();
        let cores = cores.and_then(|stat| Cores::parse(&stat));
        (!threads.is_empty()).then_some(Self { threads, cores })
    }

    /// Returns what was used since `then`, by threads that still exist.
    pub(super) fn since(&self, then: &Self) -> ThreadUse {
        let mut used = ThreadUse {
            system: self
                .cores
                .zip(then.cores)
                .and_then(|(now, then)| now.busy_since(then)),
            ..ThreadUse::default()
        };
        for (id, now) in &self.threads {
            let before = then.threads.get(id).map(|thread| thread.time);
            let ThreadTime { ran, delayed } = now.time.since(before.unwrap_or_default());
            used.process += ran;
            match now.role() {
                Role::Loads => used.loading += ran,
                Role::Feeds => {}
                Role::Trains => used.core_wait = used.core_wait.max(delayed),
            }
        }
        used
    }
}

/// All cores together, in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cores {
    all: u64,
    idle: u64,
}

impl Cores {
    /// Parses a line of `cpu` and then user, nice, system, idle, waiting for a disk, and more.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Option<Vec<u64>> = line.split_whitespace().map(|t| t.parse().ok()).collect();
        let ticks = ticks?;
        Some(Self {
            // Time of guests is counted in user and nice already.
            all: ticks.iter().take(8).sum(),
            idle: ticks.get(3)? + ticks.get(4)?,
        })
    }

    fn busy_since(self, then: Self) -> Option<f64> {
        let all = self.all.checked_sub(then.all).filter(|all| *all > 0)?;
        let idle = self.idle.saturating_sub(then.idle);
        Some(1.0 - idle as f64 / all as f64)
    }
}

/// What a thread does.
enum Role {
    Loads,
    Feeds,
    Trains,
}

impl Thread {
    fn parse(comm: &str, schedstat: &str) -> Option<Self> {
        Some(Self {
            name: comm.trim().to_owned(),
            time: ThreadTime::parse(schedstat)?,
        })
    }

    /// Tells the role from the name: the pipeline names its threads after their stage.
    fn role(&self) -> Role {
        let of = |stage: &str| self.name.starts_with(stage);
        match () {
            () if of("host-") => Role::Loads,
            () if of("device-") || of("hop-") || of("ledger") => Role::Feeds,
            () => Role::Trains,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_told_apart_by_their_names() {
        let at = |host: u64, model: [u64; 2]| {
            let thread = |name: &str, ran: u64, waited: u64| {
                let millisecond = |n: u64| n * 1_000_000;
                let schedstat = format!("{} {} 7\n", millisecond(ran), millisecond(waited));
                Thread::parse(&format!("{name}\n"), &schedstat).unwrap()
            };
            let threads = [
                ("11", thread("host-0", host, 500)),
                ("12", thread("device-0", 2 * host, 500)),
                ("13", thread("myxtts", model[0], model[1])),
                ("14", thread("myxtts", 0, 1)),
            ];
            let stat = format!("cpu  {host} 0 0 {} 0 0 0 0 9 9\ncpu0 1\n", 3 * host);
            Threads {
                threads: threads.map(|(id, thread)| (id.to_owned(), thread)).into(),
                cores: Cores::parse(&stat),
            }
        };
        let used = at(30, [50, 25]).since(&at(10, [0, 5]));
        assert_eq!(
            used,
            ThreadUse {
                loading: Duration::from_millis(20),
                process: Duration::from_millis(20 + 40 + 50),
                core_wait: Duration::from_millis(20),
                system: Some(0.25),
            }
        );
        assert_eq!(Thread::parse("x", "1"), None);
    }
}
