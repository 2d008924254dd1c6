//! Samples on the way: rendered beside the training where data has a device of
//! its own, and the same as when training waits for them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use myxtts_run::observer::Silent;
use myxtts_run::signals::StopRequest;
use myxtts_train::placement::Placement;
use myxtts_train::session::run;

use crate::mini;

/// Every file of the run's samples.
fn samples(run: &Path) -> BTreeMap<String, Vec<u8>> {
    let steps = std::fs::read_dir(run.join("samples")).unwrap();
    let files = steps.flat_map(|step| std::fs::read_dir(step.unwrap().path()).unwrap());
    files
        .map(|file| {
            let path = file.unwrap().path();
            let name = path.strip_prefix(run).unwrap().display().to_string();
            (name, std::fs::read(path).unwrap())
        })
        .collect()
}

#[test]
fn rendered_beside_the_training_they_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = mini::job(folder.path());
    let keys = &mut job.config.training.run;
    (keys.sample_count, keys.sample_every) = (2, 1);
    let here = Placement::on(&Device::flex());
    let beside = Placement {
        has_hop: true,
        ..here.clone()
    };
    let trained = [("here", here), ("beside", beside)].map(|(name, placement)| {
        let job = mini::kept_in(&folder.path().join(name), &job);
        run(
            &job,
            &placement,
            StopRequest::install().unwrap(),
            Arc::new(Silent),
        )
        .unwrap();
        job.folder()
    });
    let [waited, went_on] = trained.each_ref().map(|run| samples(run));
    // Step 1 and the last one of both stages: copies, then sentences.
    let names: Vec<&str> = waited.keys().map(String::as_str).collect();
    for step in ["step_1", "step_2", "step_3", "step_4"] {
        assert!(
            names.iter().any(|name| name.contains(step)),
            "no {step} in {names:?}"
        );
    }
    assert!(waited == went_on);
    let [waited, went_on] = trained.each_ref().map(|run| mini::losses(run));
    assert_eq!(waited, went_on);
}
