//! `myxtts bench synth`: how fast text becomes speech, beside the Python reference where its
//! environment is given. The two take turns, so that both meet the same load of the machine.

mod error;
mod peer;
mod report;
mod subject;

use std::path::PathBuf;

use myxtts_base::process::peak_memory;
use myxtts_model::ModelSize;

use crate::frame::median;
pub use error::SynthError;
use peer::Peer;
pub use report::SynthReport;
use report::{Length, Reference};
use subject::Subject;

/// The lengths of the measured sentences, in codes: cost should be linear in them.
const LENGTHS: [usize; 3] = [100, 200, 400];
/// The length that the ratios are for.
const MAIN: usize = 200;

/// What to measure, and against whom.
#[derive(Clone, Debug)]
pub struct SynthRequest {
    /// The preset of the model.
    pub size: ModelSize,
    /// How often everything is measured.
    pub rounds: usize,
    /// The Python of the reference's environment.
    pub python: Option<PathBuf>,
    /// This program, which imports the reference's weights in a process of its own.
    pub program: PathBuf,
}

/// Measures speech on the CPU; `log` is given a line after each part.
pub fn measure(request: &SynthRequest, log: &dyn Fn(&str)) -> Result<SynthReport, SynthError> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = tempfile::tempdir().map_err(SynthError::Folder)?;
    let start = |python| Peer::start(python, request.size, threads, folder.path());
    let mut peer = request.python.as_deref().map(start).transpose()?;
    let subject = match &peer {
        Some(peer) => Subject::imported(&request.program, folder.path(), peer.tokens().to_vec())?,
        None => Subject::random(request.size)?,
    };
    log(&format!(
        "{}: {} rounds",
        request.size.name(),
        request.rounds
    ));
    let same_codes = warm_up(&subject, peer.as_mut())?;
    let mut lengths = vec![];
    for codes in LENGTHS {
        lengths.push(sentences(&subject, peer.as_mut(), codes, request.rounds)?);
        log(&format!("{codes} codes measured"));
    }
    let first = FirstAudio::measured(&subject, peer.as_mut(), request.rounds)?;
    let reference = peer.as_mut().map(|peer| first.reference(peer, same_codes));
    let reference = reference.transpose()?;
    let main = lengths.iter().find(|length| length.codes == MAIN);
    let sound = subject.seconds_of(MAIN);
    let over_theirs = |ours: f64| Some(ours / reference.as_ref()?.first_audio_s);
    Ok(SynthReport {
        size: request.size.name(),
        rounds: request.rounds,
        threads,
        rtf: main.map_or(f64::NAN, |main| main.seconds / sound),
        first_audio_s: first.ours_s,
        first_audio_samples: first.our_samples,
        later_first_audio_s: first.later_s,
        peak_rss_bytes: peak_memory(),
        ratio_to_reference: main.and_then(|main| Some(main.seconds / main.reference_s?)),
        first_audio_ratio: over_theirs(first.ours_s),
        later_first_audio_ratio: over_theirs(first.later_s),
        reference,
        seconds: lengths,
    })
}

/// Lets both sides speak once, unmeasured, and counts the greedy codes that are the same on both.
fn warm_up(subject: &Subject, peer: Option<&mut Peer>) -> Result<usize, SynthError> {
    subject.whole(LENGTHS[0])?;
    let Some(peer) = peer else {
        return Ok(0);
    };
    peer.whole(LENGTHS[0])?;
    let (theirs, ours) = (peer.codes(MAIN)?, subject.codes(MAIN)?);
    Ok(theirs.iter().zip(&ours).take_while(|(a, b)| a == b).count())
}

/// Measures sentences of one length on both sides in turn.
fn sentences(
    subject: &Subject,
    mut peer: Option<&mut Peer>,
    codes: usize,
    rounds: usize,
) -> Result<Length, SynthError> {
    let (mut ours, mut making, mut theirs) = (vec![], vec![], vec![]);
    for _ in 0..rounds {
        if let Some(peer) = &mut peer {
            theirs.push(peer.whole(codes)?);
        }
        let (whole, of_codes) = subject.whole(codes)?;
        ours.push(whole);
        making.push(of_codes);
    }
    Ok(Length {
        codes,
        seconds: median(ours),
        codes_s: median(making),
        reference_s: (!theirs.is_empty()).then(|| median(theirs)),
    })
}

/// How long a listener waits: medians in seconds, and the samples that come first.
struct FirstAudio {
    ours_s: f64,
    our_samples: usize,
    later_s: f64,
    theirs_s: f64,
    their_samples: usize,
}

impl FirstAudio {
    fn measured(
        subject: &Subject,
        mut peer: Option<&mut Peer>,
        rounds: usize,
    ) -> Result<Self, SynthError> {
        let (mut ours, mut later, mut theirs) = (vec![], vec![], vec![]);
        let (mut our_samples, mut their_samples) = (0, 0);
        for _ in 0..rounds {
            if let Some(peer) = &mut peer {
                let (seconds, samples) = peer.first()?;
                theirs.push(seconds);
                their_samples = samples;
            }
            let gpt = subject.gpt.without_voices();
            let (seconds, samples) = subject.first(&gpt)?;
            ours.push(seconds);
            our_samples = samples;
            let (seconds, _) = subject.first(&gpt)?;
            later.push(seconds);
        }
        Ok(Self {
            ours_s: median(ours),
            our_samples,
            later_s: median(later),
            theirs_s: median(theirs),
            their_samples,
        })
    }

    fn reference(&self, peer: &mut Peer, same_codes: usize) -> Result<Reference, SynthError> {
        Ok(Reference {
            first_audio_s: self.theirs_s,
            first_audio_samples: self.their_samples,
            peak_rss_bytes: peer.peak()?,
            same_codes,
            threads: peer.made.threads,
            torch: peer.made.torch.clone(),
            coqui_tts: peer.made.coqui_tts.clone(),
        })
    }
}
