//! `myxtts serve`

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::ArgMatches;
use myxtts_audio::units::Seconds;
use myxtts_run::signals::StopRequest;
use myxtts_serve::{Patience, ServeConfig, ServeError, Served, Token, VoiceBook, bind};
use myxtts_text::Language;
use serde::Serialize;

use super::model::{Model, checkpoint};
use crate::output::{Failure, Output};

/// Where a server can be found, and what it offers.
#[derive(Serialize)]
struct Started {
    url: String,
    /// Where one is needed.
    token: Option<String>,
    model: String,
    checkpoint: PathBuf,
    voices: Vec<String>,
    languages: Vec<String>,
    rows: usize,
    queue: usize,
    device: String,
    notices: Vec<String>,
}

pub(super) fn run(matches: &ArgMatches, output: &Output) -> Result<(), Failure> {
    let checkpoint = checkpoint(matches)?;
    let config = config(matches, &checkpoint)?;
    // Before the model is loaded: a port that is taken is known now.
    let listening = bind(config.clone()).map_err(failure)?;
    let mut model = Model::open(matches, &checkpoint)?;
    let folder = matches.get_one::<PathBuf>("voices").map(PathBuf::as_path);
    let voices = VoiceBook::gather(&mut model.synthesizer, &checkpoint, folder).map_err(failure)?;
    let stop = StopRequest::install()
        .map_err(|why| Failure::Job(format!("signals cannot be caught: {why}")))?;
    let started = Started {
        url: url(listening.address()),
        token: config.token.as_ref().map(|token| token.reveal().to_owned()),
        model: config.model.clone(),
        voices: voices.list().map(|(name, _)| name.to_owned()).collect(),
        languages: model.synthesizer.card().languages.clone(),
        rows: config.rows,
        queue: config.queue,
        notices: voices.notices().to_vec(),
        device: model.device,
        checkpoint,
    };
    output.result(&started, &started)?;
    let served = listening
        .serve(&mut model.synthesizer, &voices, &stop)
        .map_err(failure)?;
    match stop.asked() {
        Some(signal) => Err(Failure::Stopped(
            format!("stopped by {}: {}", signal.name(), said(&served)),
            u8::try_from(signal.exit_code()).unwrap_or(u8::MAX),
        )),
        None => Ok(()),
    }
}

fn config(matches: &ArgMatches, checkpoint: &Path) -> Result<ServeConfig, Failure> {
    let number = |name: &str| {
        let number = matches.get_one::<u32>(name).copied().unwrap_or(1);
        usize::try_from(number).unwrap_or(usize::MAX)
    };
    let missing = || Failure::Usage("an address was not given".to_owned());
    let host = *matches.get_one::<IpAddr>("host").ok_or_else(missing)?;
    let token = match matches.get_one::<String>("token") {
        Some(token) => Some(Token::new(token)),
        None if host.is_loopback() => None,
        None => Some(Token::random()),
    };
    Ok(ServeConfig {
        host,
        port: *matches.get_one::<u16>("port").ok_or_else(missing)?,
        token: token.transpose().map_err(failure)?,
        queue: number("queue"),
        rows: number("rows"),
        max_text: number("max-text"),
        language: matches.get_one::<Language>("language").cloned(),
        model: name(checkpoint),
        patience: Patience::default(),
        grace: Duration::from_secs(matches.get_one::<u64>("grace").copied().unwrap_or_default()),
    })
}

/// What a model is called: its run, or the folder of its weights.
fn name(checkpoint: &Path) -> String {
    let is_run_part = |path: &&Path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name != "checkpoints" && !name.starts_with("step_")
    };
    let absolute = checkpoint.canonicalize();
    let path = absolute.as_deref().unwrap_or(checkpoint);
    let folder = path.ancestors().find(is_run_part);
    let name = folder.and_then(Path::file_name).unwrap_or_default();
    match name.to_string_lossy() {
        name if name.is_empty() => "myxtts".to_owned(),
        name => name.into_owned(),
    }
}

/// An address that stands for all is reached by this machine's own.
fn url(address: SocketAddr) -> String {
    match address.ip().is_unspecified() {
        true => format!(
            "http://HOST:{} (HOST: a name of this machine)",
            address.port()
        ),
        false => format!("http://{address}"),
    }
}

fn said(served: &Served) -> String {
    let length = Seconds(served.audio_s);
    let cut = match served.cut {
        0 => String::new(),
        cut => format!(", {cut} cut off"),
    };
    format!(
        "{} texts were spoken, {length} of speech{cut}",
        served.texts
    )
}

/// Whether what was asked is at fault, or what was tried.
fn failure(error: ServeError) -> Failure {
    let words = error.to_string();
    match error {
        ServeError::Open(_)
        | ServeError::Token
        | ServeError::NoVoice(_)
        | ServeError::Voices { .. } => Failure::Usage(words),
        _ => Failure::Job(words),
    }
}

impl fmt::Display for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.url)?;
        if let Some(token) = &self.token {
            writeln!(f, "  token:      {token}")?;
        }
        writeln!(f, "  model:      {}", self.model)?;
        writeln!(f, "  checkpoint: {}", self.checkpoint.display())?;
        writeln!(f, "  voices:     {}", self.voices.join(", "))?;
        writeln!(f, "  languages:  {}", self.languages.join(", "))?;
        let (rows, queue) = (self.rows, self.queue);
        writeln!(f, "  together:   {rows}, and {queue} more may wait")?;
        writeln!(f, "  device:     {}", self.device)?;
        for notice in &self.notices {
            writeln!(f, "  notice: {notice}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_called_by_its_run_or_its_folder() {
        for (path, expected) in [
            ("/data/runs/default/checkpoints/step_000000100", "default"),
            ("/data/runs/anna", "anna"),
            ("/data/weights", "weights"),
            ("/", "myxtts"),
        ] {
            assert_eq!(name(Path::new(path)), expected);
        }
    }
}
