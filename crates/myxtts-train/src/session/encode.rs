//! Makes the codes of every clip once, before a training (`myxtts prepare --encode`).

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_base::report;
use myxtts_data::config::CacheKind;
use myxtts_data::host_stage::{Clip, HostFeed, PreparedBatch};
use myxtts_pipeline::Ticket;
use myxtts_run::signals::StopRequest;

use super::initial_weights::InitialWeights;
use super::job::Job;
use super::request::TrainRequest;
use super::training_data::TrainingData;
use crate::error::{TrainError, unless_stopped};
use crate::faults::Faults;
use crate::feed::DeviceFeed;
use crate::stage::frozen::frozen_dvae;
use crate::stage::parts;

/// The result of encoding a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Encoded {
    /// Clips whose codes were made now.
    pub encoded: usize,
    /// Clips that had codes already.
    pub cached: usize,
    /// Messages for the user.
    pub notices: Vec<String>,
}

/// Fills the cache that a training on so many replicas reads, with
/// the DVAE of `weights`. `progress` is told of clips done, and of how many;
/// `stop` ends it between two batches.
///
/// Codes depend on the padded length, so they are made in the batches of the training's own
/// schedule.
pub fn encode(
    request: &TrainRequest,
    weights: &Path,
    device: &Device,
    replicas: u32,
    stop: &StopRequest,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Encoded, TrainError> {
    let job = &Job::of(request);
    check(job)?;
    let initial_weights = InitialWeights::init(weights, job)?;
    let dvae = initial_weights.dvae.as_ref();
    let dvae = dvae.ok_or_else(|| no_dvae(weights))?;
    let training_data = TrainingData::read(
        job,
        initial_weights.vocabulary.clone(),
        initial_weights.stats.clone(),
        stop,
    )?;
    let card = initial_weights.card.clone();
    let card = card.unwrap_or_else(|| parts::card_of(job, &training_data));
    let dvae = frozen_dvae(&card, dvae)?;
    let schedule = parts::schedule(job, &training_data, replicas, Some(&card))?;
    let schedule = Arc::new(schedule);
    let (codes, notice) = parts::codes_cache(job, &training_data, &dvae, &schedule)?;
    let spec = card.conditioning;
    let host = parts::host(
        job,
        &training_data,
        spec,
        Arc::clone(&schedule),
        codes.clone(),
    )?;
    let device_stage = parts::device_stage(
        &training_data,
        &dvae,
        card.quirks,
        codes,
        Arc::default(),
        Faults::default(),
    );
    let mut device_stage = device_stage(device).map_err(TrainError::failed)?;
    let mut done = Encoded {
        notices: initial_weights.notices.into_iter().chain(notice).collect(),
        ..Encoded::default()
    };
    let total = training_data.train.clips.len() as u64;
    let mut spare = None;
    for step in 0..schedule.steps_per_epoch() {
        for lane in 0..replicas as usize {
            // Stopping here is safe: every entry in the cache is complete.
            unless_stopped(stop)?;
            let ticket = Ticket { step, lane };
            let filled = encode_batch(&host, &mut device_stage, ticket, spare.take(), &mut done)?;
            progress((done.cached + done.encoded) as u64, total);
            spare = Some(filled);
        }
    }
    Ok(done)
}

/// Fills a batch, makes its codes unless the cache has them, and counts its clips in `done`.
/// Returns the filled batch, whose buffers the next one reuses.
fn encode_batch(
    host: &HostFeed<Arc<[Clip]>>,
    device_stage: &mut DeviceFeed,
    ticket: Ticket,
    spare: Option<PreparedBatch>,
    done: &mut Encoded,
) -> Result<PreparedBatch, TrainError> {
    let filled = host.prepare(ticket, spare).map_err(TrainError::failed)?;
    let clips = filled.batch.clips().iter().flatten().count();
    match filled.codes_bm() {
        Some(_) => done.cached += clips,
        None => {
            device_stage.batch(&filled).map_err(TrainError::failed)?;
            done.encoded += clips;
        }
    }
    Ok(filled)
}

fn no_dvae(weights: &Path) -> TrainError {
    TrainError::Usage(report!(
        "{} has no DVAE to encode with", weights.display();
        fix: "name a run, or weights that were imported with their dvae.pth"
    ))
}

/// Refuses jobs whose codes could not be kept, or would not be found again.
fn check(job: &Job) -> Result<(), TrainError> {
    if job.clips.cache != CacheKind::Disk {
        return Err(TrainError::Usage(report!(
            "--encode has nowhere to keep codes";
            found: "data.cache is not disk";
            fix: "--cache disk"
        )));
    }
    if !job.plan.static_shapes {
        return Err(TrainError::Usage(report!(
            "--encode needs static shapes";
            why: "a clip's codes depend on its padding, and without static shapes every batch \
                  pads it differently";
            fix: "set data.static_shapes to true, or leave --encode out"
        )));
    }
    Ok(())
}
