//! A page to look at and listen to: one file with all pictures inside, and the audio beside it.
//! Nothing on it is loaded from elsewhere.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use myxtts_audio::{Waveform, wav_pcm16};
use myxtts_base::report;
use myxtts_score::{Analysis, Comparison};

use super::picture;
use super::report::{Condition, Outcome, Report};
use super::table::rows;
use crate::error::Error;

const STYLE: &str = "\
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}\
table{border-collapse:collapse}td,th{text-align:left;padding:.15rem 1.2rem .15rem 0;border-bottom:1px solid #ddd}\
section{margin:2.5rem 0;border-top:2px solid #ddd}figure{margin:.6rem 0}figcaption{color:#555;font-size:.85rem}\
img{width:100%;height:160px;image-rendering:pixelated;background:#111}audio{width:100%;height:2rem}\
svg text{fill:#555}svg .grid{stroke:#ddd}svg .recording{stroke:#1f77b4}svg .clip{stroke:#d95f02}svg .path{stroke:#444}\
.recording-key{color:#1f77b4}.clip-key{color:#d95f02}.why{color:#a00}";

/// A page that grows sentence by sentence.
#[derive(Debug)]
pub(super) struct Page {
    folder: PathBuf,
    body: String,
    files: usize,
}

/// What there is to show of a sentence.
pub(super) struct Shown<'a> {
    pub(super) title: String,
    pub(super) outcome: &'a Outcome,
    pub(super) clip: Option<&'a Waveform>,
    pub(super) recording: Option<&'a Waveform>,
    pub(super) of_clip: Option<&'a Analysis>,
    pub(super) of_recording: Option<&'a Analysis>,
    pub(super) comparison: Option<&'a Comparison>,
}

impl Page {
    /// Begins a page, so that an unwritable folder is reported at once.
    pub(super) fn begin(folder: &Path) -> Result<Self, Error> {
        let page = Self {
            folder: folder.to_owned(),
            body: String::new(),
            files: 0,
        };
        fs::create_dir_all(folder)
            .and_then(|()| myxtts_files::temporary(folder, ".myxtts-").map(|_| ()))
            .map_err(|why| page.unwritable(&why))?;
        Ok(page)
    }

    fn unwritable(&self, why: &io::Error) -> Error {
        Error::Failed(report!(
            "the page cannot be written: {why}";
            at: "{}", self.folder.display();
            fix: "name a folder after --page that may be written to and has space"
        ))
    }

    /// Adds a sentence to the page.
    pub(super) fn add(&mut self, shown: &Shown<'_>) -> Result<(), Error> {
        let Shown { title, outcome, .. } = shown;
        let mut body = format!(
            "<section><h2>{}: {}</h2><p dir=\"auto\">{}</p>",
            escaped(&outcome.id),
            escaped(title),
            escaped(&outcome.text)
        );
        for (what, why) in [
            ("no audio", &outcome.failed),
            ("no scores", &outcome.unscored),
            ("no transcript", &outcome.unheard),
        ] {
            if let Some(why) = why {
                let _ = write!(body, "<p class=\"why\">{what}: {}</p>", escaped(why));
            }
        }
        if let Some(transcript) = &outcome.transcript {
            let _ = write!(
                body,
                "<p dir=\"auto\">the recogniser heard: {}</p>",
                escaped(transcript)
            );
        }
        for (caption, waveform, analysis) in [
            ("recording", shown.recording, shown.of_recording),
            (title.as_str(), shown.clip, shown.of_clip),
        ] {
            if let Some(waveform) = waveform {
                body.push_str(&self.clip(caption, waveform, analysis)?);
            }
        }
        if let (Some(recording), Some(clip), Some(comparison)) =
            (shown.of_recording, shown.of_clip, shown.comparison)
        {
            let path = &comparison.alignment.path;
            let _ = write!(
                body,
                "<figure><figcaption>pitch: <span class=\"recording-key\">recording</span>, \
                 <span class=\"clip-key\">{}</span> aligned to it</figcaption>{}</figure>\
                 <figure><figcaption>alignment</figcaption>{}</figure>",
                escaped(title),
                picture::pitch(&recording.pitch, &clip.pitch, path),
                picture::alignment(path)
            );
        }
        let _ = writeln!(body, "<p>{}</p></section>", scores(outcome));
        self.body.push_str(&body);
        Ok(())
    }

    /// Returns a clip as a figure: its length, its mel if there is one, and a player.
    fn clip(
        &mut self,
        caption: &str,
        waveform: &Waveform,
        analysis: Option<&Analysis>,
    ) -> Result<String, Error> {
        let (file, caption) = (self.sound(waveform)?, escaped(caption));
        let mut figure = format!(
            "<figure><figcaption>{caption}, {:.2} s</figcaption>",
            waveform.duration().0
        );
        if let Some(address) = analysis.and_then(|analysis| picture::mel(&analysis.mel)) {
            let _ = write!(
                figure,
                "<img alt=\"mel of the {caption}\" src=\"{address}\">"
            );
        }
        let _ = write!(
            figure,
            "<audio controls preload=\"none\" src=\"{file}\"></audio></figure>"
        );
        Ok(figure)
    }

    /// Writes a WAV file beside the page and returns its name.
    fn sound(&mut self, waveform: &Waveform) -> Result<String, Error> {
        let name = format!("{:04}.wav", self.files);
        let bytes = wav_pcm16(waveform).ok_or_else(|| {
            self.unwritable(&io::Error::other("a clip is longer than a WAV file holds"))
        })?;
        myxtts_files::replace(&self.folder.join(&name), &bytes)
            .map_err(|why| self.unwritable(&why))?;
        self.files += 1;
        Ok(name)
    }

    /// Writes the page, with the table at its beginning.
    pub(super) fn end(self, report: &Report) -> Result<PathBuf, Error> {
        let mut page = format!(
            "<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>Evaluation</title>\
             <style>{STYLE}</style></head><body>\n<h1>Evaluation</h1>\n<p>checkpoint {}<br>sentences {}<br>\
             voice {}<br>device {}</p>\n<table><tr><th></th>",
            escaped(&report.checkpoint.display().to_string()),
            escaped(&report.sentences),
            escaped(&report.voice),
            escaped(&report.device)
        );
        for title in report.conditions.iter().map(Condition::title) {
            let _ = write!(page, "<th>{}</th>", escaped(&title));
        }
        page.push_str("</tr>\n");
        for (label, cells) in rows(&report.conditions) {
            let _ = write!(page, "<tr><td>{}</td>", escaped(label));
            for cell in cells {
                let _ = write!(page, "<td>{}</td>", escaped(&cell));
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</table>\n");
        for notice in &report.notices {
            let _ = write!(page, "<p class=\"why\">{}</p>", escaped(notice));
        }
        page.push_str(&self.body);
        page.push_str("<section><h2>What the scores mean</h2><dl>");
        if let Some(meanings) = report.meanings.as_object() {
            for (name, meaning) in meanings {
                let meaning = meaning.as_str().unwrap_or_default();
                let _ = write!(
                    page,
                    "<dt>{}</dt><dd>{}</dd>",
                    escaped(name),
                    escaped(meaning)
                );
            }
        }
        page.push_str("</dl></section>\n</body></html>\n");
        let path = self.folder.join("index.html");
        myxtts_files::replace(&path, page.as_bytes()).map_err(|why| self.unwritable(&why))?;
        Ok(path)
    }
}

/// Returns the scores of a sentence in one line.
fn scores(outcome: &Outcome) -> String {
    let mut words = vec![];
    let mut add = |name: &str, value: Option<f64>, digits: usize, unit: &str| {
        if let Some(value) = value {
            words.push(format!("{name} {value:.digits$}{unit}"));
        }
    };
    add(
        "mel-cepstral distortion",
        outcome.mel_cepstral_distortion_db,
        2,
        " dB",
    );
    add("pitch error", outcome.f0_rmse_cents, 0, " cents");
    add(
        "voicing error",
        outcome.voicing_error.map(|share| share * 100.0),
        1,
        " %",
    );
    add(
        "voice similarity, by the model's own encoder,",
        outcome.own_voice_similarity,
        3,
        "",
    );
    let rate = outcome.words.and_then(myxtts_score::Edits::rate);
    add("word error rate", rate.map(|rate| rate * 100.0), 0, " %");
    words.join("; ")
}

/// Escapes text so that a browser shows it as it is.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            c => escaped.push(c),
        }
    }
    escaped
}
