//! The sentences to speak, and their recordings.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use myxtts_audio::units::Span;
use myxtts_base::report;
use myxtts_config::Keys;
use myxtts_data::layout::{self, Split};
use myxtts_data::prepare::{Clip, MANIFEST, Manifest, place};
use myxtts_run::observer::Observer;
use myxtts_run::signals::StopRequest;
use myxtts_text::{Language, Vocabulary};
use serde::Deserialize;

use crate::dataset::{Part, dataset, output_folder, prepare_folder};
use crate::error::Error;
use crate::machine::without_gpus;
use crate::settings::{Given, Init, load_with};

/// The longest list that is read, in bytes: a hundred thousand sentences.
const LONGEST_LIST: u64 = 16 * 1024 * 1024;
/// The longest sentence, in bytes: a long page.
const LONGEST_SENTENCE: usize = 16 * 1024;

/// A sentence to speak.
#[derive(Clone, Debug)]
pub(super) struct Sentence {
    /// The name of the sentence in the report.
    pub(super) id: String,
    pub(super) text: String,
    /// A recording of the sentence.
    pub(super) recording: Option<PathBuf>,
    /// The part of the recording that says it, where not all of it does.
    pub(super) span: Option<Span>,
    /// The speaker of the sentence.
    pub(super) speaker: Option<String>,
    pub(super) language: Option<Language>,
}

/// The sentences of an evaluation.
#[derive(Debug)]
pub struct Sentences {
    pub(super) list: Vec<Sentence>,
    /// Where the sentences come from, in words.
    pub(super) from: String,
    /// What was left out, and why.
    pub(super) notices: Vec<String>,
}

impl Sentences {
    /// Reads the sentences of a list: one per line, or JSON lines.
    ///
    /// # Errors
    /// When it cannot be read, or has no sentence.
    pub fn of_file(path: &Path) -> Result<Self, Error> {
        of_file(path)?.checked()
    }

    /// Reads the held-out clips of a dataset; nothing is written to it.
    ///
    /// # Errors
    /// When it cannot be read, or has no clip.
    pub fn of_dataset(folder: &Path) -> Result<Self, Error> {
        of_dataset(folder)?.checked()
    }

    /// Takes what the run of a checkpoint was validated on, prepared as the run prepared it.
    ///
    /// # Errors
    /// When it is not a checkpoint of a run, or the run's dataset is gone.
    pub fn of_run(keys: &Keys, checkpoint: &Path, observer: &dyn Observer) -> Result<Self, Error> {
        of_run(keys, checkpoint, observer)?.checked()
    }

    /// Keeps the first so many sentences.
    #[must_use]
    pub fn limited(mut self, limit: usize) -> Self {
        let count = self.list.len();
        self.list.truncate(limit);
        if self.list.len() < count {
            self.from = format!("the first {} of {count} in {}", self.list.len(), self.from);
        }
        self
    }

    fn checked(self) -> Result<Self, Error> {
        match self.list.is_empty() {
            true => Err(Error::Refused(report!(
                "there is nothing to evaluate: no sentence in {}", self.from;
                fix: "write one sentence per line, or name another list with --sentences"
            ))),
            false => Ok(self),
        }
    }
}

fn of_file(path: &Path) -> Result<Sentences, Error> {
    let unreadable = |why: String| {
        Error::Refused(report!(
            "the sentences cannot be read: {why}";
            at: "{}", path.display();
            fix: "name a text file in UTF-8 with one sentence per line, or JSON lines with `text`"
        ))
    };
    let mut bytes = Vec::new();
    // One byte over the limit is enough to know, whatever the size claims.
    let read =
        File::open(path).and_then(|file| file.take(LONGEST_LIST + 1).read_to_end(&mut bytes));
    read.map_err(|why| unreadable(why.to_string()))?;
    if bytes.len() as u64 > LONGEST_LIST {
        return Err(unreadable(format!("it has more than {LONGEST_LIST} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|why| unreadable(why.to_string()))?;
    let is_json = path
        .extension()
        .is_some_and(|kind| kind == "jsonl" || kind == "json");
    let mut list = vec![];
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        if line.trim().is_empty() {
            continue;
        }
        if line.len() > LONGEST_SENTENCE {
            return Err(wrong_line(
                path,
                number,
                &format!(
                    "it has {} bytes, but at most {LONGEST_SENTENCE} are read",
                    line.len()
                ),
                "split it into sentences, one per line",
            ));
        }
        list.push(match is_json {
            true => of_json(path, number, line)?,
            false => Sentence {
                id: number.to_string(),
                text: line.trim().to_owned(),
                recording: None,
                span: None,
                speaker: None,
                language: None,
            },
        });
    }
    Ok(Sentences {
        list,
        from: path.display().to_string(),
        notices: vec![],
    })
}

/// A line of JSON; the fields of a prepared manifest are understood as well.
#[derive(Deserialize)]
struct JsonLine {
    id: Option<String>,
    text: String,
    #[serde(alias = "audio", alias = "audio_file", alias = "wav")]
    recording: Option<PathBuf>,
    speaker: Option<String>,
    language: Option<String>,
}

fn of_json(path: &Path, number: usize, line: &str) -> Result<Sentence, Error> {
    let wrong = |why: &str, fix: &str| wrong_line(path, number, why, fix);
    let line: JsonLine = serde_json::from_str(line).map_err(|why| {
        wrong(
            &format!("it is not a JSON object with `text`: {why}"),
            "write {\"text\": \"...\"}, and \"recording\", \"speaker\" and \"language\" if they are known",
        )
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let recording = line.recording.map(|name| folder.join(name));
    if let Some(missing) = recording.as_ref().filter(|recording| !recording.is_file()) {
        return Err(wrong(
            &format!("its recording {} is not there", missing.display()),
            "correct the path, which begins at the folder of the list, or leave it out",
        ));
    }
    let language = line.language.map(|tag| tag.parse::<Language>());
    let language = language.transpose().map_err(|why| {
        let why = why.to_string();
        wrong(
            why.lines().next().unwrap_or_default(),
            "write a language tag, such as en or fa",
        )
    })?;
    Ok(Sentence {
        id: line.id.unwrap_or_else(|| number.to_string()),
        text: line.text,
        recording,
        span: None,
        speaker: line.speaker,
        language,
    })
}

fn wrong_line(path: &Path, number: usize, why: &str, fix: &str) -> Error {
    Error::Refused(report!(
        "line {number} of the sentences cannot be used: {why}";
        at: "{}:{number}", path.display();
        fix: "{fix}"
    ))
}

/// Returns the held-out clips of a dataset: those a preparation held out, else those the dataset
/// sets apart, else all.
fn of_dataset(folder: &Path) -> Result<Sentences, Error> {
    let prepared = place(folder).map_err(Error::failed)?;
    if prepared.folder.join(MANIFEST).is_file() {
        return of_manifest(&prepared.folder, Some(Split::Validation));
    }
    let layout = layout::detect(folder, None).map_err(Error::refused)?;
    let rows = layout::rows(&layout).map_err(Error::failed)?;
    let (mut list, mut bad) = (vec![], vec![]);
    for row in rows {
        match row.map_err(Error::failed)? {
            Ok(entry) => list.push((
                entry.split,
                Sentence {
                    id: stem(&entry.audio),
                    text: entry.text,
                    recording: Some(entry.audio),
                    span: None,
                    speaker: entry.speaker,
                    language: entry.language.and_then(|tag| tag.parse().ok()),
                },
            )),
            Err(line) => bad.push(format!(
                "{}:{}: {}",
                line.place.file.display(),
                line.place.line,
                line.why
            )),
        }
    }
    let is_apart = |(split, _): &(Option<Split>, Sentence)| *split == Some(Split::Validation);
    let has_apart = list.iter().any(is_apart);
    if has_apart {
        list.retain(is_apart);
    }
    let which = match has_apart {
        true => "the validation clips of",
        false => "all clips, because none are held out, of",
    };
    let notices = bad.first().map(|first| {
        format!(
            "{} lines of the dataset name no clip and are left out; the first is {first}",
            bad.len()
        )
    });
    Ok(Sentences {
        list: list.into_iter().map(|(_, sentence)| sentence).collect(),
        from: format!("{which} {}", folder.display()),
        notices: notices.into_iter().collect(),
    })
}

/// Returns the clips of a part of a prepared folder; all clips if the part is empty.
fn of_manifest(folder: &Path, part: Option<Split>) -> Result<Sentences, Error> {
    let manifest = Manifest::open(folder).map_err(Error::failed)?;
    let mut clips: Vec<Clip> = vec![];
    for clip in manifest {
        clips.push(clip.map_err(Error::failed)?);
    }
    let is_wanted = |clip: &Clip| part.is_none_or(|part| clip.split == part);
    let has_part = clips.iter().any(is_wanted);
    if has_part {
        clips.retain(is_wanted);
    }
    let which = match (part, has_part) {
        (Some(_), true) => "the validation clips of",
        (Some(_), false) => "all clips, because none are held out, of",
        (None, _) => "the clips of",
    };
    let sentence = |clip: Clip| Sentence {
        id: clip.id,
        text: clip.text,
        recording: Some(folder.join(clip.audio)),
        span: clip.span,
        speaker: clip.speaker,
        language: clip.language.parse().ok(),
    };
    Ok(Sentences {
        list: clips.into_iter().map(sentence).collect(),
        from: format!("{which} {}", folder.join(MANIFEST).display()),
        notices: vec![],
    })
}

/// Returns what the run of a checkpoint was validated on, prepared as the run prepared it.
fn of_run(keys: &Keys, checkpoint: &Path, observer: &dyn Observer) -> Result<Sentences, Error> {
    let run = checkpoint.parent().and_then(Path::parent);
    let file = run
        .map(|run| run.join("config.yaml"))
        .filter(|file| file.is_file());
    let Some(file) = file else {
        return Err(Error::Refused(report!(
            "which sentences? {} is not a checkpoint of a run, whose validation clips could be \
             taken",
            checkpoint.display();
            fix: "name a list with --sentences FILE, or a dataset with --dataset DIR"
        )));
    };
    let lost = |why: &str| {
        Error::Refused(report!(
            "the validation clips of the run cannot be found: {why}";
            at: "{}", file.display();
            fix: "name a list with --sentences FILE, or a dataset with --dataset DIR"
        ))
    };
    // Of the environment only that which says what `~` stands for: the run's file holds the rest.
    let home = ["HOME", "USERPROFILE"].into_iter().filter_map(|name| {
        let value = std::env::var_os(name)?;
        Some((name.to_owned(), value.to_string_lossy().into_owned()))
    });
    let given = Given::default().with_file(&file).with_environment(home);
    // Which GPUs there are does not matter to a dataset.
    let settings = load_with(keys, &given, without_gpus, Init::IfThere)
        .map_err(|why| lost(&why.to_string()))?;
    let vocabulary = match &settings.config.training.run.vocab {
        Some(path) => Some(Vocabulary::read(path.as_ref()).map_err(|why| lost(&why.to_string()))?),
        None => None,
    };
    let named = &settings.config.data.dataset;
    let (folder, part, split) = match &named.val_data {
        Some(folder) => (PathBuf::from(folder), Part::Validation, None),
        None => {
            let folder = dataset(named.train_data.as_deref())?;
            (folder, Part::Training, Some(Split::Validation))
        }
    };
    // Nothing is held that a signal would have to release.
    let stop = StopRequest::new();
    let out = output_folder(named.prepared.as_deref(), &folder, part, observer)?;
    let ready = prepare_folder(&settings, folder, out, vocabulary.as_ref(), &stop, observer)
        .map_err(|why| lost(&why.to_string()))?;
    of_manifest(&ready.folder, split)
}

/// Returns the name of a recording's file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
