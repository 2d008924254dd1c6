//! The stages of a run, in order.

use std::path::PathBuf;
use std::time::Instant;

use myxtts_base::report;
use myxtts_infer::ModelCard;
use myxtts_model::gpt::ParameterCount;
use myxtts_pipeline::Outcome;
use myxtts_run::metrics;
use myxtts_run::units::Step;

use super::Run;
use super::eta::{RunEta, StageEstimate, Work};
use super::initial_weights::InitialWeights;
use super::recorder::StagePlace;
use crate::config::StageName;
use crate::error::TrainError;
use crate::feed::ShapeTracker;
use crate::stage::{decoder, dvae, parts, stage_plan};

impl Run<'_> {
    /// Trains them, from wherever the run stood.
    pub(super) fn stages(&mut self, mut initial_weights: InitialWeights) -> Result<(), TrainError> {
        let stages = self.job.stages.clone();
        self.check_stages(&initial_weights)?;
        let card = initial_weights.card.clone();
        let card = card.unwrap_or_else(|| parts::card_of(self.job, &self.training_data));
        self.check_memory(&card)?;
        let earlier = match self.resumed {
            Some(_) => metrics::read(&self.outputs.folder.metrics())?,
            None => vec![],
        };
        self.outputs.eta = RunEta::new(self.stage_estimates(&card)?, &earlier);
        self.finished.speaks = initial_weights.gpt.is_some();
        for (index, stage) in stages.iter().copied().enumerate() {
            self.outputs.place = StagePlace {
                number: index + 1,
                of: stages.len(),
            };
            self.outputs.stage_begun = Instant::now();
            let begun = self.start.take_if(|position| position.stage == stage);
            if self.start.is_some() {
                // The run had reached a later stage.
                continue;
            }
            if let Some(position) = &begun {
                self.before = position.before;
            }
            let resumed = begun.is_some().then(|| self.resumed.take()).flatten();
            let done = match stage {
                StageName::Dvae => self.dvae(&mut initial_weights, resumed.as_ref())?,
                StageName::Gpt => self.gpt(&mut initial_weights, resumed.as_ref())?,
                StageName::Decoder => self.decoder(&mut initial_weights, resumed.as_ref())?,
            };
            self.finished.speaks = match stage {
                // The codes of a GPT mean something else under another DVAE.
                StageName::Dvae => false,
                StageName::Gpt => true,
                StageName::Decoder => self.finished.speaks,
            };
            self.before += done;
            self.finished.steps = self.before;
            if self.outputs.stop.asked().is_some() {
                break;
            }
        }
        match &self.start {
            None => Ok(()),
            Some(position) => Err(TrainError::Usage(report!(
                "the run is in the {} stage, which this command does not train",
                position.stage.name();
                fix: "name it with --stage, as the command that started the run did"
            ))),
        }
    }

    /// Refuses to train a new DVAE under a GPT that was trained with another.
    fn check_stages(&self, initial_weights: &InitialWeights) -> Result<(), TrainError> {
        if let (Some(_), Some(_), [StageName::Dvae, StageName::Gpt, ..]) = (
            &initial_weights.gpt,
            &self.job.init,
            self.job.stages.as_slice(),
        ) && self.resumed.is_none()
        {
            return Err(TrainError::Usage(report!(
                "a new DVAE would make the trained GPT worthless";
                why: "the GPT of --init speaks the codes of its own DVAE, and training the DVAE \
                      changes what they mean";
                fix: "--stage gpt to fine-tune it, or leave --init out"
            )));
        }
        Ok(())
    }

    /// Returns the card that bounds rows, if they are bounded.
    pub(crate) fn bound<'c>(&self, card: &'c ModelCard) -> Option<&'c ModelCard> {
        self.bounds_rows.then_some(card)
    }

    /// Returns the steps of each stage, if none ends early, and how much work one of them is. All
    /// are known from the start, so that what is shown of the whole run does not change from
    /// stage to stage.
    fn stage_estimates(&self, card: &ModelCard) -> Result<Vec<StageEstimate>, TrainError> {
        let (job, replicas) = (self.job, self.placement.replicas());
        let training_data = &self.training_data;
        let estimate = |stage: &StageName| {
            let batches = match stage {
                StageName::Dvae => dvae::schedule(job, training_data, replicas)?,
                StageName::Gpt => parts::schedule(job, training_data, replicas, self.bound(card))?,
                StageName::Decoder => {
                    decoder::schedule(job, training_data, replicas, self.bounds_rows)?
                }
            };
            let accumulation = job.accumulation();
            let work = match stage {
                StageName::Dvae => {
                    let segments = accumulation * job.segments.dvae_batch as usize;
                    Work::dvae(&card.dvae, segments * job.segments.dvae_frames)
                }
                StageName::Gpt => {
                    let positions = batches.positions_per_batch();
                    let parameters = ParameterCount::of(&card.gpt).total();
                    Work::gpt(parameters, positions * accumulation as f64)
                }
                StageName::Decoder => {
                    let config = parts::decoder_card(job.decoder_size, card).hifigan;
                    let clips = batches.clips_per_step().map_or(1.0, |(_, _, mean)| mean);
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "a mean of rows"
                    )]
                    let rows = clips.ceil() as usize / replicas.max(1) as usize;
                    Work::decoder(
                        &config,
                        accumulation * rows.max(1) * job.segments.decoder_frames,
                    )
                }
            };
            Ok(StageEstimate {
                stage: *stage,
                steps: stage_plan::loop_config(job, *stage, &batches)?.steps,
                work,
            })
        };
        job.stages.iter().map(estimate).collect()
    }

    pub(crate) fn note(&mut self, stage: StageName, outcome: &Outcome) {
        let summary = &outcome.summary;
        self.finished
            .data_wait_pct
            .push((stage, summary.data_wait_pct));
        let line = format!("{}: {}", stage.name(), summary.line());
        self.outputs.say(&line);
        let _ = self.outputs.log.note(&summary.to_string());
        if let Some(lost) = &outcome.ledger_lost {
            let line = format!("ledger.jsonl is not complete: {lost}");
            self.outputs.say(&line);
        }
    }

    pub(crate) fn note_shapes(&mut self, tracker: &ShapeTracker) {
        let new = tracker.new_shapes();
        self.finished.shapes_after_warmup += new.len() as u64;
        self.outputs
            .say(&format!("shapes after warm-up: {}", new.len()));
        for shapes in new.iter().take(5) {
            self.outputs.say(&format!(
                "  new: {} rows of {} text tokens, {} codes, {} conditioning frames",
                shapes.rows, shapes.text, shapes.codes, shapes.frames
            ));
        }
    }

    /// Returns the folder with the samples of the stage's last step.
    pub(crate) fn samples_of(&self, done: u64) -> Option<PathBuf> {
        let step = Step(self.before + done);
        let folder = self.job.run.join("samples").join(format!("step_{step}"));
        folder.exists().then_some(folder)
    }
}
