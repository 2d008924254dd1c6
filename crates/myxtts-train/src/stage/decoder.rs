//! The stage that trains the waveform decoder.

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_data::schedule::Schedule;
use myxtts_infer::state_dict;
use myxtts_model::ModelSize;
use myxtts_model::gpt::Gpt;
use myxtts_model::hifigan::{Discriminator, HifiganDecoder};
use myxtts_model::init::Init;
use myxtts_model::params::{HandedOver, StateDict, load};
use myxtts_run::checkpoint::Checkpoint;
use myxtts_weights::read_safetensors;

use super::execute::StageRun;
use super::frozen::{Frozen, PREFIX, frozen_dvae};
use super::parts::{batches, codes_cache, decoder_card, host};
use super::prefetch::flow;
use super::recipe::warm_up;
use crate::error::TrainError;
use crate::feed::{Cutting, Largest, Targets, largest_segments};
use crate::objective::{DecoderActs, DecoderTrainee, JUDGES, JUDGES_FILE};
use crate::optim::AdamWConfig;
use crate::session::evaluate::DecoderEvaluator;
use crate::session::initial_weights::Origin;
use crate::session::saving::{Found, optimiser_file, without_prefix};
use crate::session::training_data::Material;
use crate::session::{Job, Optimisation, Run, StageName};
use crate::stage;

/// Most steps in which new judges learn before a decoder moves that knows how to speak,
/// and what its learning rate is divided by.
const JUDGES_ALONE: u64 = 500;
const GENTLE: f64 = 4.0;

impl Run<'_> {
    /// Trains the waveform decoder, and gives its steps.
    pub(crate) fn decoder(
        &mut self,
        origin: &mut Origin,
        resumed: Option<&Checkpoint>,
    ) -> Result<u64, TrainError> {
        let (job, placement, material) = (self.job, self.placement, &self.material);
        let gpt = origin.gpt.take();
        let (Some(dvae), Some(gpt), Some(card)) = (&origin.dvae, gpt, &mut origin.card) else {
            return Err(TrainError::Usage(
                "the decoder needs a trained GPT and its DVAE, and there is none\n  why:   the \
                 decoder learns to make sound of the GPT's latents of recordings\n  fix:   --stage \
                 all, or --init DIR with a trained model or run"
                    .to_owned(),
            ));
        };
        let decoder = decoder_card(job.decoder_size, card);
        card.decoder = Some(decoder.clone());
        let card = &*card;
        let blank = Gpt::new(&Init::blank(&Device::flex()), &card.gpt);
        let frozen = Frozen {
            front_end: material.front_end.clone(),
            dvae: frozen_dvae(card, dvae)?,
            gpt: load(blank, &HandedOver::from(gpt), "").map_err(TrainError::failed)?,
            hifigan: origin.hifigan.clone(),
            card: decoder.clone(),
            rate: card.audio.sample_rate,
        };
        let schedule = schedule(job, material, placement.replicas(), self.bounds_rows)?;
        let schedule = Arc::new(schedule);
        let (recipe, mut position) =
            stage::begin(job, StageName::Decoder, &schedule, self.before, resumed)?;
        let cutting = Cutting {
            frames: job.decoder_frames,
            seed: job.seed,
            steps_per_epoch: schedule.steps_per_epoch(),
        };
        let (codes, _) = codes_cache(job, material, &frozen.dvae, &schedule)?;
        let adamw = AdamWConfig {
            beta_1: 0.8,
            beta_2: 0.99,
            ..job.optimisation.adamw
        };
        let earlier = without_prefix(state_dict(&frozen.hifigan), PREFIX);
        let has_earlier = earlier.keys().any(|name| name.starts_with("waveform"));
        let judges = match (has_earlier && resumed.is_none(), &job.init) {
            (true, Some(folder)) => judges_of(folder)?,
            _ => None,
        };
        let found = match resumed {
            // Older checkpoints do not say, and had no acts.
            Some(_) => position.found.unwrap_or_default(),
            None => Found {
                decoder: has_earlier,
                judges: judges.is_some(),
            },
        };
        position.found = Some(found);
        let acts = acts(&job.optimisation, job.decoder_size, found, recipe.steps);
        self.desk.say(&acts_words(&acts, recipe.steps));
        let state = |device: &Device| {
            let init = Init::new(job.seed, &device.clone().autodiff());
            let generator = HifiganDecoder::new(&init, &decoder.hifigan);
            let generator = generator.map_err(TrainError::failed)?;
            let generator = match has_earlier && resumed.is_none() {
                true => load(generator, &earlier, "").map_err(TrainError::failed)?,
                false => generator,
            };
            let fresh = Discriminator::new(&init, &decoder.hifigan.discriminator());
            let fresh = fresh.map_err(TrainError::failed)?;
            let judges = match &judges {
                Some(state) => load(fresh, state, "").map_err(TrainError::failed)?,
                None => fresh,
            };
            let trainee = DecoderTrainee::new(generator, judges).map_err(TrainError::failed)?;
            stage::state(job, adamw, trainee.with_acts(acts), resumed)
        };
        let site = {
            let (frozen, codes) = (frozen.clone(), codes.clone());
            move |device: &Device| frozen.feed(device, cutting, codes.clone())
        };
        let conditioning = card.conditioning;
        let targets = Targets::of_rows(&schedule);
        let run = StageRun {
            placement,
            flow: flow(job, placement),
            largest: Largest {
                device: largest_segments(&schedule, &decoder.hifigan, cutting),
                ..Largest::of(&schedule, conditioning, &card.conditioning_mel)
            },
            host: host(job, material, conditioning, schedule, codes)?,
            site: Arc::new(site),
            state,
            recipe: &recipe,
            targets,
            ledger: stage::ledger(&self.desk, StageName::Decoder)?,
            stop: self.desk.stop.clone(),
        };
        let evaluator = DecoderEvaluator::new(job, material, card, &frozen, &placement.data[0]);
        let desk = &mut self.desk;
        let (state, outcome) =
            stage::train(run, desk, evaluator, position, job, material, resumed)?;
        self.note(StageName::Decoder, &outcome);
        // Sentences of the GPT stage say more than copies of recordings.
        let copies = self.samples_of(state.done);
        self.finished.samples = self.finished.samples.take().or(copies);
        Ok(state.done)
    }
}

/// The batches of the stage. A segment costs the same whatever its clip's
/// length, so where rows are bounded none has more than the longest.
pub(crate) fn schedule(
    job: &Job,
    material: &Material,
    replicas: u32,
    bounds_rows: bool,
) -> Result<Schedule, TrainError> {
    batches(job, material, replicas, |_| match bounds_rows {
        true => job.batch_size,
        false => u32::MAX,
    })
}

/// The judges beside a decoder that was trained here, if they have learned
/// anything: those of a stage that taught spectra alone have made no step.
fn judges_of(init: &Path) -> Result<Option<StateDict>, TrainError> {
    let folder = myxtts_infer::resolve(init, myxtts_infer::Pick::Newest)
        .map_err(|why| TrainError::Usage(why.to_string()))?;
    let tensors = |name: &str| {
        let file = folder.join(name);
        let read = file.is_file().then(|| read_safetensors(&file));
        read.transpose().map_err(TrainError::failed)
    };
    let moments = tensors(&optimiser_file(JUDGES))?;
    if moments.is_some_and(|moments| moments.names().next().is_none()) {
        return Ok(None);
    }
    Ok(tensors(JUDGES_FILE)?.map(|judges| state_dict(&judges)))
}

/// How the stage goes. A decoder that speaks already would unlearn it from judges that
/// know nothing yet: they learn first, and it moves in small steps.
fn acts(optimisation: &Optimisation, size: ModelSize, found: Found, steps: u64) -> DecoderActs {
    let rate = optimisation.decoder_learning_rate;
    let spectral = match optimisation.decoder_spectral_steps {
        Some(chosen) => chosen,
        // For a CPU, where steps with judges are the dearer ones by far.
        None if size == ModelSize::Tiny && !found.decoder => steps,
        None => 0,
    };
    let judges = match optimisation.discriminator_warmup_steps {
        Some(chosen) => chosen,
        None if found.decoder && !found.judges => JUDGES_ALONE.min(steps / 10),
        None => 0,
    };
    let own = match optimisation.generator_learning_rate {
        Some(chosen) => chosen,
        None if found.decoder => rate / GENTLE,
        None => rate,
    };
    DecoderActs {
        spectral,
        judges,
        rise: warm_up(optimisation, steps),
        generator_pace: own / rate,
    }
}

/// The same for the log.
fn acts_words(acts: &DecoderActs, steps: u64) -> String {
    let spectral = acts.spectral.min(steps);
    let judges = acts.judges.min(steps - spectral);
    let both = steps - spectral - judges;
    let parts = [
        (spectral, "of the decoder by spectra alone"),
        (
            judges,
            "of the discriminators while the decoder stands still",
        ),
        (both, "of both"),
    ];
    let parts = parts.iter().filter(|(steps, _)| *steps > 0);
    let parts: Vec<String> = parts
        .map(|(steps, what)| format!("{steps} {what}"))
        .collect();
    let pace = match acts.generator_pace {
        1.0 => String::new(),
        pace => format!("; the decoder takes {pace} of the learning rate"),
    };
    format!("decoder steps: {}{pace}", parts.join(", then "))
}

#[cfg(test)]
mod tests {
    use myxtts_run::guard::SpikeAction;

    use super::*;
    use crate::session::ScheduleKind;

    /// What each key changes is in `acts`; what an act does, in the tests of the
    /// trainee.
    #[test]
    fn the_course_follows_what_was_found() {
        let nothing = Found::default();
        let decoder = Found {
            decoder: true,
            judges: false,
        };
        let both = Found {
            decoder: true,
            judges: true,
        };
        let (plain, small) = (optimisation(), ModelSize::Small);
        let tiny = |found| acts(&plain, ModelSize::Tiny, found, 700).spectral;
        assert_eq!((tiny(nothing), tiny(decoder)), (700, 0));
        assert_eq!(
            acts(&plain, small, nothing, 2000),
            DecoderActs {
                rise: 100,
                ..DecoderActs::default()
            }
        );
        let course = |found, steps| {
            let acts = acts(&plain, small, found, steps);
            (acts.spectral, acts.judges, acts.rise, acts.generator_pace)
        };
        assert_eq!(course(decoder, 20_000), (0, 500, 100, 0.25));
        assert_eq!(course(decoder, 2000), (0, 200, 100, 0.25));
        assert_eq!(course(both, 2000), (0, 0, 100, 0.25));
        let chosen = Optimisation {
            decoder_spectral_steps: Some(7),
            discriminator_warmup_steps: Some(0),
            generator_learning_rate: Some(2e-4),
            ..plain
        };
        let found = acts(&chosen, small, decoder, 2000);
        assert_eq!((found.spectral, found.judges), (7, 0));
        assert!((found.generator_pace - 1.0).abs() < 1e-12);
        insta::assert_snapshot!(
            [
                acts_words(&acts(&plain, small, nothing, 2000), 2000),
                acts_words(&acts(&plain, small, decoder, 2000), 2000),
                acts_words(&acts(&chosen, small, decoder, 2000), 2000),
                acts_words(&acts(&chosen, small, decoder, 5), 5),
            ]
            .join("\n")
        );
    }

    fn optimisation() -> Optimisation {
        Optimisation {
            learning_rate: 1e-3,
            dvae_learning_rate: 1e-3,
            decoder_learning_rate: 2e-4,
            generator_learning_rate: None,
            decoder_spectral_steps: None,
            discriminator_warmup_steps: None,
            schedule: ScheduleKind::Cosine,
            warmup_steps: 100,
            warmup_chosen: false,
            gradient_clip: 1.0,
            label_smoothing: 0.0,
            dropout: None,
            ema_decay: 0.0,
            adamw: AdamWConfig::default(),
            spikes: SpikeAction::Log,
            bad_steps: 1,
            patience: 0,
        }
    }
}
