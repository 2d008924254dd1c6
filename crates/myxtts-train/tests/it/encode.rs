//! Codes made before a training.

use burn::tensor::Device;
use myxtts_run::signals::StopRequest;
use myxtts_train::TrainError;
use myxtts_train::placement::Placement;
use myxtts_train::session::{CacheKind, Encoded, Job, encode, run};

use crate::mini;

fn encoded(job: &Job, weights: &std::path::Path) -> Encoded {
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

fn train(job: &Job) {
    let stop = StopRequest::install().unwrap();
    run(job, &Placement::on(&Device::flex()), stop).unwrap();
    assert_eq!(mini::losses(&job.run).len(), 4);
}

#[test]
fn every_clip_is_encoded_once_and_again_for_another_dvae() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job {
        cache: CacheKind::None,
        ..mini::job(folder.path())
    };
    train(&job);
    let first = Job {
        cache: CacheKind::Disk,
        ..job.clone()
    };
    let counts = |encoded: &Encoded| (encoded.encoded, encoded.cached);
    let made = encoded(&first, &first.run);
    assert_eq!(counts(&made), (8, 0));
    assert_eq!(made.notices, Vec::<String>::new());
    assert_eq!(counts(&encoded(&first, &first.run)), (0, 8));

    // Another seed is another DVAE, and its codes are nobody else's.
    let other = Job {
        seed: 4,
        run: folder.path().join("other"),
        ..job
    };
    train(&other);
    let other = Job {
        seed: first.seed,
        cache: CacheKind::Disk,
        ..other
    };
    let again = encoded(&other, &other.run);
    assert_eq!(counts(&again), (8, 0));
    insta::assert_snapshot!(again.notices.join("\n"));
    // The first one's are still there, and nothing is said about none.
    let back = encoded(&first, &first.run);
    assert_eq!(counts(&back), (0, 8));
    assert_eq!(back.notices, Vec::<String>::new());
}

/// What a training keeps, `encode` finds: both go by the same names.
#[test]
fn codes_of_a_training_are_not_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    train(&job);
    let rest = encoded(&job, &job.run);
    assert!(rest.cached >= 4, "two steps of two clips, and {rest:?}");
    assert_eq!(rest.encoded + rest.cached, 8);
}

#[test]
fn codes_that_cannot_be_kept_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job(folder.path());
    let refused = |job: &Job| {
        let error = encode(
            job,
            &job.run,
            &Device::flex(),
            1,
            &StopRequest::new(),
            &mut |_, _| {},
        )
        .unwrap_err();
        assert!(matches!(error, TrainError::Usage(_)));
        error.to_string()
    };
    let in_memory = Job {
        cache: CacheKind::Memory,
        ..job.clone()
    };
    insta::assert_snapshot!(refused(&in_memory));
    let loose = Job {
        static_shapes: false,
        ..job
    };
    insta::assert_snapshot!(refused(&loose));
}
