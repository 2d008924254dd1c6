//! Speaks on the CPU, in the first voice that is stored with a model: `speak RUN TEXT OUT.wav`.

use std::path::Path;

use myxtts::{Given, Model, Pick, VoiceSource};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [run, text, out] = arguments.as_slice() else {
        return Err("name a run, a text and a file for the speech".into());
    };
    let machine = myxtts::cpu();
    let settings = Given::default().load(&machine)?;
    let checkpoint = myxtts::resolve(Path::new(run), Pick::Newest)?;
    let mut model = Model::open(&settings, &machine, &checkpoint)?;
    let source = VoiceSource::named(None, &checkpoint)?;
    let voice = source.hear(&mut model.synthesizer)?.voice;
    let mut options = model.options(7)?;
    // A model of two steps has not learned when to stop; one that has needs neither limit.
    options.sampling.min_codes = 20;
    options.sampling.max_codes = Some(40);
    let speech = model.synthesizer.speak(text, &voice, &options)?;
    let wav = myxtts::wav_pcm16(&speech.waveform).ok_or("longer than a WAV file holds")?;
    std::fs::write(out, wav)?;
    Ok(())
}
