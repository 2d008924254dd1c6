//! Datasets made for a test.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use myxtts_audio::units::SampleRate;
use myxtts_audio::{Waveform, write_wav_pcm16};
use myxtts_data::prepare::{
    Clip, Manifest, PrepareError, Quarantine, Quarantined, Report, Request, Settings, prepare,
    unwatched,
};

pub struct Dataset {
    folder: tempfile::TempDir,
    metadata: Vec<u8>,
}

impl Dataset {
    /// An LJSpeech folder without a clip.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("wavs")).unwrap();
        Self {
            folder,
            metadata: Vec::new(),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn wav(&self, id: &str) -> PathBuf {
        self.path().join("wavs").join(format!("{id}.wav"))
    }

    /// A line of the metadata as bytes, whatever they are.
    pub fn line(&mut self, bytes: &[u8]) -> &mut Self {
        self.metadata.extend_from_slice(bytes);
        self.metadata.push(b'\n');
        fs::write(self.path().join("metadata.csv"), &self.metadata).unwrap();
        self
    }

    /// A clip whose recording the test writes itself.
    pub fn named(&mut self, id: &str, text: &str) -> PathBuf {
        self.line(format!("{id}|{text}").as_bytes());
        self.wav(id)
    }

    /// A clip that sounds like no other, at the model's rate.
    pub fn clip(&mut self, id: &str, seconds: f64, text: &str) {
        let path = self.named(id, text);
        write_wav_pcm16(&path, &tone(id, seconds, 22_050)).unwrap();
    }

    /// `count` clips of one to three seconds with as much text as they last.
    pub fn good_clips(&mut self, count: usize) {
        for n in 0..count {
            let seconds = 1.0 + (n % 5) as f64 * 0.4;
            let words = ["one", "two", "three", "four", "five", "six", "seven"];
            let text: Vec<&str> = (0..3 + (n % 5)).map(|w| words[(n + w) % 7]).collect();
            self.clip(&format!("good_{n:02}"), seconds, &text.join(" "));
        }
    }

    pub fn request(&self) -> Request<'static> {
        Request {
            dataset: self.path().to_owned(),
            out: self.path().join("myxtts"),
            vocabulary: None,
            next: vec![],
            workers: NonZeroUsize::new(3).unwrap(),
            settings: Settings::default(),
        }
    }

    pub fn prepare(&self) -> Prepared {
        self.prepare_as(&self.request()).unwrap()
    }

    pub fn prepare_as(&self, request: &Request<'_>) -> Result<Prepared, PrepareError> {
        let report = prepare(request, &mut unwatched)?;
        let clips = Manifest::open(&request.out)?.collect::<Result<Vec<_>, _>>()?;
        let quarantined = Quarantine::open(&request.out)?.collect::<Result<Vec<_>, _>>()?;
        let split = report.split.as_ref();
        let (split, pieces) = split.map_or((0, 0), |split| (split.clips.count, split.pieces));
        assert_eq!(report.kept - split + pieces, clips.len() as u64);
        assert_eq!(report.quarantined, quarantined.len() as u64);
        assert_eq!(report.total, report.kept + report.quarantined);
        assert_eq!(clips.len() as u64, report.train + report.validation);
        assert_eq!(report.quarantined, report.reasons.values().sum::<u64>());
        Ok(Prepared {
            report,
            clips,
            quarantined,
        })
    }

    /// Text with the folder's own path taken out.
    pub fn anonymous(&self, text: impl ToString) -> String {
        text.to_string()
            .replace(&self.path().display().to_string(), "DATASET")
    }
}

pub struct Prepared {
    pub report: Report,
    pub clips: Vec<Clip>,
    pub quarantined: Vec<Quarantined>,
}

impl Prepared {
    pub fn clip(&self, id: &str) -> &Clip {
        self.clips.iter().find(|clip| clip.id == id).unwrap()
    }
}

/// A steady tone whose pitch hangs on the name.
pub fn tone(name: &str, seconds: f64, rate: u32) -> Waveform {
    let pitch = 100.0
        + name
            .bytes()
            .fold(0_u32, |h, b| (h * 31 + u32::from(b)) % 4001) as f64
            / 10.0;
    let count = (seconds * f64::from(rate)) as usize;
    let sample = |n: usize| {
        let phase = n as f64 * pitch * std::f64::consts::TAU / f64::from(rate);
        (0.3 * phase.sin() + 0.1 * (3.0 * phase).sin()) as f32
    };
    Waveform {
        samples: (0..count).map(sample).collect(),
        rate: SampleRate::new(rate).unwrap(),
    }
}

/// Tones with silence after each, in seconds, as somebody reads sentence after sentence.
pub fn speech(name: &str, parts: &[(f64, f64)], rate: u32) -> Waveform {
    let mut samples = vec![];
    for (number, (sound, silence)) in parts.iter().enumerate() {
        samples.extend(tone(&format!("{name}{number}"), *sound, rate).samples);
        samples.resize(samples.len() + (silence * f64::from(rate)) as usize, 0.0);
    }
    Waveform {
        samples,
        rate: SampleRate::new(rate).unwrap(),
    }
}
