//! Codes made before a training.

use std::sync::Arc;

use burn::tensor::Device;
use myxtts_data::config::CacheKind;
use myxtts_run::observer::Silent;
use myxtts_run::signals::StopRequest;
use myxtts_train::TrainError;
use myxtts_train::placement::Placement;
use myxtts_train::session::{Encoded, TrainRequest, encode, run};

use crate::mini;

fn encoded(job: &TrainRequest, weights: &std::path::Path) -> Encoded {
    encode(
        job,
        weights,
        &Device::flex(),
        1,
        &StopRequest::new(),
        &mut |_, _| {},
    )
    .unwrap()
}

fn cached(cache: CacheKind, mut job: TrainRequest) -> TrainRequest {
    job.config.data.dataset.cache = cache;
    job
}

fn train(job: &TrainRequest) {
    let stop = StopRequest::install().unwrap();
    run(job, &Placement::on(&Device::flex()), stop, Arc::new(Silent)).unwrap();
    assert_eq!(mini::losses(&job.folder()).len(), 4);
}

#[test]
fn every_clip_is_encoded_once_and_again_for_another_dvae() {
    let folder = tempfile::tempdir().unwrap();
    let job = cached(CacheKind::None, mini::job(folder.path()));
    train(&job);
    let first = cached(CacheKind::Disk, job.clone());
    let counts = |encoded: &Encoded| (encoded.encoded, encoded.cached);
    let made = encoded(&first, &first.folder());
    assert_eq!(counts(&made), (8, 0));
    assert_eq!(made.notices, Vec::<String>::new());
    assert_eq!(counts(&encoded(&first, &first.folder())), (0, 8));

    // Another seed is another DVAE, and its codes are nobody else's.
    let mut other = mini::kept_in(&folder.path().join("other"), &job);
    other.config.training.run.seed = 4;
    train(&other);
    let mut other = cached(CacheKind::Disk, other);
    other.config.training.run.seed = first.config.training.run.seed;
    let again = encoded(&other, &other.folder());
    assert_eq!(counts(&again), (8, 0));
    insta::assert_snapshot!(again.notices.join("\n"));
    // The first one's are still there, and nothing is said about none.
    let back = encoded(&first, &first.folder());
    assert_eq!(counts(&back), (0, 8));
    assert_eq!(back.notices, Vec::<String>::new());
}

/// What a training keeps, `encode` finds: both go by the same names.
#[test]
fn codes_of_a_training_are_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    train(&job);
    let rest = encoded(&job, &job.folder());
    assert!(rest.cached >= 4, "two steps of two clips, and {rest:?}");
    assert_eq!(rest.encoded + rest.cached, 8);
}

#[test]
fn codes_that_cannot_be_kept_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    let refused = |job: &TrainRequest| {
        let error = encode(
            job,
            &job.folder(),
            &Device::flex(),
            1,
            &StopRequest::new(),
            &mut |_, _| {},
        )
        .unwrap_err();
        assert!(matches!(error, TrainError::Usage(_)));
        error.to_string()
    };
    let in_memory = cached(CacheKind::Memory, job.clone());
    insta::assert_snapshot!(refused(&in_memory));
    let mut loose = job;
    loose.plan.static_shapes = false;
    insta::assert_snapshot!(refused(&loose));
}
