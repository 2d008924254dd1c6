//! What a configuration asks of the memory of devices.

use std::path::PathBuf;
use std::sync::Arc;

use myxtts_audio::units::Samples;
use myxtts_config::Settings;
use myxtts_data::dataset::{Corpus, train_vocabulary};
use myxtts_data::layout::Split;
use myxtts_data::schedule::{BucketShape, ConditioningSpec};
use myxtts_data::units::{Codes, Tokens};
use myxtts_data::{corpus, prepare};
use myxtts_device::PlanRequest;
use myxtts_text::Vocabulary as TextVocabulary;
use myxtts_train::demand::{Clips, Demand, codes_of};

use super::prepare::request;
use super::train::{DECODER_FRAMES, SEGMENT_BATCH, SEGMENT_FRAMES, conditioning, stages};
use crate::config::{self, Config, Sizes};
use crate::output::Failure;

/// What a configuration asks of devices, their memory included. With `clips`
/// the plan also says how many of them a step has.
pub(super) fn training_request(
    settings: &Settings<Config>,
    clips: Option<Clips>,
) -> Result<PlanRequest, Failure> {
    let demand = Demand {
        clips,
        ..demand(settings)?
    };
    Ok(PlanRequest {
        workload: Some(Arc::new(demand)),
        ..config::plan_request(settings)
    })
}

fn demand(settings: &Settings<Config>) -> Result<Demand, Failure> {
    let Config {
        data,
        model,
        training,
    } = &settings.config;
    let Sizes { gpt, dvae } = config::sizes(settings).map_err(Failure::usage)?;
    let [min, max] = conditioning(data).map(Samples);
    let has_init = training.run.init.is_some();
    Ok(Demand {
        decoder: model.size.decoder(gpt.channels, gpt.channels),
        stages: stages(settings)?,
        longest: BucketShape {
            text: Tokens(data.shapes.max_text_length),
            audio: Codes(codes_of(data.shapes.max_mel_frames, &dvae)),
        },
        conditioning: ConditioningSpec { min, max },
        segments: [SEGMENT_FRAMES, SEGMENT_BATCH as usize],
        decoder_frames: DECODER_FRAMES,
        has_average: training.optimiser.ema_decay > 0.0,
        has_start: has_init,
        clips: None,
        gpt,
        dvae,
    })
}

/// The clips of a dataset that is prepared as this configuration wants it.
/// `None` where it is not, or where their texts are counted with a vocabulary
/// that earlier weights bring along.
pub(super) fn clips(settings: &Settings<Config>) -> Option<Clips> {
    let Config { data, training, .. } = &settings.config;
    if training.run.init.is_some() {
        return None;
    }
    let named = data.dataset.train_data.as_ref().map(PathBuf::from);
    let dataset = named.or_else(|| corpus::default_folder().ok())?;
    let out = match &data.dataset.prepared {
        Some(folder) => PathBuf::from(folder),
        None => prepare::place(&dataset).ok()?.folder,
    };
    if !out.exists() {
        return None;
    }
    let named = match &training.run.vocab {
        Some(path) => Some(TextVocabulary::read(path.as_ref()).ok()?),
        None => None,
    };
    let asked = request(settings, dataset, out.clone(), named.as_ref()).ok()?;
    prepare::earlier(&asked).ok()??;
    let vocabulary = match named {
        Some(vocabulary) => vocabulary,
        None => train_vocabulary(&out).ok()?,
    };
    let corpus = Corpus::read(&out, Split::Train, &vocabulary).ok()?;
    let (corpus, _) = corpus.without_long_texts(Tokens(data.shapes.max_text_length));
    Some(Clips {
        lengths: corpus.lengths,
        buckets: data.shapes.buckets as usize,
        seed: training.run.seed,
    })
}
