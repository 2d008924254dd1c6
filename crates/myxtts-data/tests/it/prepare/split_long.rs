//! Clips that are too long, in pieces.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use myxtts_audio::units::Samples;
use myxtts_audio::{AudioConfig, Limits, Loader, write_wav_pcm16};
use myxtts_data::dataset::{Corpus, train_vocabulary};
use myxtts_data::host_stage::{HostStage, HostStageConfig, Segments};
use myxtts_data::layout::Split;
use myxtts_data::prepare::{Request, earlier};
use myxtts_data::schedule::{Batch, BucketShape, ClipIndex, ConditioningSpec};
use myxtts_text::CleanOptions;

use super::support::{Dataset, speech};

/// Twelve short clips; a long one of four sentences with pauses between them, at a rate of
/// its own; one that never pauses; and one sentence that pauses.
fn dataset() -> Dataset {
    let mut data = Dataset::new();
    data.good_clips(12);
    let long = data.named(
        "long",
        "The first one is here, and it is long. Is this the second one? No! \
         That was only the third, and this is the last of them all.",
    );
    let parts = [(2.7, 0.6), (2.0, 0.5), (0.4, 0.7), (3.9, 0.3)].map(|(s, p)| (1.4 * s, p));
    write_wav_pcm16(&long, &speech("long", &parts, 32_000)).unwrap();
    let steady = data.named("steady", "One two three four. Five six seven eight.");
    write_wav_pcm16(&steady, &speech("steady", &[(12.0, 0.4)], 22_050)).unwrap();
    let single = data.named("single", "one two three four five six seven");
    write_wav_pcm16(
        &single,
        &speech("single", &[(6.0, 0.5), (6.0, 0.4)], 22_050),
    )
    .unwrap();
    data
}

fn splitting(data: &Dataset) -> Request<'static> {
    let mut request = data.request();
    request.settings.split_long = true;
    request
}

#[test]
fn a_long_clip_becomes_several() {
    let data = dataset();
    let left_out = data.prepare();
    assert_eq!(left_out.report.kept, 12);
    assert_eq!(left_out.report.split, None);

    let prepared = data.prepare_as(&splitting(&data)).unwrap();
    let report = &prepared.report;
    assert_eq!((report.total, report.kept, report.quarantined), (15, 13, 2));
    let pieces: Vec<_> = prepared.clips.iter().filter(|c| c.span.is_some()).collect();
    let split = report.split.as_ref().unwrap();
    assert_eq!((split.clips.count, split.not_split), (1, 2));
    assert_eq!(split.pieces, pieces.len() as u64);
    let texts: Vec<&str> = pieces.iter().map(|clip| clip.text.as_str()).collect();
    insta::assert_snapshot!(texts.join("\n"));
    let whys: Vec<&str> = prepared
        .quarantined
        .iter()
        .map(|q| q.why.as_str())
        .collect();
    insta::assert_snapshot!("why_not", whys.join("\n"));
    insta::assert_snapshot!("report", data.anonymous(report));
    assert!(report.check().is_ok(), "a long clip is not a bad one");

    let ids: BTreeSet<_> = prepared.clips.iter().map(|clip| &clip.id).collect();
    assert_eq!(ids.len(), prepared.clips.len());
    let hashes: BTreeSet<_> = pieces.iter().map(|clip| clip.content_hash()).collect();
    assert_eq!(hashes.len(), pieces.len(), "each has codes of its own");
}

#[test]
fn pieces_are_the_same_whatever_the_workers_and_are_found_again() {
    let data = dataset();
    let mut request = splitting(&data);
    let manifest = |request: &Request<'_>| {
        data.prepare_as(request).unwrap();
        fs::read(request.out.join("manifest.jsonl")).unwrap()
    };
    let three = manifest(&request);
    request.workers = std::num::NonZeroUsize::MIN;
    assert_eq!(manifest(&request), three);
    assert!(earlier(&request).unwrap().is_some());
    request.settings.split_long = false;
    assert!(earlier(&request).unwrap().is_none(), "other clips");
}

/// What a training reads is what was measured, also where recordings were converted.
#[test]
fn a_training_hears_the_piece() {
    let data = dataset();
    for convert in [false, true] {
        let mut request = splitting(&data);
        request.settings.convert = convert;
        request.settings.held_out_fraction = 0.0;
        let prepared = data.prepare_as(&request).unwrap();
        let vocabulary = Arc::new(train_vocabulary(&request.out).unwrap());
        let corpus = Corpus::read(&request.out, Split::Train, &vocabulary).unwrap();
        let mut loader = Loader::new(AudioConfig::default(), Limits::default());
        let config = HostStageConfig {
            audio: AudioConfig::default(),
            limits: Limits::default(),
            text: CleanOptions::default(),
            conditioning: ConditioningSpec {
                min: Samples(22_050),
                max: Samples(44_100),
            },
            segments: Segments::Fixed,
        };
        let stage = HostStage::new(&corpus.clips, Arc::clone(&vocabulary), config);
        let mut scratch = stage.scratch();
        let mut pieces = 0;
        for (index, clip) in corpus.clips.iter().enumerate() {
            let Some(span) = clip.span else { continue };
            pieces += 1;
            let heard = loader.load_span(&clip.audio, Some(span)).unwrap().waveform;
            assert_eq!(heard.len(), corpus.samples[index], "convert {convert}");
            let batch = Batch {
                bucket: 0,
                shape: BucketShape {
                    text: corpus.lengths[index].text,
                    audio: corpus.lengths[index].audio,
                },
                rows: vec![Some(ClipIndex(u32::try_from(index).unwrap()))],
            };
            let mut filled = stage.buffer(&batch);
            stage.fill(0, &batch, &mut filled, &mut scratch).unwrap();
            assert_eq!(filled.wave_lengths(), [heard.len()]);
            assert_eq!(filled.wave_bn()[..heard.len().0], heard.samples);
        }
        assert_eq!(pieces, prepared.report.split.unwrap().pieces);
    }
}

#[test]
fn a_recording_that_has_become_shorter_is_named() {
    let data = dataset();
    let prepared = data.prepare_as(&splitting(&data)).unwrap();
    let last = prepared
        .clips
        .iter()
        .rfind(|clip| clip.span.is_some())
        .unwrap();
    let path = data.wav("long");
    write_wav_pcm16(&path, &speech("long", &[(2.0, 0.1)], 32_000)).unwrap();
    let mut loader = Loader::new(AudioConfig::default(), Limits::default());
    let why = loader.load_span(&path, last.span).unwrap_err();
    insta::assert_snapshot!(data.anonymous(why));
}
