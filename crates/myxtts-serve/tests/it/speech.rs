//! What is asked for is what comes.

use burn::tensor::Device;
use myxtts_audio::units::SampleRate;
use myxtts_audio::{Limits, ResampleSpec, Resampler, decode_bytes, pcm16, wav_pcm16};
use myxtts_infer::{SpeakOptions, Speech, Synthesizer};
use serde_json::{Value, json};

use crate::client::{Answer, get, speech};
use crate::running::{Server, weights};
use crate::tiny::recording;

const TEXT: &str = "Hello there. The fox jumps. Why?";

/// The same text by the model itself.
fn spoken(voice: usize, seed: u64) -> Speech {
    let folder = weights();
    let path = folder.path().join("weights");
    let mut synthesizer = Synthesizer::open(&path, &Device::flex()).unwrap();
    let bytes = wav_pcm16(&recording(voice)).unwrap();
    let recording = decode_bytes(&bytes, &Limits::default()).unwrap().waveform;
    let mut loader = myxtts_audio::Loader::new(synthesizer.card().audio.clone(), Limits::default());
    let file = folder.path().join("voice.wav");
    std::fs::write(&file, bytes).unwrap();
    let loaded = loader.load(&file).unwrap().waveform;
    assert_eq!(loaded.rate, recording.rate);
    let voice = synthesizer.voice(&[loaded]).unwrap();
    let card = synthesizer.card();
    let options = SpeakOptions {
        language: "en".parse().unwrap(),
        sampling: card.sampling().with_seed(seed, card.quirks),
        vocoder: synthesizer.vocoder(None).unwrap(),
        speed: 1.0,
        stream: false,
    };
    synthesizer.speak(TEXT, &voice, &options).unwrap()
}

fn ask(fields: Value) -> Value {
    let mut request = json!({ "model": "tiny", "input": TEXT, "voice": "anna" });
    for (key, value) in fields.as_object().unwrap() {
        request[key] = value.clone();
    }
    request
}

fn good(answer: Answer) -> Answer {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.is_whole);
    answer
}

/// The largest difference of 16-bit samples, as a share of full scale.
fn apart(a: &[u8], b: &[u8]) -> f32 {
    assert_eq!(a.len(), b.len());
    let samples = |bytes: &[u8]| -> Vec<i16> {
        let pairs = bytes.as_chunks::<2>().0.iter();
        pairs.map(|pair| i16::from_le_bytes(*pair)).collect()
    };
    let pairs = samples(a).into_iter().zip(samples(b));
    let largest = pairs.map(|(a, b)| a.abs_diff(b)).max().unwrap_or_default();
    f32::from(largest) / 32_768.0
}

/// Rounding of rows that advance together, and of parts of a waveform.
const TOLERANCE: f32 = 1e-3;

#[test]
fn a_request_is_spoken_as_the_model_speaks() {
    let server = Server::start(|_| {});
    let answer = good(speech(
        server.address,
        &ask(json!({ "response_format": "wav", "seed": 3 })),
    ));
    assert_eq!(answer.header("content-type"), Some("audio/wav"));
    let expected = spoken(30_000, 3);
    let rate = expected.waveform.rate.hz().to_string();
    assert_eq!(answer.header("x-sample-rate"), Some(rate.as_str()));
    let file = wav_pcm16(&expected.waveform).unwrap();
    assert_eq!(answer.body[..44], file[..44]);
    assert!(apart(&answer.body[44..], &file[44..]) <= TOLERANCE);
    // Another seed, another voice, another speed: another sound.
    for other in [
        json!({ "response_format": "wav", "seed": 4 }),
        json!({ "response_format": "wav", "seed": 3, "voice": "zoe" }),
        json!({ "response_format": "wav", "seed": 3, "voice": { "id": "zoe" } }),
        json!({ "response_format": "wav", "seed": 3, "speed": 2.0 }),
        json!({ "response_format": "wav", "seed": 3, "temperature": 5.0, "top_k": 0, "top_p": 1.0 }),
        json!({ "response_format": "wav", "seed": 3, "repetition_penalty": 20.0 }),
    ] {
        let body = good(speech(server.address, &ask(other.clone()))).body;
        assert_ne!(body, answer.body, "{other}");
    }
    let served = server.stop();
    assert_eq!((served.texts, served.cut), (7, 0));
    assert!(served.audio_s > 7.0, "{} s", served.audio_s);
}

#[test]
fn every_format_is_the_same_speech() {
    let server = Server::start(|_| {});
    let expected = spoken(30_000, 0).waveform;
    let length = expected.duration().0;
    let mut resampler = Resampler::new(
        expected.rate,
        SampleRate::VOCODER,
        ResampleSpec::KAISER_BEST,
    );
    let pcm = pcm16(&resampler.process(&expected.samples));
    for (format, kind) in [
        ("wav", "audio/wav"),
        ("flac", "audio/flac"),
        ("mp3", "audio/mpeg"),
        ("opus", "audio/ogg; codecs=opus"),
        ("pcm", "audio/pcm"),
    ] {
        for streamed in [false, true] {
            let fields = json!({ "response_format": format, "stream": streamed });
            let answer = good(speech(server.address, &ask(fields)));
            assert_eq!(answer.header("content-type"), Some(kind));
            let is_chunked = answer.header("transfer-encoding").is_some();
            assert_eq!(is_chunked, streamed, "{format}");
            match format {
                "pcm" => {
                    assert_eq!(answer.header("x-sample-rate"), Some("24000"));
                    assert!(apart(&answer.body, &pcm) <= TOLERANCE);
                }
                "opus" => assert_eq!(answer.body[..4], *b"OggS"),
                "wav" if streamed => assert_eq!(answer.body[..4], *b"RIFF"),
                _ => {
                    let heard = decode_bytes(&answer.body, &Limits::default()).unwrap();
                    let heard = heard.waveform.duration().0;
                    assert!(
                        (heard - length).abs() < 0.15,
                        "{format}: {heard} of {length} s"
                    );
                }
            }
        }
    }
    // What OpenAI's API sends where nobody says otherwise.
    let usual = good(speech(server.address, &json!({ "input": "Hello." })));
    assert_eq!(usual.header("content-type"), Some("audio/mpeg"));
    server.stop();
}

#[test]
fn streaming_equals_not_streaming() {
    let server = Server::start(|_| {});
    for text in ["Hello there.", TEXT] {
        let asked = |stream: bool| {
            let fields =
                json!({ "input": text, "response_format": "pcm", "stream": stream, "seed": 9 });
            good(speech(server.address, &ask(fields))).body
        };
        let (whole, streamed) = (asked(false), asked(true));
        assert!(!whole.is_empty());
        assert!(
            apart(&whole, &streamed) <= TOLERANCE,
            "{}",
            apart(&whole, &streamed)
        );
    }
    server.stop();
}

#[test]
fn events_carry_the_same_bytes() {
    let server = Server::start(|_| {});
    let stream = |form: &str| {
        let fields = json!({ "response_format": "pcm", "stream_format": form });
        good(speech(server.address, &ask(fields)))
    };
    let events = stream("sse");
    assert_eq!(events.header("content-type"), Some("text/event-stream"));
    let text = events.text();
    let mut bytes = Vec::new();
    let mut kinds = Vec::new();
    for event in text.split_terminator("\n\n") {
        let document: Value = serde_json::from_str(event.strip_prefix("data: ").unwrap()).unwrap();
        kinds.push(document["type"].as_str().unwrap().to_owned());
        bytes.extend(unbase64(document["audio"].as_str().unwrap_or_default()));
    }
    assert_eq!(kinds.pop().as_deref(), Some("speech.audio.done"));
    assert!(!kinds.is_empty() && kinds.iter().all(|kind| kind == "speech.audio.delta"));
    assert!(apart(&bytes, &stream("audio").body) <= TOLERANCE);
    server.stop();
}

fn unbase64(text: &str) -> Vec<u8> {
    let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for letter in text.trim_end_matches('=').chars() {
        bits = bits << 6 | letters.find(letter).unwrap() as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 255) as u8);
        }
    }
    bytes
}

#[test]
fn what_there_is_to_ask_for() {
    let server = Server::start(|_| {});
    let voices = get(server.address, "/v1/voices").json();
    assert_eq!(voices["data"][0]["id"], "anna");
    assert_eq!(voices["data"][1]["id"], "zoe");
    assert_eq!(voices["languages"], json!(["en"]));
    let models = get(server.address, "/v1/models").json();
    assert_eq!(models["data"][0]["id"], "tiny");
    assert_eq!(
        get(server.address, "/v1/models/tiny").json()["object"],
        "model"
    );
    assert_eq!(get(server.address, "/v1/models/other").status, 404);
    let health = get(server.address, "/health");
    assert_eq!(
        (health.status, health.text().as_str()),
        (200, "{\"status\":\"ok\"}")
    );
    good(speech(server.address, &ask(json!({}))));
    assert_eq!(server.metric("myxtts_texts_total{ending=\"spoken\"}"), 1.0);
    assert_eq!(server.metric("myxtts_first_audio_seconds_count"), 1.0);
    assert_eq!(server.metric("myxtts_queue_length"), 0.0);
    assert!(server.metric("myxtts_audio_seconds_total") > 0.5);
    assert!(server.metric("myxtts_real_time_factor") > 0.0);
    assert_eq!(server.metric("myxtts_requests_total{status=\"404\"}"), 1.0);
    server.stop();
}
