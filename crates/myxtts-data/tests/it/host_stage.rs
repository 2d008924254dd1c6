//! The host stage against plain loops over whole files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use myxtts_audio::units::{SampleRate, Samples};
use myxtts_audio::{
    AudioConfig, Limits, Normalize, ResampleSpec, Resampler, Waveform, write_wav_f32,
    write_wav_pcm16,
};
use myxtts_data::host_stage::{Clip, HostBatch, HostStage, HostStageConfig, LostClips, Segments};
use myxtts_data::schedule::{
    Batch, BucketShape, ClipIndex, ClipLength, Companions, ConditioningSpec, Schedule,
    choose_buckets,
};
use myxtts_data::units::{Codes, Tokens};
use myxtts_testkit::SharedFolder;
use myxtts_text::{CleanOptions, Training, Vocabulary, clean};
use proptest::prelude::*;

const CONDITIONING: ConditioningSpec = ConditioningSpec {
    min: Samples(2_000),
    max: Samples(5_000),
};
const SEED: u64 = 11;

/// A few short recordings at two rates, and what is said in them.
struct Corpus {
    _folder: SharedFolder,
    clips: Vec<Clip>,
    vocabulary: Arc<Vocabulary>,
}

fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| {
        let folder = SharedFolder::new(env!("CARGO_TARGET_TMPDIR"), "stage");
        let texts = [
            "One boat.",
            "Two 2 boats, and rain.",
            "Nobody!",
            "The river, again",
            "A",
            "Rain",
        ];
        let clips: Vec<Clip> = (0_u16..)
            .zip(texts)
            .map(|(index, text)| {
                let hz = if index % 2 == 0 { 22_050 } else { 44_100 };
                let length = 1_500 + 2_900 * index;
                let samples = (0..length)
                    .map(|n| (f32::from(n) * 0.013 * f32::from(index + 1)).sin() * 0.7)
                    .collect();
                let waveform = Waveform {
                    samples,
                    rate: SampleRate::new(hz).unwrap(),
                };
                let audio = folder.path().join(format!("{index}.wav"));
                if index % 3 == 0 {
                    write_wav_f32(&audio, &waveform).unwrap();
                } else {
                    write_wav_pcm16(&audio, &waveform).unwrap();
                }
                Clip {
                    audio,
                    span: None,
                    text: text.to_owned(),
                    language: "en".parse().unwrap(),
                }
            })
            .collect();
        let training = Training {
            languages: vec!["en".parse().unwrap()],
            ..Training::default()
        };
        let cleaned = clips
            .iter()
            .map(|clip| clean(&clip.text, &clip.language).text);
        let vocabulary = Arc::new(Vocabulary::train(cleaned, &training).unwrap());
        Corpus {
            _folder: folder,
            clips,
            vocabulary,
        }
    })
}

fn config(segments: Segments) -> HostStageConfig {
    HostStageConfig {
        audio: AudioConfig {
            sample_rate: SampleRate::XTTS,
            trim_silence: false,
            normalize: Normalize::None,
        },
        limits: Limits::default(),
        text: CleanOptions::default(),
        conditioning: CONDITIONING,
        segments,
    }
}

pub(crate) fn stage(segments: Segments) -> HostStage<&'static [Clip]> {
    let corpus = corpus();
    HostStage::new(&corpus.clips, corpus.vocabulary.clone(), config(segments))
}

/// The samples of a file: a decoder of two encodings, byte by byte.
fn samples_of(path: &Path) -> Vec<f32> {
    let bytes = fs::read(path).unwrap();
    let rate = u32::from_le_bytes(bytes[24..28].try_into().unwrap());
    let data = &bytes[44..];
    let mut samples = Vec::new();
    if bytes[20] == 3 {
        for i in 0..data.len() / 4 {
            samples.push(f32::from_le_bytes(
                data[4 * i..4 * i + 4].try_into().unwrap(),
            ));
        }
    } else {
        for i in 0..data.len() / 2 {
            let value = i16::from_le_bytes([data[2 * i], data[2 * i + 1]]);
            samples.push(f32::from(value) / 32_768.0);
        }
    }
    let from = SampleRate::new(rate).unwrap();
    let mut samples = Resampler::new(from, SampleRate::XTTS, ResampleSpec::XTTS).process(&samples);
    for sample in &mut samples {
        *sample = sample.clamp(-1.0, 1.0);
    }
    samples
}

fn ids_of(clip: &Clip) -> Vec<i32> {
    let cleaned = clean(&clip.text, &clip.language).text;
    let ids = corpus()
        .vocabulary
        .encode(&cleaned, &clip.language)
        .unwrap();
    ids.into_iter()
        .map(|id| i32::try_from(id).unwrap())
        .collect()
}

pub(crate) fn lengths() -> &'static [ClipLength] {
    static LENGTHS: OnceLock<Vec<ClipLength>> = OnceLock::new();
    LENGTHS.get_or_init(|| {
        let length = |clip: &Clip| ClipLength {
            text: Tokens(u32::try_from(ids_of(clip).len()).unwrap()),
            audio: Codes(u32::try_from(samples_of(&clip.audio).len().div_ceil(1024)).unwrap()),
        };
        corpus().clips.iter().map(length).collect()
    })
}

/// Every value of a batch, checked against plain loops.
fn check(batch: &Batch, epoch: u64, segments: Segments, filled: &HostBatch) {
    let (n, t, s) = (
        batch.shape.audio.0 as usize * 1024,
        batch.shape.text.0 as usize,
        CONDITIONING.max.0,
    );
    assert_eq!(filled.rows(), batch.rows.len());
    assert_eq!(filled.shape(), batch.shape);
    assert_eq!(filled.clips(), batch.rows);
    assert_eq!(filled.wave_bn().len(), n * batch.rows.len());
    assert_eq!(filled.text_bt().len(), t * batch.rows.len());
    assert_eq!(filled.conditioning_bs().len(), s * batch.rows.len());
    for (row, index) in batch.rows.iter().enumerate() {
        let clip = index.map(|index| &corpus().clips[index.0 as usize]);
        let samples = clip.map_or(vec![], |clip| samples_of(&clip.audio));
        let ids = clip.map_or(vec![], ids_of);
        assert_eq!(filled.wave_lengths()[row], Samples(samples.len()));
        assert_eq!(filled.text_lengths()[row], Tokens(ids.len() as u32));
        for i in 0..n {
            let expected = samples.get(i).copied().unwrap_or(0.0);
            assert_eq!(
                filled.wave_bn()[row * n + i],
                expected,
                "row {row} sample {i}"
            );
        }
        for i in 0..t {
            let expected = ids.get(i).copied().unwrap_or(0);
            assert_eq!(
                filled.text_bt()[row * t + i],
                expected,
                "row {row} token {i}"
            );
        }
        let segment = filled.segments()[row];
        if let Some(index) = index {
            let expected = match segments {
                Segments::Drawn { seed } => {
                    CONDITIONING.segment(*index, Samples(samples.len()), seed, epoch)
                }
                Segments::Fixed => CONDITIONING.fixed(Samples(samples.len())),
            };
            assert_eq!(segment, expected);
        } else {
            assert_eq!((segment.start, segment.length), (Samples(0), Samples(0)));
        }
        for i in 0..s {
            let expected = if i < segment.length.0 {
                samples[segment.start.0 + i]
            } else {
                0.0
            };
            assert_eq!(
                filled.conditioning_bs()[row * s + i],
                expected,
                "row {row} at {i}"
            );
        }
    }
}

/// A voice from another clip of the speaker, against plain loops.
#[test]
fn a_companion_lends_its_voice_and_nothing_else() {
    let speakers = ["a", "b", "a", "c", "a", "b"].map(Some);
    let companions = Arc::new(Companions::of(speakers));
    let batch = Batch {
        bucket: 0,
        shape: BucketShape {
            text: lengths().iter().map(|length| length.text).max().unwrap(),
            audio: lengths().iter().map(|length| length.audio).max().unwrap(),
        },
        rows: (0..6).map(|clip| Some(ClipIndex(clip))).collect(),
    };
    for (epoch, segments) in [
        (0, Segments::Drawn { seed: SEED }),
        (1, Segments::Drawn { seed: SEED }),
        (0, Segments::Fixed),
    ] {
        let fill = |stage: HostStage<&'static [Clip]>| {
            let mut filled = stage.buffer(&batch);
            stage
                .fill(epoch, &batch, &mut filled, &mut stage.scratch())
                .unwrap();
            filled
        };
        let own = fill(stage(segments));
        let other = fill(stage(segments).conditioned_by(Some(Arc::clone(&companions))));
        assert_eq!(own.wave_bn(), other.wave_bn());
        assert_eq!(own.text_bt(), other.text_bt());
        let s = CONDITIONING.max.0;
        for (row, clip) in (0..6).map(ClipIndex).enumerate() {
            let companion = match segments {
                Segments::Drawn { seed } => companions.drawn(clip, seed, epoch).next(),
                Segments::Fixed => companions.fixed(clip).next(),
            };
            let place = row * s..(row + 1) * s;
            let Some(companion) = companion else {
                assert_eq!(speakers[row], Some("c"), "the only clip of its speaker");
                assert_eq!(own.segments()[row], other.segments()[row]);
                assert_eq!(
                    own.conditioning_bs()[place.clone()],
                    other.conditioning_bs()[place]
                );
                continue;
            };
            assert_eq!(other.segments()[row].length, Samples(0), "of itself");
            let samples = samples_of(&corpus().clips[companion.0 as usize].audio);
            let length = Samples(samples.len());
            let cut = match segments {
                Segments::Drawn { seed } => CONDITIONING.segment(clip, length, seed, epoch),
                Segments::Fixed => CONDITIONING.fixed(length),
            };
            let mut expected = samples[cut.start.0..cut.start.0 + cut.length.0].to_vec();
            expected.resize(s, 0.0);
            assert_eq!(other.conditioning_bs()[place], expected);
        }
    }
}

/// A companion that is gone is one more lost clip, and the next takes its place.
#[test]
fn a_companion_that_is_gone_is_replaced() {
    let mut clips = corpus().clips.to_vec();
    clips[1].audio = "gone.wav".into();
    let companions = Arc::new(Companions::of([Some("a"); 6]));
    let lost = Arc::new(LostClips::new(6, 0.5));
    let stage = HostStage::new(clips, corpus().vocabulary.clone(), config(Segments::Fixed))
        .conditioned_by(Some(companions))
        .skipping(Arc::clone(&lost));
    let batch = Batch {
        bucket: 0,
        shape: BucketShape {
            text: lengths()[0].text,
            audio: lengths()[0].audio,
        },
        rows: vec![Some(ClipIndex(0))],
    };
    let mut filled = stage.buffer(&batch);
    stage
        .fill(0, &batch, &mut filled, &mut stage.scratch())
        .unwrap();
    assert_eq!(lost.count(), 1);
    let samples = samples_of(&corpus().clips[2].audio);
    let cut = CONDITIONING.fixed(Samples(samples.len()));
    assert_eq!(
        filled.conditioning_bs()[..cut.length.0],
        samples[..cut.length.0]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn any_batches_through_one_dirty_buffer_equal_the_plain_loops(
        rows in prop::collection::vec(prop::collection::vec(prop::option::of(0_u32..6), 1..5), 1..4),
        room in prop::collection::vec((0_u32..9, 0_u32..4), 3),
        epoch in 0_u64..50, fixed: bool,
    ) {
        let segments = if fixed { Segments::Fixed } else { Segments::Drawn { seed: SEED } };
        let stage = stage(segments);
        let mut scratch = stage.scratch();
        let mut buffer = None;
        for (rows, (text, audio)) in rows.into_iter().zip(room) {
            let clips = rows.iter().flatten().map(|&clip| lengths()[clip as usize]);
            let needed = clips.fold((0, 0), |(t, a), clip| (clip.text.0.max(t), clip.audio.0.max(a)));
            let batch = Batch {
                bucket: 0,
                shape: BucketShape { text: Tokens(needed.0 + text), audio: Codes(needed.1 + audio) },
                rows: rows.into_iter().map(|clip| clip.map(ClipIndex)).collect(),
            };
            let buffer = buffer.get_or_insert_with(|| stage.buffer(&batch));
            stage.fill(epoch, &batch, buffer, &mut scratch).unwrap();
            check(&batch, epoch, segments, buffer);
        }
    }
}

#[test]
fn threads_in_any_order_fill_the_same_bytes() {
    let stage = stage(Segments::Drawn { seed: SEED });
    let shapes = choose_buckets(lengths(), 3);
    let schedule = Schedule::new(lengths(), &shapes, 2, 1, SEED).unwrap();
    let steps = schedule.steps_per_epoch();
    let fill = &|steps: Vec<u64>| -> Vec<(u64, HostBatch)> {
        let mut scratch = stage.scratch();
        let fill = |step: u64| {
            let batch = schedule.batch(1, step, 0).unwrap();
            let mut buffer = stage.buffer(&batch);
            stage.fill(1, &batch, &mut buffer, &mut scratch).unwrap();
            (step, buffer)
        };
        steps.into_iter().map(fill).collect()
    };
    let forward = fill((0..steps).collect());
    let every_second = &|first: u64| -> Vec<u64> {
        let mut steps: Vec<u64> = (first..steps).step_by(2).collect();
        steps.reverse();
        steps
    };
    let mut backward = std::thread::scope(|scope| {
        let workers = [0, 1].map(|first| scope.spawn(move || fill(every_second(first))));
        workers.map(|worker| worker.join().unwrap()).concat()
    });
    backward.sort_by_key(|(step, _)| *step);
    assert_eq!(forward, backward);
}

#[test]
fn epochs_cut_other_segments_and_keep_the_waveform() {
    let stage = stage(Segments::Drawn { seed: SEED });
    let batch = batch_of(5, 40, 40);
    let mut scratch = stage.scratch();
    let mut fill = |epoch| {
        let mut buffer = stage.buffer(&batch);
        stage
            .fill(epoch, &batch, &mut buffer, &mut scratch)
            .unwrap();
        buffer
    };
    let (one, two) = (fill(0), fill(1));
    assert_ne!(one.segments(), two.segments());
    assert_ne!(one.conditioning_bs(), two.conditioning_bs());
    assert_eq!(one.wave_bn(), two.wave_bn());
}

#[test]
fn a_buffer_keeps_its_memory_and_can_be_emptied() {
    let stage = stage(Segments::Fixed);
    let (large, small) = (batch_of(5, 60, 60), batch_of(0, 20, 20));
    let mut buffer = stage.buffer(&large);
    let bytes = buffer.bytes();
    assert!(
        bytes >= 4 * (60 * 1024 + 60 + CONDITIONING.max.0),
        "{bytes}"
    );
    let mut scratch = stage.scratch();
    for batch in [&large, &small, &large] {
        stage.fill(0, batch, &mut buffer, &mut scratch).unwrap();
        assert_eq!(buffer.bytes(), bytes);
    }
    buffer.reset();
    assert_eq!(buffer, HostBatch::for_shape(large.shape, 1, CONDITIONING));
}

fn batch_of(clip: u32, text: u32, audio: u32) -> Batch {
    Batch {
        bucket: 0,
        shape: BucketShape {
            text: Tokens(text),
            audio: Codes(audio),
        },
        rows: vec![Some(ClipIndex(clip))],
    }
}

#[test]
fn errors_name_the_clip_the_file_and_the_fix() {
    let corpus = corpus();
    let mut clips = corpus.clips.clone();
    clips[1].audio = PathBuf::from("DATA/gone.wav");
    clips[2].language = "fa".parse().unwrap();
    let stage = HostStage::new(clips, corpus.vocabulary.clone(), config(Segments::Fixed));
    let mut scratch = stage.scratch();
    let mut error = |batch: Batch| {
        let mut buffer = stage.buffer(&batch);
        let error = stage
            .fill(0, &batch, &mut buffer, &mut scratch)
            .unwrap_err();
        let folder = corpus.clips[0]
            .audio
            .parent()
            .unwrap()
            .display()
            .to_string();
        error.to_string().replace(&folder, "DATA")
    };
    let errors = [
        error(batch_of(99, 40, 40)),
        error(batch_of(1, 40, 40)),
        error(batch_of(2, 40, 40)),
        error(batch_of(5, 40, 3)),
        error(batch_of(3, 2, 40)),
    ];
    insta::assert_snapshot!(errors.join("\n\n"));
}
