//! What a configuration needs of the devices' memory.

use std::path::PathBuf;
use std::sync::Arc;

use myxtts_config::Settings;
use myxtts_data::dataset::{Corpus, train_vocabulary};
use myxtts_data::layout::Split;
use myxtts_data::schedule::BucketShape;
use myxtts_data::units::{Codes, Tokens};
use myxtts_data::{prepare, sample_corpus};
use myxtts_device::PlanRequest;
use myxtts_text::Vocabulary as TextVocabulary;
use myxtts_train::demand::{Clips, Demand, codes_of};
use myxtts_train::session::SegmentSizes;

use crate::dataset::request;
use crate::error::Error;
use crate::outline::Outline;
use crate::settings::{self as config, Config, Sizes};

/// Returns what a configuration asks of devices, memory included. With `clips`, the plan also
/// says how many of them a step has.
pub(crate) fn training_request(
    settings: &Settings<Config>,
    clips: Option<Clips>,
) -> Result<PlanRequest, Error> {
    let demand = Demand {
        clips,
        ..demand(settings)?
    };
    Ok(PlanRequest {
        workload: Some(Arc::new(demand)),
        ..config::plan_request(settings)
    })
}

fn demand(settings: &Settings<Config>) -> Result<Demand, Error> {
    let Config {
        data,
        model,
        training,
    } = &settings.config;
    let Sizes { gpt, dvae } = config::sizes(settings)?;
    let has_init = training.run.init.is_some();
    let segments = SegmentSizes::default();
    Ok(Demand {
        decoder: model.size.decoder(gpt.channels, gpt.channels),
        stages: Outline::of(settings)?.stages,
        longest: BucketShape {
            text: Tokens(data.shapes.max_text_length),
            audio: Codes(codes_of(data.shapes.max_mel_frames, &dvae)),
        },
        conditioning: data.shapes.conditioning(data.audio.sample_rate),
        segments: [segments.dvae_frames, segments.dvae_batch as usize],
        decoder_frames: segments.decoder_frames,
        has_average: training.optimizer.ema_decay > 0.0,
        has_start: has_init,
        clips: None,
        gpt,
        dvae,
    })
}

/// Returns the clips of a dataset that is prepared as this configuration wants it. `None` if it
/// is not, or if their texts are counted with a vocabulary that comes with earlier weights.
pub(crate) fn clips(settings: &Settings<Config>) -> Option<Clips> {
    let Config { data, training, .. } = &settings.config;
    if training.run.init.is_some() {
        return None;
    }
    let named = data.dataset.train_data.as_ref().map(PathBuf::from);
    let dataset = named.or_else(|| sample_corpus::default_folder().ok())?;
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
