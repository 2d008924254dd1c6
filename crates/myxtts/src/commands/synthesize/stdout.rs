//! Writes audio to stdout, and nothing else.

use std::io::{self, Write};
use std::ops::ControlFlow;

use myxtts::speech::{Said, Samples, check_memory, no_sound, pcm16, wav_pcm16_header};
use myxtts::{SpeakOptions, Synthesizer, Voice, Waveform, report, wav_pcm16};

use super::failure;
use crate::cli::Format;
use crate::output::Failure;

/// Speaks a text to stdout while it is made. `None` if the listener left.
pub(super) fn stream(
    synthesizer: &mut Synthesizer,
    text: &str,
    voice: &Voice,
    options: &SpeakOptions,
    format: Format,
) -> Result<Option<(Said, Samples)>, Failure> {
    let options = SpeakOptions {
        stream: true,
        ..options.clone()
    };
    let rate = synthesizer.rate(options.vocoder);
    let mut length = Samples(0);
    let mut failed: Option<io::Error> = None;
    let said = synthesizer.stream(text, voice, &options, |samples| {
        // The header comes with the first audio: whatever fails before that leaves stdout empty.
        let header = match (length, format) {
            (Samples(0), Format::Wav) => wav_pcm16_header(rate),
            _ => vec![],
        };
        length.0 += samples.len();
        match send(&[&header, &pcm16(samples)]) {
            Ok(()) => ControlFlow::Continue(()),
            Err(why) => {
                failed = Some(why);
                ControlFlow::Break(())
            }
        }
    });
    match failed {
        Some(why) if why.kind() == io::ErrorKind::BrokenPipe => return Ok(None),
        Some(why) => return Err(unwritten(&why)),
        None => {}
    }
    let said = said.map_err(failure)?;
    check_memory()?;
    match length {
        Samples(0) => Err(Failure::Job(no_sound())),
        length => Ok(Some((said, length))),
    }
}

/// Writes a whole recording.
pub(super) fn whole(waveform: &Waveform, format: Format) -> Result<(), Failure> {
    let bytes = match format {
        Format::Wav => wav_pcm16(waveform).unwrap_or_else(|| {
            [wav_pcm16_header(waveform.rate), pcm16(&waveform.samples)].concat()
        }),
        Format::Pcm => pcm16(&waveform.samples),
    };
    match send(&[&bytes]) {
        Err(why) if why.kind() != io::ErrorKind::BrokenPipe => Err(unwritten(&why)),
        _ => Ok(()),
    }
}

fn send(parts: &[&[u8]]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    for part in parts {
        stdout.write_all(part)?;
    }
    stdout.flush()
}

fn unwritten(why: &io::Error) -> Failure {
    Failure::Job(report!(
        "the audio cannot be written to stdout: {why}";
        fix: "send it to a player or to a disk with space"
    ))
}
