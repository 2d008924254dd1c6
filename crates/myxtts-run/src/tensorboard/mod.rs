//! Event files for TensorBoard.
//!
//! A file is a sequence of TFRecords ([`record`]), each an `Event` message
//! ([`proto`]) of one step: scalars, text, audio, images, histograms. There is
//! no maintained crate for writing these, and reading them needs none.
//! `tools/check-tensorboard` reads a file back with TensorBoard itself.

mod crc;
mod event;
mod histogram;
mod mel;
mod png;
mod proto;
mod record;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

pub use histogram::Histogram;
pub use mel::mel_image;
pub use png::Image;

use crate::FileError;
use crate::units::Step;

/// Mono or interleaved audio as the bytes of a WAV file.
#[derive(Clone, Copy, Debug)]
pub struct Wav<'a> {
    /// The bytes of the WAV file.
    pub bytes: &'a [u8],
    /// Samples per second of each channel.
    pub sample_rate: u32,
    /// The number of channels.
    pub channels: u16,
    /// The number of samples of one channel.
    pub samples: u64,
}

/// A writer of one event file.
#[derive(Debug)]
pub struct EventWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl EventWriter {
    /// Creates a file in `folder` for a run that resumes after the step
    /// `resumed`, or starts over.
    ///
    /// A folder may hold several files; TensorBoard reads them in the order of
    /// their names. The first event makes it drop what earlier files say of the
    /// steps that will be taken again.
    ///
    /// # Errors
    /// When the file cannot be made.
    pub fn create(folder: &Path, resumed: Option<Step>) -> Result<Self, FileError> {
        std::fs::create_dir_all(folder).map_err(FileError::when("make", folder))?;
        let mut number = 0_u32;
        let (path, file) = loop {
            let name = format!(
                "events.out.tfevents.{:010}.myxtts.{}.{number}",
                seconds().floor(),
                std::process::id()
            );
            let path = folder.join(name);
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                other => {
                    let file = other.map_err(FileError::when("create", &path))?;
                    break (path, file);
                }
            }
        };
        let mut writer = Self {
            path,
            file: BufWriter::new(file),
        };
        writer.write(&event::version(seconds()))?;
        let first = resumed.map_or(0, |step| step.0.saturating_add(1));
        writer.write(&event::restart(seconds(), Step(first)))?;
        writer.flush()?;
        Ok(writer)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a number under `tag`.
    ///
    /// # Errors
    /// When it cannot be written; the same goes for the methods below.
    pub fn scalar(&mut self, tag: &str, step: Step, value: f32) -> Result<(), FileError> {
        self.summary(step, &event::scalar(tag, value))
    }

    /// Writes a text, which is shown as Markdown.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn text(&mut self, tag: &str, step: Step, markdown: &str) -> Result<(), FileError> {
        self.summary(step, &event::text(tag, markdown))
    }

    /// Writes a recording to listen to.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn audio(&mut self, tag: &str, step: Step, wav: Wav<'_>) -> Result<(), FileError> {
        self.summary(step, &event::audio(tag, wav))
    }

    /// Writes a picture under `tag`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn image(&mut self, tag: &str, step: Step, image: &Image) -> Result<(), FileError> {
        self.summary(step, &event::image(tag, image))
    }

    /// Writes a distribution under `tag`.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn histogram(
        &mut self,
        tag: &str,
        step: Step,
        histogram: &Histogram,
    ) -> Result<(), FileError> {
        self.summary(step, &event::histogram(tag, histogram))
    }

    /// Hands what was written to the operating system, so that TensorBoard sees it.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn flush(&mut self) -> Result<(), FileError> {
        self.file
            .flush()
            .map_err(FileError::when("write", &self.path))
    }

    fn summary(&mut self, step: Step, value: &proto::Message) -> Result<(), FileError> {
        self.write(&event::summary(seconds(), step, value))
    }

    fn write(&mut self, event: &proto::Message) -> Result<(), FileError> {
        record::write(&mut self.file, event.bytes()).map_err(FileError::when("write", &self.path))
    }
}

fn seconds() -> f64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_secs_f64()
}
