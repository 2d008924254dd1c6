//! Faults in the real pipeline, and what the doctor makes of them, on the CPU.
//! Two need a GPU: those are in `tests/software_gpu/trials.rs`.

use burn::tensor::Device;
use myxtts_doctor::Code;
use myxtts_train::placement::Placement;
use myxtts_train::probe::trials::{Bench, TRIALS, Trial, Tried, table};
use myxtts_train::session::TrainRequest;

use crate::mini;
use crate::small_stage::{mirrored, one, split};

/// Few: every fault is large beside a step.
const STEPS: u64 = 6;
/// Four lengths, and of each as many clips as fill whole batches.
const MILLISECONDS: [u32; 4] = [800, 1100, 1500, 2000];
const OF_EACH: usize = 12;

/// As many batches in flight as three replicas need.
fn with_room(mut job: TrainRequest) -> TrainRequest {
    (job.plan.in_flight, job.plan.in_flight_start) = (12, 12);
    job
}

fn three() -> Placement {
    Placement {
        data: vec![Device::flex(); 3],
        models: vec![Device::flex(); 3],
        ..mirrored()
    }
}

/// Tries some of the faults over so many steps each, and says what was found.
fn tried(steps: u64, is_wanted: impl Fn(&Trial) -> bool) -> Vec<Tried> {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job_of_lengths(folder.path(), &MILLISECONDS, OF_EACH);
    let replicas_job = with_room(job.clone());
    let (one, three) = (one(), three());
    let alone = Bench::new(&job, &one, steps).unwrap();
    let replicas = Bench::new(&replicas_job, &three, steps).unwrap();
    let trials = TRIALS.iter().filter(|trial| is_wanted(trial));
    let tried = trials.map(|trial| {
        let bench = if trial.needs_replicas {
            &replicas
        } else {
            &alone
        };
        let tried = bench.run(trial).unwrap();
        // Another program may take the cores for as long as a fault lasts; not
        // twice in a row.
        match tried.is_right() {
            true => tried,
            false => bench.run(trial).unwrap(),
        }
    });
    tried.collect()
}

fn all_are_right(tried: &[Tried]) {
    println!("{}", table(tried));
    let wrong: Vec<&Tried> = tried.iter().filter(|row| !row.is_right()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}\n{}", table(tried));
}

/// All but two that need a GPU, and one that needs the cores for itself.
#[test]
fn every_fault_is_named_first() {
    let tried = tried(STEPS, |trial| {
        !trial.needs_gpu && trial.code != Code::TooManyWorkers
    });
    all_are_right(&tried);
    assert_eq!(tried.len(), 9);
}

/// The same at rest, with more steps: the table of benchmarks/doctor.md.
#[test]
#[ignore = "for a machine at rest; benchmarks/doctor.md has what it says"]
fn every_fault_of_a_cpu() {
    all_are_right(&tried(4 * STEPS, |trial| !trial.needs_gpu));
}

/// Modes, batch sizes and accumulation.
#[test]
#[ignore = "a minute; benchmarks/doctor.md has what it says"]
fn nothing_is_found_in_healthy_trainings() {
    let folder = tempfile::tempdir().unwrap();
    let job = mini::job_of_lengths(folder.path(), &MILLISECONDS, OF_EACH);
    let modes = [
        ("single", one()),
        ("split", split()),
        ("mirrored", mirrored()),
    ];
    let mut runs = 0;
    for (mode, placement) in modes {
        for batch_size in [1, 2, 3] {
            for accumulation in [1, 2] {
                let mut job = with_room(job.clone());
                job.plan.batch_size = batch_size;
                job.plan.gradient_accumulation_steps = accumulation;
                let bench = Bench::new(&job, &placement, 4 * STEPS).unwrap();
                let found = bench.healthy().unwrap().findings;
                let what = format!("{mode}, batch size {batch_size} x {accumulation}");
                println!(
                    "{what}: {:?}",
                    found.iter().map(|f| f.code).collect::<Vec<_>>()
                );
                assert!(found.is_empty(), "{what}: {found:#?}");
                runs += 1;
            }
        }
    }
    assert_eq!(runs, 18);
}
