//! Batches that are the same every time they are asked for.

use std::sync::Arc;

use burn::tensor::Device;
use myxtts_base::report;
use myxtts_data::dataset::Corpus;
use myxtts_data::host_stage::{Clip, PreparedBatch, Segments};
use myxtts_data::schedule::{
    Batch, BucketShape, ClipIndex, ClipLength, Companions, ConditioningSpec, Schedule,
    choose_buckets,
};
use myxtts_data::units::{Codes, Tokens};
use myxtts_run::signals::StopRequest;

use crate::error::{TrainError, unless_stopped};
use crate::feed::{SegmentBatch, SegmentFeed, segment_spec};
use crate::session::job::Job;
use crate::session::training_data::TrainingData;

/// Gives the first `most` clips that are not trained on, in batches; always the same ones.
pub(super) fn held_out(
    job: &Job,
    training_data: &TrainingData,
    conditioning: ConditioningSpec,
    most: usize,
    stop: &StopRequest,
    mut give: impl FnMut(PreparedBatch) -> Result<(), TrainError>,
) -> Result<(), TrainError> {
    let corpus = &training_data.validation;
    let some = corpus.clips.len().min(most);
    if some == 0 {
        return Ok(());
    }
    let (clips, lengths) = (&corpus.clips[..some], &corpus.lengths[..some]);
    let shapes = choose_buckets(lengths, job.buckets);
    let schedule = Schedule::new(lengths, &shapes, job.plan.batch_size, 1, 0)
        .map_err(|clip| TrainError::Failed(report!("clip {} fits no bucket", clip.0)))?;
    for step in 0..schedule.steps_per_epoch() {
        unless_stopped(stop)?;
        if let Some(batch) = schedule.batch(0, step, 0) {
            give(filled(
                training_data,
                clips,
                &batch,
                conditioning,
                training_data.validation_companions.clone(),
                Segments::Fixed,
            )?)?;
        }
    }
    Ok(())
}

/// Makes one batch of clips at once.
pub(super) fn filled(
    training_data: &TrainingData,
    clips: &[Clip],
    batch: &Batch,
    conditioning: ConditioningSpec,
    companions: Option<Arc<Companions>>,
    segments: Segments,
) -> Result<PreparedBatch, TrainError> {
    let stage = training_data.stage(clips, conditioning, segments);
    let stage = stage.conditioned_by(companions);
    let mut host = stage.buffer(batch);
    stage
        .fill(0, batch, &mut host, &mut stage.scratch())
        .map_err(TrainError::failed)?;
    Ok(PreparedBatch::new(host))
}

/// The number of segments to validate on, and of those to seed a codebook from.
const SOME: usize = 64;

/// Makes one segment of each of some clips, always the same ones.
pub(crate) fn fixed_segments(
    job: &Job,
    training_data: &TrainingData,
    corpus: &Corpus,
    device: &Device,
    segments: Segments,
) -> Result<Option<SegmentBatch>, TrainError> {
    let every = corpus.clips.len().div_ceil(SOME).max(1);
    let chosen: Vec<usize> = (0..corpus.clips.len()).step_by(every).collect();
    let clips: Vec<Clip> = chosen
        .iter()
        .filter_map(|index| corpus.clips.get(*index).cloned())
        .collect();
    if clips.is_empty() {
        return Ok(None);
    }
    let longest = |part: fn(&ClipLength) -> u32| corpus.lengths.iter().map(part).max().unwrap_or(1);
    let batch = Batch {
        bucket: 0,
        shape: BucketShape {
            text: Tokens(longest(|length| length.text.0)),
            audio: Codes(longest(|length| length.audio.0)),
        },
        rows: (0..u32::try_from(clips.len()).unwrap_or(u32::MAX))
            .map(|index| Some(ClipIndex(index)))
            .collect(),
    };
    let front_end = &training_data.front_end;
    let spec = segment_spec(job.segments.dvae_frames, &front_end.codes);
    let filled = filled(training_data, &clips, &batch, spec, None, segments)?;
    let feed = SegmentFeed::new(device, front_end, job.segments.dvae_frames);
    let batch = feed.map_err(TrainError::failed)?.batch(&filled.batch);
    batch.map(Some).map_err(TrainError::failed)
}
