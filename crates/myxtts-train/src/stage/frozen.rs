//! Models that are used and not trained.

use std::sync::Arc;

use burn::module::Module;
use burn::tensor::Device;
use myxtts_audio::units::SampleRate;
use myxtts_data::codes::CodesCache;
use myxtts_infer::{DecoderCard, ModelCard, VoiceVectors};
use myxtts_model::dvae::Dvae;
use myxtts_model::gpt::Gpt;
use myxtts_model::init::Init;
use myxtts_model::params::{HandedOver, StateDict, load};
use myxtts_weights::TensorMap;

use crate::error::TrainError;
use crate::feed::{Cutting, DecoderFeed, DeviceFeed, FrontEnd, ShapeTracker};

/// The prefix of the decoder's tensors in a checkpoint.
pub(crate) const PREFIX: &str = "hifigan_decoder.";

/// Makes a DVAE on the host that is used, but not trained.
pub(crate) fn frozen_dvae(card: &ModelCard, weights: &StateDict) -> Result<Dvae, TrainError> {
    let dvae = Dvae::new(&Init::blank(&Device::flex()), &card.dvae).map_err(TrainError::failed)?;
    load(dvae, weights, "").map_err(TrainError::failed)
}

/// The frozen parts that turn recordings into latents and voices.
#[derive(Clone)]
pub(crate) struct Frozen {
    pub(crate) front_end: FrontEnd,
    pub(crate) dvae: Dvae,
    pub(crate) gpt: Gpt,
    /// The decoder's tensors as the stage found them; a speaker encoder among them is not
    /// trained.
    pub(crate) hifigan: TensorMap,
    pub(crate) card: DecoderCard,
    pub(crate) rate: SampleRate,
}

impl Frozen {
    /// Of weights, on the host.
    pub(crate) fn new(
        front_end: &FrontEnd,
        card: &ModelCard,
        decoder: DecoderCard,
        dvae: &StateDict,
        gpt: StateDict,
        hifigan: TensorMap,
    ) -> Result<Self, TrainError> {
        let blank = Gpt::new(&Init::blank(&Device::flex()), &card.gpt);
        Ok(Self {
            front_end: front_end.clone(),
            dvae: frozen_dvae(card, dvae)?,
            gpt: load(blank, &HandedOver::from(gpt), "").map_err(TrainError::failed)?,
            hifigan,
            card: decoder,
            rate: card.audio.sample_rate,
        })
    }

    /// Makes the feed of batches on a device.
    pub(crate) fn feed(
        &self,
        device: &Device,
        cutting: Cutting,
        codes: Option<Arc<CodesCache>>,
    ) -> Result<DecoderFeed, String> {
        let dvae = self.dvae.clone().to_device(device);
        let tracker = Arc::new(ShapeTracker::default());
        let feed = DeviceFeed::new(device, dvae, &self.front_end, false, tracker);
        let feed = feed.map_err(|why| why.to_string())?.keeping(codes);
        let voices = VoiceVectors::new(self.card.voice, &self.hifigan, self.rate, device);
        let voices = voices.map_err(|why| why.to_string())?;
        let gpt = self.gpt.clone().to_device(device);
        DecoderFeed::new(device, feed, gpt, voices, &self.card.hifigan, cutting)
    }
}
