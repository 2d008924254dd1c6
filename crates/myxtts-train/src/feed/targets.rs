//! Counts the targets of a batch before it is made.
//!
//! A part of the loss is the mean over all its targets in a step, so a batch is weighted by those
//! of the whole step before its backward pass. The batches of a step are used one after the
//! other, and the last of many has not been made when the first is used: but the manifest knows
//! how long its clips are, and the schedule which they are and where their conditioning is cut.

use std::fmt;
use std::sync::Arc;

use myxtts_audio::units::Samples;
use myxtts_data::dataset::Corpus;
use myxtts_data::schedule::{
    Batch, Beginnings, ClipIndex, ClipLength, Companions, ConditioningSpec, Schedule,
};
use myxtts_data::units::Codes;
use myxtts_model::gpt::{Quirks, RowLengths};
use myxtts_pipeline::Ticket;

/// The targets of each part of a batch's loss, by its ticket.
#[derive(Clone)]
pub struct Targets(Arc<dyn Fn(Ticket) -> Vec<usize> + Send + Sync>);

impl Targets {
    /// Counts with a function of the ticket alone.
    pub fn by(count: impl Fn(Ticket) -> Vec<usize> + Send + Sync + 'static) -> Self {
        Self(Arc::new(count))
    }

    /// Counts for the GPT: text tokens and codes, less those that its conditioning hides. A clip
    /// with a companion is conditioned on that companion, which hides none.
    pub fn of_gpt(
        schedule: &Arc<Schedule>,
        corpus: &Corpus,
        conditioning: ConditioningSpec,
        companions: Option<Arc<Companions>>,
        beginnings: Beginnings,
        seed: u64,
        quirks: Quirks,
    ) -> Self {
        let lengths: Arc<[ClipLength]> = corpus.lengths.as_slice().into();
        let samples: Arc<[Samples]> = corpus.samples.as_slice().into();
        Self::of(schedule, move |epoch, batch| {
            let row = |clip: &Option<ClipIndex>| {
                let Some((clip, index)) = clip.map(|clip| (clip, clip.0 as usize)) else {
                    return NOTHING;
                };
                let wave = samples.get(index).copied().unwrap_or(Samples(0));
                let first = beginnings.drawn(clip, wave, seed, epoch);
                let wave = Samples(wave.0 - first.0);
                let is_own = companions.as_ref().is_none_or(|known| !known.has(clip));
                let cut = conditioning.segment(clip, wave, seed, epoch);
                RowLengths {
                    text: lengths
                        .get(index)
                        .map_or(0, |length| length.text.0 as usize),
                    codes: Codes::of(wave).0 as usize,
                    prompt: is_own.then(|| [cut.start.0, cut.start.0 + cut.length.0]),
                }
            };
            let rows: Vec<RowLengths> = batch.rows.iter().map(row).collect();
            quirks.target_counts(&rows).to_vec()
        })
    }

    /// Counts for the DVAE: one segment of each clip.
    pub fn of_segments(schedule: &Arc<Schedule>) -> Self {
        Self::of(schedule, |_, batch| {
            vec![batch.rows.iter().flatten().count()]
        })
    }

    /// Counts for the decoder: every row is a segment, unless the batch has no clip.
    pub(crate) fn of_rows(schedule: &Arc<Schedule>) -> Self {
        Self::of(schedule, |_, batch| {
            vec![match batch.rows.iter().flatten().next() {
                Some(_) => batch.rows.len(),
                None => 0,
            }]
        })
    }

    fn of(
        schedule: &Arc<Schedule>,
        count: impl Fn(u64, &Batch) -> Vec<usize> + Send + Sync + 'static,
    ) -> Self {
        let schedule = Arc::clone(schedule);
        Self::by(move |ticket| {
            let steps = schedule.steps_per_epoch().max(1);
            let (epoch, step) = (ticket.step / steps, ticket.step % steps);
            let replica = u32::try_from(ticket.lane).unwrap_or(u32::MAX);
            let batch = schedule.batch(epoch, step, replica);
            batch.map_or(vec![], |batch| count(epoch, &batch))
        })
    }

    /// Returns the targets of one batch, for each part of the loss.
    pub fn of_batch(&self, ticket: Ticket) -> Vec<usize> {
        (self.0)(ticket)
    }

    /// Returns the sum over `count` batches of a lane, from the ticket on.
    pub fn sum(&self, first: Ticket, count: usize) -> Vec<usize> {
        let mut sums: Vec<usize> = vec![];
        for step in (first.step..).take(count) {
            let targets = self.of_batch(Ticket { step, ..first });
            sums.resize(sums.len().max(targets.len()), 0);
            for (sum, targets) in sums.iter_mut().zip(targets) {
                *sum += targets;
            }
        }
        sums
    }
}

/// The lengths of a row without a clip.
const NOTHING: RowLengths = RowLengths {
    text: 0,
    codes: 0,
    prompt: None,
};

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Targets")
    }
}
