//! The two faults that only a GPU has. The engine reads its switch of fusion
//! once in a process, so each is tried in a process of its own.

use myxtts_device::discover::{discover, probe};
use myxtts_device::{Plan, PlanRequest, SoftwareGpus, plan};
use myxtts_doctor::{Code, Finding, Severity};
use myxtts_train::placement::Placement;
use myxtts_train::probe::trials::{Bench, TRIALS, Trial, Tried, table};
use myxtts_train::session::TrainRequest;

use crate::{mini, place, software};

const VARIABLE: &str = "TRIAL";
const STEPS: u64 = 8;
/// Every clip has a length of its own, so that every batch does.
const MILLISECONDS: [u32; 20] = {
    let mut lengths = [700; 20];
    let mut clip = 0;
    while clip < 20 {
        lengths[clip] += 35 * clip as u32;
        clip += 1;
    }
    lengths
};

#[test]
#[ignore = "minutes; benchmarks/doctor.md has what it says"]
fn faults_of_gpus_are_named_first() {
    if software::planned().is_none() {
        return;
    }
    let said = |trial: &str| software::alone("trials::child", &[(VARIABLE, trial)]);
    let tried = |text: &str, trial: &Trial| -> Tried {
        let line = text
            .split("tried: ")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap();
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let found = serde_json::from_value(row["found"].clone()).unwrap();
        Tried {
            fault: trial.fault,
            expected: trial.code,
            found,
            predicted_s: row["predicted_s"].as_f64(),
            measured_s: row["measured_s"].as_f64().unwrap(),
            faulty_step_s: row["faulty_step_s"].as_f64().unwrap(),
            mended_step_s: row["mended_step_s"].as_f64().unwrap(),
        }
    };
    let of = |code: Code| TRIALS.iter().find(|trial| trial.code == code).unwrap();
    let shapes = tried(&said("shapes"), of(Code::Recompiling));
    let mut fusion = tried(&said("eager"), of(Code::FusionOff));
    // With fusion, in another process.
    let fused = tried(&said("fused"), of(Code::FusionOff));
    fusion.mended_step_s = fused.mended_step_s;
    fusion.measured_s = 1000.0 * (fusion.faulty_step_s - fused.mended_step_s);
    let rows = [shapes, fusion];
    println!("{}", table(&rows));
    assert!(rows.iter().all(Tried::is_right), "{rows:#?}");
}

/// Modes by name: software GPUs, the GPUs of data and model, whether replicas are
/// allowed.
const MODES: [(&str, &str, [Option<u32>; 2], bool); 3] = [
    ("single", "1", [None, None], false),
    ("split", "2", [Some(1), Some(0)], false),
    ("mirrored", "2", [None, None], true),
];

/// Trainings that are well, in every mode and several sizes of batch. Two lengths of
/// clips, each in its own bucket.
#[test]
#[ignore = "minutes; benchmarks/doctor.md has what it says"]
fn nothing_is_found_in_healthy_trainings() {
    if software::planned().is_none() {
        return;
    }
    let _alone = place::COUNTED.lock();
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job_of_lengths(folder.path(), &[700, 1000], 12);
    for (mode, gpus, [data_gpu, model_gpu], multi_gpu) in MODES {
        let mut request = PlanRequest::default();
        request.pipeline.data_gpu = data_gpu;
        request.pipeline.model_gpu = model_gpu;
        request.strategy.multi_gpu = multi_gpu;
        let machine = discover(SoftwareGpus::from_value(Some(gpus)).unwrap(), probe);
        let plan = plan(&request, &machine).unwrap();
        let placement = Placement::of(&plan).unwrap();
        for (batch_size, accumulation) in [(2, 1), (1, 2)] {
            let mut job = on_devices_of(&plan, &job);
            job.plan.batch_size = batch_size;
            job.plan.gradient_accumulation_steps = accumulation;
            // As many batches in flight as two replicas need.
            (job.plan.in_flight, job.plan.in_flight_start) = (12, 12);
            let bench = Bench::new(&job, &placement, STEPS).unwrap();
            let found = bench.healthy().unwrap().findings;
            let codes: Vec<Code> = found.iter().map(|finding| finding.code).collect();
            println!("{mode}, batch size {batch_size} x {accumulation}: {codes:?}");
            // Between two software GPUs a batch goes through the host, which takes as long
            // as steps as short as these: told as a tip that gives nothing back.
            let is_hidden_hop = |finding: &Finding| {
                finding.code == Code::GpuTransfer
                    && finding.severity == Severity::Tip
                    && finding.gain.seconds().is_none_or(|gain| gain.0 <= 0.0)
            };
            let faults: Vec<&Finding> = found.iter().filter(|f| !is_hidden_hop(f)).collect();
            assert!(
                faults.is_empty() && (mode == "split" || found.is_empty()),
                "{mode}, {batch_size} x {accumulation}: {found:#?}"
            );
        }
    }
}

/// The same job on the devices of a plan.
fn on_devices_of(plan: &Plan, job: &TrainRequest) -> TrainRequest {
    let mut job = job.clone();
    job.plan.data_device = plan.data_device.clone();
    job.plan.model_devices = plan.model_devices.clone();
    job.plan.graph_mode = plan.graph_mode;
    job
}

#[test]
#[ignore = "run by the test above, in processes of its own"]
fn child() {
    let Ok(asked) = std::env::var(VARIABLE) else {
        return;
    };
    let mut request = PlanRequest::default();
    request.strategy.enable_graph_mode = asked != "eager";
    let machine = discover(SoftwareGpus::from_value(Some("1")).unwrap(), probe);
    let plan = plan(&request, &machine).unwrap();
    let placement = Placement::of(&plan).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job_of_lengths(folder.path(), &MILLISECONDS, 1);
    let mut job = on_devices_of(&plan, &job);
    job.config.data.shapes.buckets = 2;
    let code = match asked.as_str() {
        "shapes" => Code::Recompiling,
        _ => Code::FusionOff,
    };
    let trial = TRIALS.iter().find(|trial| trial.code == code).unwrap();
    let bench = Bench::new(&job, &placement, STEPS).unwrap();
    let tried = bench.run(trial).unwrap();
    println!("tried: {}", serde_json::to_string(&tried).unwrap());
}
