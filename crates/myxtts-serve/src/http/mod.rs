//! Connections and routes.

mod connection;
mod guard;
mod patient;
mod routes;

use std::sync::Arc;

use myxtts_audio::units::SampleRate;
use myxtts_infer::{ModelCard, Vocoder};
use tokio::sync::watch;

pub(crate) use connection::accept;
pub(crate) use routes::{router, unknown_model};

use crate::config::ServeConfig;
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::voices::VoiceSource;

/// The state that all requests share.
pub(crate) struct Shared {
    pub(crate) config: ServeConfig,
    pub(crate) model: Model,
    pub(crate) queue: Queue,
    pub(crate) metrics: Metrics,
    pub(crate) phase: watch::Receiver<Phase>,
}

pub(crate) type App = Arc<Shared>;

/// What is known of the model besides its weights.
pub(crate) struct Model {
    pub(crate) card: ModelCard,
    pub(crate) vocoder: Vocoder,
    pub(crate) rate: SampleRate,
    /// When the server started, in seconds since 1970.
    pub(crate) created: u64,
    pub(crate) voices: Vec<(String, VoiceSource)>,
}

/// The phase of a server's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The server takes requests.
    Open,
    /// The server takes no more requests, and ends what it has begun.
    Stopping,
    /// The last reply has been handed to its connection.
    Spoken,
}
