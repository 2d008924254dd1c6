//! Every message of the plan, as a person reads it.

use crate::support::{host, machine, request};
use myxtts_config::units::Megabytes;
use myxtts_device::{
    Adapter, Backend, BackendChoice, BackendReport, Gpu, GpuKind, Machine, PlanRequest, Precision,
    PrecisionChoice, Reading, plan,
};

fn text(gpus: u32, edit: impl FnOnce(&mut PlanRequest)) -> String {
    on(&machine(gpus), edit)
}

fn on(machine: &Machine, edit: impl FnOnce(&mut PlanRequest)) -> String {
    match plan(&request(edit), machine) {
        Ok(plan) => plan.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

/// Sets a key the way a person does.
fn choose(request: &mut PlanRequest, key: &str) {
    request.chosen.insert(key.to_owned());
}

#[test]
fn cpu() {
    insta::assert_snapshot!(text(0, |_| {}));
}

#[test]
fn cpu_with_multi_gpu_permitted() {
    insta::assert_snapshot!(text(0, |r| r.strategy.multi_gpu = true).lines().next().unwrap(), @"Notice: multi_gpu is on, 0 GPUs visible: training on the CPU");
}

#[test]
fn one_gpu() {
    insta::assert_snapshot!(text(1, |_| {}));
}

#[test]
fn one_gpu_with_multi_gpu_permitted() {
    insta::assert_snapshot!(text(1, |r| r.strategy.multi_gpu = true).lines().next().unwrap(), @"Notice: multi_gpu is on, 1 GPU visible: training on it alone");
}

#[test]
fn two_gpus_one_used() {
    let text = text(2, |_| {});
    insta::assert_snapshot!(text.lines().next().unwrap(), @"Multi-GPU disabled, using single GPU strategy (GPU 0 of 2 available)");
}

#[test]
fn mirrored() {
    insta::assert_snapshot!(text(2, |r| r.strategy.multi_gpu = true));
}

#[test]
fn split() {
    insta::assert_snapshot!(text(2, |r| {
        r.pipeline.data_gpu = Some(1);
        r.pipeline.model_gpu = Some(0);
    }));
}

#[test]
fn split_with_multi_gpu_permitted() {
    insta::assert_snapshot!(text(3, |r| {
        r.strategy.multi_gpu = true;
        r.pipeline.data_gpu = Some(1);
        r.pipeline.model_gpu = Some(0);
    }).lines().next().unwrap(), @"Notice: multi_gpu is on, but data_gpu and model_gpu name one GPU each: training on GPU 0 alone (drop model_gpu to train on every other visible GPU)");
}

#[test]
fn split_mirrored() {
    insta::assert_snapshot!(text(4, |r| {
        r.strategy.multi_gpu = true;
        r.strategy.visible_gpus = Some(vec![3, 1, 0]);
        r.pipeline.data_gpu = Some(1);
        r.pipeline.enable_memory_isolation = true;
    }));
}

#[test]
fn memory_isolation_on_one_gpu() {
    insta::assert_snapshot!(text(1, |r| r.pipeline.enable_memory_isolation = true));
}

#[test]
fn budgets_nobody_chose_shrink_to_the_gpu() {
    let small = Machine::assume(host(), 2, Megabytes(6000));
    let split = |r: &mut PlanRequest| {
        r.pipeline.enable_memory_isolation = true;
        r.pipeline.data_gpu = Some(0);
        r.pipeline.model_gpu = Some(1);
    };
    let budget = |machine: &Machine, edit: &dyn Fn(&mut PlanRequest)| {
        let plan = plan(&request(edit), machine).unwrap();
        (
            plan.data_device.memory_budget_mb,
            plan.model_devices[0].memory_budget_mb,
        )
    };
    let mb = |mb| Some(Megabytes(mb));
    assert_eq!(budget(&small, &split), (mb(6000), mb(6000)));
    let one = Machine::assume(host(), 1, Megabytes(6000));
    let isolated = |r: &mut PlanRequest| r.pipeline.enable_memory_isolation = true;
    assert_eq!(budget(&one, &isolated), (mb(2000), mb(4000)));
    let model_chosen = |r: &mut PlanRequest| {
        isolated(r);
        r.pipeline.model_gpu_memory = Megabytes(5000);
        choose(r, "data.model_gpu_memory");
    };
    assert_eq!(budget(&one, &model_chosen), (mb(1000), mb(5000)));
}

#[test]
fn budgets_somebody_chose_are_refused_when_they_do_not_fit() {
    insta::assert_snapshot!(text(2, |r| {
        r.pipeline.enable_memory_isolation = true;
        r.pipeline.data_gpu = Some(0);
        r.pipeline.model_gpu = Some(1);
        r.pipeline.model_gpu_memory = Megabytes(30_000);
        choose(r, "data.model_gpu_memory");
    }), @r"
    error: the memory budgets do not fit GPU 1 (assumed GPU 1)
      asked: --model-gpu-memory 30000
      found: 24576 MB
      fix:   give at most --model-gpu-memory 24576
    ");
    let shared = |r: &mut PlanRequest| {
        r.pipeline.enable_memory_isolation = true;
        r.pipeline.data_gpu_memory = Megabytes(10_000);
        r.pipeline.model_gpu_memory = Megabytes(20_000);
        choose(r, "data.data_gpu_memory");
        choose(r, "data.model_gpu_memory");
    };
    insta::assert_snapshot!(text(1, shared), @r"
    error: the memory budgets do not fit GPU 0 (assumed GPU 0)
      asked: --data-gpu-memory 10000, --model-gpu-memory 20000
      found: 24576 MB for both: data work and model share this device
      fix:   give two that add up to at most 24576, for example --data-gpu-memory 8192 --model-gpu-memory 16384
    ");
    insta::assert_snapshot!(text(1, |r| {
        shared(r);
        r.strategy.allow_fallback = true;
    }).lines().next().unwrap(), @"Fallback: memory budgets of 10000 MB and 20000 MB were given up: GPU 0 (assumed GPU 0) has 24576 MB");
}

#[test]
fn errors_of_the_strategy_table() {
    let ids = |data, model| {
        move |r: &mut PlanRequest| {
            r.pipeline.data_gpu = data;
            r.pipeline.model_gpu = model;
        }
    };
    insta::assert_snapshot!(text(1, ids(Some(0), Some(1))), @r"
    error: Insufficient GPUs for Multi-GPU Mode
      asked: data GPU 0, model GPU 1
      found: 1 GPU (0)
      fix:   list the GPUs with `nvidia-smi -L` or `myxtts devices`, then give two of their ids with --data-gpu and --model-gpu, or drop both flags
    ");
    insta::assert_snapshot!(text(4, |r| {
        ids(Some(0), Some(3))(r);
        r.strategy.visible_gpus = Some(vec![0, 1]);
    }), @r"
    error: Insufficient GPUs for Multi-GPU Mode
      asked: data GPU 0, model GPU 3
      found: 2 GPUs (0,1) visible, of 4 installed
      fix:   list the GPUs with `nvidia-smi -L` or `myxtts devices`, then give two of their ids with --data-gpu and --model-gpu, or drop both flags
    ");
    insta::assert_snapshot!(text(2, |r| {
        ids(Some(0), None)(r);
        r.strategy.multi_gpu = true;
    }), @r"
    error: Insufficient GPUs for Multi-GPU Mode
      asked: data GPU 0, multi_gpu on
      found: 2 GPUs (0,1)
      fix:   list the GPUs with `nvidia-smi -L` or `myxtts devices`, then use at least three GPUs, or give --model-gpu too for one data GPU and one model GPU, or drop --data-gpu
    ");
    insta::assert_snapshot!(text(2, ids(Some(1), Some(1))), @r"
    error: the data GPU and the model GPU are both 1
      asked: data GPU 1, model GPU 1
      found: 2 GPUs (0,1)
      fix:   give two different ids, or drop both flags to train on one GPU
    ");
    insta::assert_snapshot!(text(2, ids(Some(1), None)), @r"
    error: --data-gpu was given without --model-gpu
      asked: data GPU 1
      found: 2 GPUs (0,1)
      fix:   add --model-gpu N with another id, or --multi-gpu to train on every GPU but 1, or drop --data-gpu
    ");
    insta::assert_snapshot!(text(2, ids(None, Some(1))), @r"
    error: --model-gpu was given without --data-gpu
      asked: model GPU 1
      found: 2 GPUs (0,1)
      fix:   add --data-gpu N with another id, or use --visible-gpus N to train on one chosen GPU
    ");
    let visible = |ids: &[u32]| {
        let ids = ids.to_vec();
        move |r: &mut PlanRequest| r.strategy.visible_gpus = Some(ids)
    };
    insta::assert_snapshot!(text(2, visible(&[0, 0])), @r"
    error: GPU 0 is named twice in visible_gpus
      asked: visible GPUs 0,0
      fix:   name each id once
    ");
    insta::assert_snapshot!(text(2, visible(&[0, 5])), @r"
    error: unknown GPU 5 in visible_gpus
      asked: visible GPUs 0,5
      found: 2 GPUs (0,1)
      fix:   take ids from `myxtts devices` (or `nvidia-smi -L`), or leave visible_gpus out
    ");
    insta::assert_snapshot!(text(2, visible(&[])), @r"
    error: visible_gpus is an empty list
      fix:   name at least one id, or `all`; `--set training.backend=cpu` trains on the CPU
    ");
}

#[test]
fn fallbacks_say_what_was_given_up() {
    insta::assert_snapshot!(text(1, |r| {
        r.strategy.allow_fallback = true;
        r.pipeline.data_gpu = Some(0);
        r.pipeline.model_gpu = Some(1);
    }));
    insta::assert_snapshot!(text(0, |r| {
        r.strategy.allow_fallback = true;
        r.strategy.visible_gpus = Some(vec![0]);
    }).lines().next().unwrap(), @"Fallback: visible_gpus 0 was given up: found no GPUs, using the CPU");
}

/// A machine whose only GPU is reached through wgpu, and whose cuda says why not.
fn wgpu_machine(memory: Reading<Megabytes>) -> Machine {
    let gpu = Gpu {
        id: 0,
        backend: Backend::Wgpu,
        name: "Some Card".into(),
        kind: GpuKind::Discrete,
        memory,
        driver: "driver 1.0".into(),
        other_drivers: vec![],
        pci_address: None,
        precisions: vec![Precision::F32],
        adapter: Adapter::Kind(GpuKind::Discrete, 0),
    };
    let report = |backend, gpus, unavailable| BackendReport {
        backend,
        gpus,
        unavailable,
        note: None,
    };
    Machine {
        host: host(),
        backends: vec![
            report(
                Backend::Cuda,
                vec![],
                Some("libcuda is not installed".into()),
            ),
            report(Backend::Wgpu, vec![gpu], None),
        ],
    }
}

#[test]
fn precision_is_gated_by_the_device() {
    let machine = wgpu_machine(Reading::Value(Megabytes(8192)));
    let bf16 = |r: &mut PlanRequest| r.strategy.precision = PrecisionChoice::Bf16;
    insta::assert_snapshot!(on(&machine, bf16), @r"
    error: GPU 0 (Some Card) cannot compute in bf16
      asked: precision bf16
      found: f32
      fix:   choose one of those, or `auto`
    ");
    insta::assert_snapshot!(on(&machine, |r| {
        bf16(r);
        r.strategy.allow_fallback = true;
    }).lines().next().unwrap(), @"Fallback: precision bf16 was given up: GPU 0 (Some Card) computes in f32; using f32");
    assert_eq!(
        plan(&request(|_| {}), &machine).unwrap().precision,
        Precision::F32
    );
    assert_eq!(
        plan(&request(|_| {}), &crate::support::machine(2))
            .unwrap()
            .precision,
        Precision::Bf16
    );
    assert_eq!(
        plan(&request(bf16), &crate::support::machine(0))
            .unwrap()
            .precision,
        Precision::Bf16
    );
}

#[test]
fn a_named_backend_is_used_or_refused() {
    let machine = wgpu_machine(Reading::Unavailable("no".into()));
    let cuda = |r: &mut PlanRequest| r.strategy.backend = BackendChoice::Cuda;
    insta::assert_snapshot!(on(&machine, cuda), @r"
    error: the backend cuda has no GPU to use
      asked: training.backend cuda
      found: libcuda is not installed
      fix:   see `myxtts devices`, or set training.backend to auto
    ");
    insta::assert_snapshot!(on(&machine, |r| {
        cuda(r);
        r.strategy.allow_fallback = true;
    }));
    let cpu = plan(
        &request(|r| r.strategy.backend = BackendChoice::Cpu),
        &machine,
    )
    .unwrap();
    assert_eq!(cpu.data_device.backend, Backend::Cpu);
}

#[test]
fn a_ring_that_does_not_fit_the_buffer() {
    let ring = |r: &mut PlanRequest| {
        r.pipeline.prefetch_buffer_size = 60;
        choose(r, "data.prefetch_buffer_size");
    };
    insta::assert_snapshot!(text(1, ring), @r"
    error: the device ring does not fit the buffer
      asked: data.prefetch_buffer_size 60, data.pipeline_buffer_size 50
      found: the buffer bounds all batches in flight, and the host needs one of them
      fix:   set prefetch_buffer_size to at most 49, or pipeline_buffer_size to at least 61
    ");
    let start_value = plan(
        &request(|r| r.pipeline.pipeline_buffer_size = 4),
        &machine(1),
    )
    .unwrap();
    assert_eq!(start_value.ring_depth, 3);
    let off = plan(
        &request(|r| r.pipeline.prefetch_to_gpu = false),
        &machine(1),
    )
    .unwrap();
    assert_eq!(off.ring_depth, 0);
}

#[test]
fn workers_leave_a_core_unless_chosen() {
    let workers =
        |edit: &dyn Fn(&mut PlanRequest)| plan(&request(edit), &machine(1)).unwrap().workers;
    assert_eq!(workers(&|_| {}), 7, "8 cores, one left to launch kernels");
    assert_eq!(
        workers(&|r| r.pipeline.num_workers = Some(24)),
        7,
        "a preset is held to the host"
    );
    assert_eq!(workers(&|r| r.pipeline.num_workers = Some(2)), 2);
    assert_eq!(
        workers(&|r| {
            r.pipeline.num_workers = Some(24);
            choose(r, "data.num_workers");
        }),
        24,
        "what was asked for is done"
    );
}

#[test]
fn the_rows_of_a_step_count_replicas() {
    let plan = plan(
        &request(|r| {
            r.strategy.multi_gpu = true;
            r.strategy.gradient_accumulation_steps = 3;
            r.pipeline.batch_size = 10;
        }),
        &machine(4),
    );
    assert_eq!(plan.unwrap().rows_per_step, 120);
}

#[test]
fn the_json_document() {
    let plan = plan(
        &request(|r| {
            r.pipeline.data_gpu = Some(1);
            r.pipeline.model_gpu = Some(0);
        }),
        &machine(2),
    );
    insta::assert_snapshot!(serde_json::to_string_pretty(&plan.unwrap()).unwrap());
}

#[test]
fn kernel_fusion_is_a_matter_of_gpus() {
    let told = |gpus, on: bool| {
        let mut request = request(|request| request.strategy.enable_graph_mode = on);
        request.chosen.insert("training.enable_graph_mode".into());
        let plan = plan(&request, &machine(gpus)).unwrap();
        let reason = plan.reasons.iter().find(|reason| reason.contains("fusion"));
        (plan.graph_mode, reason.cloned().unwrap_or_default())
    };
    assert_eq!(told(1, true), (Some(true), String::new()));
    let (mode, reason) = told(1, false);
    assert_eq!(mode, Some(false));
    insta::assert_snapshot!(reason, @"kernel fusion is off: every operation runs on its own, for debugging");
    let (mode, reason) = told(0, false);
    assert_eq!(mode, None);
    insta::assert_snapshot!(reason, @"kernel fusion is off as asked: on the CPU every operation runs on its own anyway");
    let (mode, reason) = told(0, true);
    assert_eq!(mode, None);
    insta::assert_snapshot!(reason, @"kernel fusion was asked for and is for GPUs: the CPU has none");
}
