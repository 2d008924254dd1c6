//! Text into sound.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use burn::tensor::{Device, Int, Tensor};
use myxtts_audio::units::SampleRate;
use myxtts_infer::{Decoder, Event, SpeakOptions, Speech, Synthesizer, Utterance, Vocoder};
use myxtts_model::generate::{SamplingConfig, generate};
use myxtts_text::{Limit, clean};

use crate::tiny::{Tiny, language, options, recording};

fn sampling(seed: u64, codes: usize) -> SamplingConfig {
    SamplingConfig {
        max_codes: Some(codes),
        ..SamplingConfig::new(seed)
    }
}

fn speak(tiny: &Tiny, text: &str, sampling: SamplingConfig) -> Speech {
    let mut synthesizer = tiny.synthesizer();
    let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
    let speech = synthesizer.speak(text, &voice, &options("en", sampling));
    speech.unwrap()
}

#[test]
fn a_code_is_1024_samples_and_a_seed_says_the_same_again() {
    let tiny = Tiny::new(&["en"], 30);
    let speech = speak(&tiny, "Hello there.", sampling(4, 9));
    assert_eq!(speech.codes.len(), 9);
    assert!(!speech.stopped);
    assert_eq!(speech.waveform.samples.len(), 9 * 1024);
    assert_eq!(speech.waveform.rate, SampleRate::XTTS);
    let mel = speech.mel.unwrap();
    assert_eq!((mel.bands, mel.frames.0), (80, 9 * 4));
    assert!(speech.waveform.samples.iter().all(|x| x.is_finite()));
    assert!(speech.waveform.samples.iter().any(|x| x.abs() > 1e-4));
    let again = speak(&tiny, "Hello there.", sampling(4, 9));
    assert_eq!(again.codes, speech.codes);
    assert_eq!(again.waveform, speech.waveform);
    let other = speak(&tiny, "Hello there.", sampling(5, 9));
    assert_ne!(other.codes, speech.codes);
}

#[test]
fn greedy_is_what_the_model_generates_and_the_mel_what_the_dvae_decodes() {
    let tiny = Tiny::new(&["en"], 30);
    let mut synthesizer = tiny.synthesizer();
    let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
    let greedy = SamplingConfig {
        max_codes: Some(12),
        ..SamplingConfig::greedy()
    };
    let text = "The quick brown fox!";
    let speech = synthesizer
        .speak(text, &voice, &options("en", greedy))
        .unwrap();
    let cleaned = clean(text, &language("en")).text;
    let tokens = tiny.vocabulary.encode(&cleaned, &language("en")).unwrap();
    let generated = generate(&tiny.gpt.for_speaking(), voice.latents_1nd, &tokens, greedy).unwrap();
    assert_eq!(speech.codes, generated.codes);
    let ids: Vec<i64> = speech.codes.iter().map(|code| i64::from(*code)).collect();
    let ids = Tensor::<1, Int>::from_data(ids.as_slice(), &Device::flex());
    let mel = tiny.dvae.decode(ids.unsqueeze());
    assert_eq!(mel.dims(), [1, 80, 48]);
    assert_eq!(
        mel.into_data().try_to_vec::<f32>().unwrap(),
        speech.mel.unwrap().values
    );
}

#[test]
fn stop_and_start_are_no_sound() {
    use burn::module::Param;
    let mut tiny = Tiny::new(&["en"], 30);
    let symbols = tiny.card.gpt.vocabulary;
    let bias = |code: u32| {
        let mut bias = vec![0.0; symbols.audio_tokens()];
        bias[code as usize] = 1e4;
        Some(Param::from_data(bias.as_slice(), &Device::flex()))
    };
    tiny.gpt.mel_head.bias = bias(symbols.stop_audio());
    let speech = speak(&tiny, "Hello.", sampling(1, 5));
    assert!(speech.stopped && speech.codes.is_empty() && speech.waveform.is_empty());
    tiny.gpt.mel_head.bias = bias(symbols.start_audio());
    let greedy = SamplingConfig {
        max_codes: Some(5),
        ..SamplingConfig::greedy()
    };
    let speech = speak(&tiny, "Hello.", greedy);
    assert!(!speech.stopped && speech.codes.is_empty() && speech.waveform.is_empty());
}

#[test]
fn a_long_text_is_spoken_in_sentences_with_a_pause_between() {
    let tiny = Tiny::new(&["en"], 14);
    let text = "Hello there. Why? The fox jumps.";
    let pieces = tiny.vocabulary.split(text, &language("en"), Limit(14));
    let pieces = pieces.unwrap();
    assert!(pieces.len() > 1, "{pieces:?}");
    let greedy = SamplingConfig {
        max_codes: Some(4),
        ..SamplingConfig::greedy()
    };
    let apart: Vec<Speech> = pieces
        .iter()
        .map(|piece| speak(&tiny, piece, greedy))
        .collect();
    let whole = speak(&tiny, text, greedy);
    let waves: Vec<&[f32]> = apart.iter().map(|one| &one.waveform.samples[..]).collect();
    let pause = [0.0; 5513];
    assert_eq!(whole.waveform.samples, waves.join(&pause[..]));
    let codes: Vec<&[u32]> = apart.iter().map(|one| &one.codes[..]).collect();
    assert_eq!(whole.codes, codes.concat());
    let mel = |one: &Speech| one.mel.clone().unwrap();
    assert_eq!(mel(&whole).frames.0, 16 * pieces.len());
    for (band, row) in mel(&whole).rows().enumerate() {
        let apart: Vec<_> = apart.iter().map(mel).collect();
        let rows = apart.iter().map(|one| one.rows().nth(band).unwrap());
        assert_eq!(row, rows.collect::<Vec<_>>().concat());
    }
}

#[test]
fn a_text_longer_than_the_language_speaks_well_is_cut_too() {
    let tiny = Tiny::new(&["en"], 2000);
    let text = "Hello there, the quick brown fox. ".repeat(12);
    let speech = speak(&tiny, &text, sampling(1, 3));
    // 408 characters, of which English speaks 250 at a time.
    assert_eq!(speech.codes.len(), 2 * 3);
}

#[test]
fn a_model_with_a_decoder_speaks_through_it_and_at_any_speed() {
    let mut tiny = Tiny::new(&["en"], 30);
    let checkpoint = tiny.with_decoder();
    let device = Device::flex();
    let decoder = Decoder::load(&checkpoint, &tiny.card, &device).unwrap();
    let mut synthesizer = Synthesizer::new(tiny.modules(), decoder, &device).unwrap();
    assert_eq!(synthesizer.vocoder(None).unwrap(), Vocoder::Hifigan);
    let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
    let greedy = SamplingConfig {
        max_codes: Some(12),
        ..SamplingConfig::greedy()
    };
    let mut speak = |vocoder, speed| {
        let options = SpeakOptions {
            vocoder,
            speed,
            ..options("en", greedy)
        };
        let speech = synthesizer.speak("Hello there.", &voice, &options);
        speech.unwrap()
    };
    let said = speak(Vocoder::Hifigan, 1.0);
    assert_eq!(said.waveform.rate, SampleRate::VOCODER);
    // 12 codes are 48 frames, and 52 at the rate of the output, of 256 samples.
    assert_eq!(said.waveform.samples.len(), 52 * 256);
    assert!(said.mel.is_none());
    let fast = speak(Vocoder::Hifigan, 2.0);
    assert_eq!(fast.codes, said.codes);
    assert_eq!(fast.waveform.samples.len(), 26 * 256);
    let griffin_lim = speak(Vocoder::GriffinLim, 1.0);
    assert_eq!(griffin_lim.codes, said.codes);
    assert_eq!(griffin_lim.waveform.rate, SampleRate::XTTS);
    let slow = speak(Vocoder::GriffinLim, 0.5);
    assert_eq!(
        slow.waveform.samples.len(),
        2 * griffin_lim.waveform.samples.len()
    );
}

/// What is heard in parts is what is heard at once: codes to the last one, samples
/// within rounding, and the pause between sentences in its place.
#[test]
fn a_stream_is_the_whole_in_parts() {
    let mut tiny = Tiny::new(&["en"], 14);
    let checkpoint = tiny.with_decoder();
    let device = Device::flex();
    let decoder = Decoder::load(&checkpoint, &tiny.card, &device).unwrap();
    let mut synthesizer = Synthesizer::new(tiny.modules(), decoder, &device).unwrap();
    let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
    let text = "Hello there. Why? The fox jumps.";
    let whole = SpeakOptions {
        vocoder: Vocoder::Hifigan,
        ..options("en", sampling(3, 37))
    };
    let speech = synthesizer.speak(text, &voice, &whole).unwrap();
    let parts = SpeakOptions {
        stream: true,
        ..whole
    };
    let mut heard: Vec<Vec<f32>> = vec![];
    let said = synthesizer
        .stream(text, &voice, &parts, |samples| {
            heard.push(samples.to_vec());
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(said.codes, speech.codes);
    assert!(
        said.pieces > 1 && heard.len() > 3 * said.pieces,
        "{}",
        heard.len()
    );
    // The first sound comes long before the last code.
    assert!(heard[0].len() < speech.waveform.samples.len() / 8);
    let joined = heard.concat();
    assert_eq!(joined.len(), speech.waveform.samples.len());
    let apart = joined.iter().zip(&speech.waveform.samples);
    let worst = apart.fold(0.0_f32, |worst, (a, b)| worst.max((a - b).abs()));
    assert!(worst < 1e-5, "{worst}");

    // Whoever stops listening is not spoken to any more.
    let mut calls = 0;
    let said = synthesizer.stream(text, &voice, &parts, |_| {
        calls += 1;
        ControlFlow::Break(())
    });
    assert_eq!((calls, said.unwrap().codes.len()), (1, 0));
}

/// Texts that are spoken together are each spoken as alone, and one that is
/// cancelled leaves the others as they are.
#[test]
fn texts_spoken_together_are_spoken_as_alone() {
    let tiny = Tiny::new(&["en"], 30);
    let texts = ["Hello there.", "Why?", "The quick brown fox jumps."];
    let alone = texts.map(|text| speak(&tiny, text, sampling(4, 9)).waveform.samples);
    let mut synthesizer = tiny.synthesizer();
    let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
    let mut speaking = synthesizer.speaking(2);
    let tickets = texts.map(|text| {
        let utterance = Utterance {
            text: text.to_owned(),
            voice: voice.clone(),
            options: options("en", sampling(4, 9)),
        };
        speaking.admit(utterance).unwrap()
    });
    let _ = speaking.step();
    speaking.cancel(tickets[1]);
    let mut heard = BTreeMap::new();
    while !speaking.is_idle() {
        for event in speaking.step() {
            match event {
                Event::Sound(ticket, samples) => {
                    assert!(heard.insert(ticket, samples).is_none());
                }
                Event::Done(_, said) => assert_eq!(said.codes.len(), 9),
                Event::Failed(_, why) => panic!("{why}"),
            }
        }
    }
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[&tickets[0]], alone[0]);
    assert_eq!(heard[&tickets[2]], alone[2]);
}

/// A long text does not hold every row while a short one waits: the short one
/// takes the next row that is free, or, where one is kept for it, begins at once.
#[test]
fn a_long_text_leaves_room_for_a_short_one() {
    const CODES: usize = 9;
    let tiny = Tiny::new(&["en"], 30);
    let mut synthesizer = tiny.synthesizer();
    let voice = synthesizer.voice(&[recording(30_000)]).unwrap();
    let utterance = |text: &str| Utterance {
        text: text.to_owned(),
        voice: voice.clone(),
        options: options("en", sampling(4, CODES)),
    };
    let long = "The quick brown fox jumps. ".repeat(24);
    for (rows, keeps, most_steps) in [(3, false, 2 * CODES), (3, true, CODES), (2, true, CODES)] {
        let mut speaking = synthesizer.speaking(rows);
        if keeps {
            speaking = speaking.keeping_a_row();
        }
        let first = speaking.admit(utterance(&long)).unwrap();
        let _ = speaking.step();
        let second = speaking.admit(utterance("Why?")).unwrap();
        let mut ended = vec![];
        let mut steps = 0;
        while !speaking.is_idle() {
            steps += 1;
            for event in speaking.step() {
                match event {
                    Event::Sound(..) => {}
                    Event::Done(ticket, said) => ended.push((ticket, steps, said.pieces)),
                    Event::Failed(_, why) => panic!("{why}"),
                }
            }
        }
        let [(short, at, _), (last, _, pieces)] = ended[..] else {
            panic!("{ended:?}");
        };
        assert_eq!((short, last), (second, first));
        assert!(pieces > 2 * rows, "{pieces}");
        assert!(at <= most_steps, "{rows} {keeps}: {at} steps");
    }
}
