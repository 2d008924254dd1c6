//! Replicas that hold the same weights.
//!
//! The all-reduce is [`AllReduce`]: numbers in, their mean over all replicas out, the same bits for
//! everybody. In one process that is a shared table; several machines need another implementation
//! of it and nothing else. GPUs that can average among themselves do so with gradients;
//! everything else that is shared is a few numbers, and goes through the all-reduce.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use burn::tensor::distributed::{ReduceOperation, all_reduce};
use burn::tensor::{Device, Tensor, TensorData};
use myxtts_base::report;
use myxtts_device::EngineError;

use super::meter::Meter;
use crate::optim::NamedGradients;

/// Another replica has stopped, so its part of the mean will never come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("another replica has stopped")]
pub struct PeerLost;

/// Averages numbers over all replicas.
pub(crate) trait AllReduce: Send + Sync + fmt::Debug {
    /// Counts the replicas that take part.
    fn world_size(&self) -> usize;

    /// Replaces `values` by their mean over all members. Every member must call it equally often
    /// and with equally many values; each call waits for the others.
    fn mean(&self, rank: usize, values: &mut [f32]) -> Result<(), PeerLost>;

    /// Releases the waiting members: this one will not call again.
    fn leave(&self);
}

/// Replicas that are threads of this process.
#[derive(Debug)]
pub(crate) struct ThreadGroup {
    world_size: usize,
    table: Mutex<Table>,
    turned: Condvar,
}

#[derive(Debug, Default)]
struct Table {
    /// Rounds completed so far.
    round: u64,
    parts: Vec<Option<Vec<f32>>>,
    mean: Vec<f32>,
    /// Members that have yet to take the mean of the last round.
    to_take: usize,
    peer_left: bool,
}

impl ThreadGroup {
    /// Makes a group of `world_size` threads.
    pub(crate) fn new(world_size: usize) -> Self {
        Self {
            world_size,
            table: Mutex::new(Table {
                parts: vec![None; world_size],
                ..Table::default()
            }),
            turned: Condvar::new(),
        }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, table: MutexGuard<'a, Table>) -> MutexGuard<'a, Table> {
        let waited = self.turned.wait(table);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

impl AllReduce for ThreadGroup {
    fn world_size(&self) -> usize {
        self.world_size
    }

    fn mean(&self, rank: usize, values: &mut [f32]) -> Result<(), PeerLost> {
        if self.world_size == 1 {
            return Ok(());
        }
        let mut table = self.table();
        // The slowest member may still be taking the mean of the last round.
        while table.to_take > 0 && !table.peer_left {
            table = self.wait(table);
        }
        if table.peer_left {
            return Err(PeerLost);
        }
        let round = table.round;
        if let Some(part) = table.parts.get_mut(rank) {
            *part = Some(values.to_vec());
        }
        if table.parts.iter().all(Option::is_some) {
            table.finish_round();
            self.turned.notify_all();
        }
        while table.round == round && !table.peer_left {
            table = self.wait(table);
        }
        if table.round == round {
            return Err(PeerLost);
        }
        values.copy_from_slice(&table.mean);
        table.to_take -= 1;
        if table.to_take == 0 {
            self.turned.notify_all();
        }
        Ok(())
    }

    fn leave(&self) {
        self.table().peer_left = true;
        self.turned.notify_all();
    }
}

impl Table {
    /// Adds the parts in the order of ranks, so that the sum does not depend on who came last.
    fn finish_round(&mut self) {
        let count = self.parts.len();
        let mut parts = self.parts.iter_mut().filter_map(Option::take);
        self.mean = parts.next().unwrap_or_default();
        for part in parts {
            for (sum, value) in self.mean.iter_mut().zip(part) {
                *sum += value;
            }
        }
        for value in &mut self.mean {
            *value /= count as f32;
        }
        self.round += 1;
        self.to_take = count;
    }
}

/// A group of which only one member exists. What is learned in it is thrown away, but numbers go
/// through the same code as in a training.
#[derive(Debug)]
struct DryRunGroup(usize);

impl AllReduce for DryRunGroup {
    fn world_size(&self) -> usize {
        self.0
    }

    fn mean(&self, _rank: usize, _values: &mut [f32]) -> Result<(), PeerLost> {
        Ok(())
    }

    fn leave(&self) {}
}

/// One replica's place in the group.
#[derive(Clone, Debug)]
pub struct Replica {
    /// The replica's number, from 0.
    pub(crate) rank: usize,
    /// The group that averages numbers.
    pub(crate) group: Arc<dyn AllReduce>,
    /// The devices of all members, if they average gradients themselves.
    pub(crate) collective: Option<Arc<[Device]>>,
    /// Counts what this replica waits for.
    pub(crate) meter: Arc<Meter>,
}

/// Numbers that travel together: enough that a round costs little beside its values, few enough
/// that some copies of them cost little memory.
const BUCKET: usize = 1 << 20;

impl Replica {
    /// Makes the member of a group with this rank.
    pub(crate) fn new(
        rank: usize,
        group: Arc<dyn AllReduce>,
        collective: Option<Arc<[Device]>>,
    ) -> Self {
        Self {
            rank,
            group,
            collective,
            meter: Arc::default(),
        }
    }

    /// Makes the only member of a group of one.
    pub fn alone() -> Self {
        Self::new(0, Arc::new(ThreadGroup::new(1)), None)
    }

    /// Makes a member that dry-runs what a group of `world_size` does.
    pub(crate) fn dry_run(world_size: usize) -> Self {
        Self::new(0, Arc::new(DryRunGroup(world_size)), None)
    }

    /// Counts the replicas of the group.
    pub(crate) fn world_size(&self) -> usize {
        self.group.world_size()
    }

    /// Averages a few numbers over all replicas.
    pub(crate) fn mean(&self, mut values: Vec<f32>) -> Result<Vec<f32>, PeerLost> {
        if self.world_size() > 1 {
            let mean = || self.group.mean(self.rank, &mut values);
            self.meter.in_all_reduce(mean)?;
        }
        Ok(values)
    }

    /// Averages gradients after the backward pass; reading the first of them waits for all that
    /// was queued before. They go from the last parameter to the first, so that every replica has
    /// the same buckets.
    pub(crate) fn mean_gradients(
        &self,
        gradients: NamedGradients,
    ) -> Result<NamedGradients, ReplicaError> {
        if self.world_size() == 1 {
            return Ok(gradients);
        }
        let mut names: Vec<String> = gradients.iter().map(|(name, _)| name.to_owned()).collect();
        names.sort_by(|a, b| order(b).cmp(&order(a)));
        match &self.collective {
            Some(devices) => {
                // The wait for the slowest replica is counted by `all_are_here` already.
                self.all_are_here()?;
                let mean = || self.mean_on_devices(gradients, names, devices);
                Ok(self.meter.in_all_reduce(mean))
            }
            None => self.mean_through_host(gradients, names),
        }
    }

    /// Queues all gradients before waiting for the first.
    fn mean_on_devices(
        &self,
        mut gradients: NamedGradients,
        names: Vec<String>,
        devices: &[Device],
    ) -> NamedGradients {
        let queued = names.into_iter().filter_map(|name| {
            let gradient_n = gradients.get(&name)?.clone();
            let mean_n = all_reduce(gradient_n, ReduceOperation::Mean, devices.to_vec());
            Some((name, mean_n))
        });
        for (name, mean_n) in queued.collect::<Vec<_>>() {
            gradients.replace(&name, mean_n.resolve());
        }
        gradients
    }

    /// Waits until all replicas have come. A device that waits for another waits forever, so none
    /// begins before the rest are there to follow.
    fn all_are_here(&self) -> Result<(), PeerLost> {
        self.mean(vec![]).map(|_| ())
    }

    /// Averages numbers whose mean is known, so that a broken link between GPUs is found before
    /// anything is learned over it.
    pub(crate) fn check_collective(&self, device: &Device) -> Result<(), ReplicaError> {
        let Some(devices) = &self.collective else {
            return Ok(());
        };
        self.all_are_here()?;
        let own_1 = Tensor::<1>::from_data([self.rank as f32 + 1.0], device);
        let mean_1 = all_reduce(own_1, ReduceOperation::Mean, devices.to_vec()).resolve();
        let mean = mean_1.try_into_vec_as::<f32>();
        let mean = mean.map_err(|why| ReplicaError::Collective {
            why: why.to_string(),
        })?;
        let expected = (self.world_size() as f32 + 1.0) / 2.0;
        match mean.first() {
            Some(mean) if (mean - expected).abs() < 1e-3 => Ok(()),
            found => Err(ReplicaError::Collective {
                why: format!(
                    "the mean of 1 to {} should be {expected} and is {found:?}",
                    self.world_size()
                ),
            }),
        }
    }

    /// Averages in buckets, each read, averaged and written back as one.
    fn mean_through_host(
        &self,
        mut gradients: NamedGradients,
        names: Vec<String>,
    ) -> Result<NamedGradients, ReplicaError> {
        let mut bucket: Vec<String> = vec![];
        let mut held = 0;
        for name in names {
            held += gradients
                .get(&name)
                .map_or(0, |gradient_n| gradient_n.dims()[0]);
            bucket.push(name);
            if held >= BUCKET {
                self.mean_bucket(&mut gradients, &bucket)?;
                bucket.clear();
                held = 0;
            }
        }
        self.mean_bucket(&mut gradients, &bucket)?;
        Ok(gradients)
    }

    fn mean_bucket(
        &self,
        gradients: &mut NamedGradients,
        names: &[String],
    ) -> Result<(), ReplicaError> {
        let held: Vec<Tensor<1>> = names
            .iter()
            .filter_map(|name| gradients.get(name).cloned())
            .collect();
        let Some(first) = held.first() else {
            return Ok(());
        };
        let device = first.device();
        let lengths: Vec<usize> = held.iter().map(|gradient_n| gradient_n.dims()[0]).collect();
        let read = || Tensor::cat(held, 0).try_into_vec_as::<f32>();
        let values = self.meter.reading_for_all_reduce(read);
        let values = values.map_err(|why| ReplicaError::Device(EngineError::new(why)))?;
        let values = self.mean(values)?;
        let count = values.len();
        let upload = || Tensor::<1>::from_data(TensorData::new(values, [count]), &device);
        let mean_n = self.meter.in_all_reduce(upload);
        let mut start = 0;
        for (name, length) in names.iter().zip(lengths) {
            gradients.replace(name, mean_n.clone().narrow(0, start, length));
            start += length;
        }
        Ok(())
    }
}

/// Orders names so that layer 10 comes after layer 9.
fn order(name: &str) -> Vec<(u8, u64, &str)> {
    name.split('.')
        .map(|part| match part.parse() {
            Ok(number) => (0, number, ""),
            Err(_) => (1, 0, part),
        })
        .collect()
}

/// The reasons for which gradients cannot be averaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplicaError {
    /// Another replica has stopped.
    #[error(transparent)]
    PeerLost(#[from] PeerLost),
    /// The gradients cannot be read from the device.
    #[error("the gradients could not be read from the device: {0}")]
    Device(EngineError),
    /// The GPUs cannot average among themselves.
    #[error("{}", report!(
        "NCCL does not average between these GPUs: {why}";
        fix: "--set training.collective=host averages through the host, which is slower"
    ))]
    Collective {
        /// What went wrong when it was tried.
        why: String,
    },
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn everybody_has_the_same_mean_in_every_round() {
        let group = Arc::new(ThreadGroup::new(3));
        let threads: Vec<_> = (0..3_u8)
            .map(|rank| {
                let group = Arc::clone(&group);
                std::thread::spawn(move || {
                    let mut all = vec![];
                    for round in 0..500_u16 {
                        let mut values = vec![f32::from(rank), f32::from(round)];
                        group.mean(usize::from(rank), &mut values).unwrap();
                        all.push(values);
                    }
                    all
                })
            })
            .collect();
        let expected: Vec<Vec<f32>> = (0..500_u16)
            .map(|round| vec![1.0, f32::from(round)])
            .collect();
        for thread in threads {
            assert_eq!(thread.join().unwrap(), expected);
        }
    }

    #[test]
    fn nobody_waits_for_a_member_that_left() {
        let group = Arc::new(ThreadGroup::new(2));
        let waiting = Arc::clone(&group);
        let thread = std::thread::spawn(move || waiting.mean(0, &mut [1.0]));
        std::thread::sleep(std::time::Duration::from_millis(20));
        group.leave();
        assert_eq!(thread.join().unwrap(), Err(PeerLost));
        assert_eq!(group.mean(1, &mut [1.0]), Err(PeerLost));
    }

    #[test]
    fn layers_are_ordered_by_number() {
        let mut names = ["gpt.h.10.w", "gpt.h.2.w", "mel_head.w", "a.w"];
        names.sort_by(|a, b| order(b).cmp(&order(a)));
        assert_eq!(names, ["mel_head.w", "gpt.h.10.w", "gpt.h.2.w", "a.w"]);
    }
}
