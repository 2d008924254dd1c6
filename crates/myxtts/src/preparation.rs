//! Prepares a dataset by itself: without a training, and with codes if they are wanted.

use std::path::{Path, PathBuf};

use myxtts_base::{Report, report};
use myxtts_config::Settings;
use myxtts_data::prepare::{REPORT_TEXT, Report as Inspection, prepare};
use myxtts_device::Machine;
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use myxtts_text::Vocabulary;
use myxtts_train::placement::Placement;
use myxtts_train::session::{Encoded, encode};

use crate::dataset::{Part, dataset, output_folder, prepared_in, request, with_progress};
use crate::error::Error;
use crate::request::train_request;
use crate::settings::Config;
use crate::train::plan;

/// A preparation that was asked for by itself.
#[derive(Clone, Debug, Default)]
pub struct Preparation {
    /// The dataset; that of the configuration if none is named.
    pub dataset: Option<PathBuf>,
    /// A vocabulary to count the tokens of the texts with.
    pub vocabulary: Option<PathBuf>,
    /// Whether recordings are converted once, so that no training has to.
    pub convert: bool,
    /// The arguments of the command that trains on the result, for the report.
    pub next: Vec<String>,
}

/// What a preparation found, and where it was written.
pub struct Prepared {
    /// What was found.
    pub report: Inspection,
    /// Where it was written.
    pub folder: PathBuf,
}

impl Preparation {
    /// Reads every clip once, whatever was prepared earlier.
    ///
    /// # Errors
    /// When there is no dataset, its language cannot be told, or nothing can be written.
    pub fn run(
        self,
        settings: &Settings<Config>,
        stop: &StopRequest,
        observer: &dyn Observer,
    ) -> Result<Prepared, Error> {
        let vocabulary = self.vocabulary.as_deref().map(Vocabulary::read);
        let vocabulary = vocabulary.transpose().map_err(Error::refused)?;
        let configured = &settings.config.data.dataset;
        let dataset = match self.dataset {
            Some(dataset) => dataset,
            None => dataset(configured.train_data.as_deref())?,
        };
        let prepared = configured.prepared.as_deref();
        let out = output_folder(prepared, &dataset, Part::Training, observer)?;
        let mut request = request(settings, dataset, out, vocabulary.as_ref())?;
        request.settings.convert = self.convert;
        request.next = self.next;
        let report = with_progress(observer, stop, |watch| prepare(&request, watch))?;
        Ok(Prepared {
            report,
            folder: request.out,
        })
    }
}

impl Prepared {
    /// Returns why the dataset cannot be trained on, if it cannot.
    pub fn problem(&self) -> Option<Report> {
        let Self { report, folder } = self;
        match report.check() {
            Err(too_many) => Some(Report::new(too_many.to_string())),
            Ok(()) if report.kept == 0 => Some(report!(
                "no clip of {} is left to train on", report.dataset;
                why: "{} were read, {} quarantined", report.total, report.quarantined;
                fix: "see {}", folder.join(REPORT_TEXT).display()
            )),
            Ok(()) => None,
        }
    }

    /// Encodes every clip with the DVAE of `weights`, in the batches of the training that the
    /// configuration asks for. `progress` is told of clips done, and of how many.
    ///
    /// # Errors
    /// When the weights cannot be read, or a device cannot be used.
    pub fn encode(
        &self,
        settings: &Settings<Config>,
        machine: &Machine,
        weights: &Path,
        stop: &StopRequest,
        observer: &dyn Observer,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<Encoded, Error> {
        let plan = plan(settings, machine)?;
        let dataset = prepared_in(settings, self.folder.clone(), stop, observer)?;
        let training = train_request(settings, &plan, dataset, String::new())?;
        let placement = Placement::of(&plan).map_err(Error::failed)?;
        let Some(device) = placement.data.first() else {
            return Err(Error::Failed("the plan has no data device".into()));
        };
        let replicas = placement.replicas();
        let encoded = encode(&training, weights, device, replicas, stop, progress);
        match stop.asked() {
            Some(signal) => Err(Error::Stopped(
                signal,
                "the encoding was stopped; the codes made so far are kept".to_owned(),
            )),
            None => Ok(encoded?),
        }
    }
}
