//! `myxtts serve`

use std::fmt;
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ArgMatches;
use myxtts::serve::{
    Patience, ServeConfig, ServeError, Served, Token, VoiceBook, bind, model_name,
};
use myxtts::speech::{Language, Seconds};
use myxtts::{StopSignal, report};
use serde::Serialize;

use super::model::{checkpoint, open_model};
use super::{parent, stop_request};
use crate::output::{Failure, Output};

/// The address of a server, and what it offers.
#[derive(Serialize)]
struct Started {
    url: String,
    /// The token, if one was generated.
    token: Option<String>,
    /// Whether clients must send a token.
    needs_token: bool,
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
    let mut config = config(matches, &checkpoint)?;
    let made = match config.host.is_loopback() || config.token.is_some() {
        true => None,
        false => Some(Token::random().map_err(failure)?),
    };
    config.token = config.token.or_else(|| made.clone());
    // The port is bound before the model is loaded, so that one in use is reported at once.
    let listening = bind(config.clone()).map_err(failure)?;
    let mut model = open_model(matches, &checkpoint)?;
    let folder = matches.get_one::<PathBuf>("voices").map(PathBuf::as_path);
    let voices = VoiceBook::gather(&mut model.synthesizer, &checkpoint, folder).map_err(failure)?;
    let stop = stop_request()?;
    let closed = Arc::new(AtomicBool::new(false));
    if matches.get_flag("parent") {
        let (closed, stop) = (Arc::clone(&closed), stop.clone());
        let leave = move || {
            // A signal that came first keeps its exit code.
            if !stop.is_asked() {
                closed.store(true, Ordering::Relaxed);
                stop.ask(StopSignal::Terminate);
            }
        };
        parent::when_gone(leave)
            .map_err(|why| Failure::Job(report!("standard input cannot be watched: {why}")))?;
    }
    let started = Started {
        url: format!("http://{}", listening.address()),
        token: made.map(|token| token.reveal().to_owned()),
        needs_token: config.token.is_some(),
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
        Some(signal) => {
            let by = match closed.load(Ordering::Relaxed) {
                true => "the end of standard input",
                false => signal.name(),
            };
            Err(Failure::Stopped(
                report!("stopped by {by}: {}", said(&served)),
                u8::try_from(signal.exit_code()).unwrap_or(u8::MAX),
            ))
        }
        None => Ok(()),
    }
}

fn config(matches: &ArgMatches, checkpoint: &Path) -> Result<ServeConfig, Failure> {
    let number = |name: &str| {
        let number = matches.get_one::<u32>(name).copied().unwrap_or(1);
        usize::try_from(number).unwrap_or(usize::MAX)
    };
    let missing = || Failure::Usage("no address was given".into());
    let host = *matches.get_one::<IpAddr>("host").ok_or_else(missing)?;
    let written = match matches.get_one::<PathBuf>("token-file") {
        Some(file) => Some(token_in(file)?),
        None => None,
    };
    let token = written
        .as_ref()
        .or_else(|| matches.get_one::<String>("token"));
    let token = token.map(|token| Token::new(token));
    Ok(ServeConfig {
        host,
        port: *matches.get_one::<u16>("port").ok_or_else(missing)?,
        token: token.transpose().map_err(failure)?,
        queue: number("queue"),
        rows: number("rows"),
        max_text: number("max-text"),
        language: matches.get_one::<Language>("language").cloned(),
        model: model_name(checkpoint),
        patience: Patience::default(),
        grace: Duration::from_secs(matches.get_one::<u64>("grace").copied().unwrap_or_default()),
    })
}

/// Reads the token in a file, which may end in a line break.
fn token_in(file: &Path) -> Result<String, Failure> {
    let text = fs::read_to_string(file).map_err(|why| {
        Failure::Usage(report!(
            "the token in {} cannot be read: {why}", file.display();
            fix: "name a file of text with --token-file"
        ))
    })?;
    Ok(text.trim_end().to_owned())
}

fn said(served: &Served) -> String {
    let length = Seconds(served.audio_s);
    let cut = match served.cut {
        0 => String::new(),
        cut => format!(", {cut} cut off"),
    };
    let texts = match served.texts {
        1 => "1 text was spoken".to_owned(),
        count => format!("{count} texts were spoken"),
    };
    format!("{texts}, {length} of speech{cut}")
}

/// Turns an error into a failure of usage or of the job.
fn failure(error: ServeError) -> Failure {
    let words = error.to_string();
    match error {
        ServeError::Open(_)
        | ServeError::Token
        | ServeError::NoVoice(_)
        | ServeError::Voices { .. } => Failure::usage(words),
        _ => Failure::job(words),
    }
}

impl fmt::Display for Started {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.url)?;
        match (&self.token, self.needs_token) {
            (Some(token), _) => writeln!(f, "  token:      {token}")?,
            (None, true) => writeln!(f, "  token:      the one you gave")?,
            (None, false) => {}
        }
        writeln!(f, "  model:      {}", self.model)?;
        writeln!(f, "  checkpoint: {}", self.checkpoint.display())?;
        writeln!(f, "  voices:     {}", self.voices.join(", "))?;
        writeln!(f, "  languages:  {}", self.languages.join(", "))?;
        let (rows, queue) = (self.rows, self.queue);
        writeln!(f, "  at once:    {rows}, and {queue} more may wait")?;
        writeln!(f, "  device:     {}", self.device)?;
        for notice in &self.notices {
            writeln!(f, "  notice: {notice}")?;
        }
        Ok(())
    }
}
