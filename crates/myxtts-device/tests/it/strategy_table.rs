//! Every cell of the strategy table, against a second reading of the contract.

use std::fmt::Write;

use crate::support::{machine, request};
use myxtts_device::{Plan, PlanError, Strategy, StrategyError, plan};

const GPUS: [u32; 4] = [0, 1, 2, 4];

/// (data, model), by the names of the table.
const IDS: [(&str, Option<u32>, Option<u32>); 10] = [
    ("none", None, None),
    ("valid", Some(0), Some(1)),
    ("valid reversed", Some(1), Some(0)),
    ("equal", Some(0), Some(0)),
    ("data alone", Some(0), None),
    ("data 1 alone", Some(1), None),
    ("model alone", None, Some(0)),
    ("model out of range", Some(0), Some(9)),
    ("data out of range", Some(9), Some(0)),
    ("data alone, out of range", Some(9), None),
];

fn visible_cases(gpus: u32) -> [(&'static str, Option<Vec<u32>>); 5] {
    [
        ("all", None),
        (
            "subset",
            Some(if gpus > 1 {
                (1..gpus).collect()
            } else {
                vec![0]
            }),
        ),
        (
            "reversed",
            Some(if gpus > 0 {
                (0..gpus).rev().collect()
            } else {
                vec![0]
            }),
        ),
        ("duplicate", Some(vec![0, 0])),
        ("unknown", Some(vec![0, 7])),
    ]
}

#[derive(Debug, PartialEq)]
enum Cell {
    Runs(Strategy, Option<u32>, Vec<u32>),
    Repeated,
    Unknown,
    Same,
    Alone,
    Insufficient,
}

/// The contract, read row by row.
fn contract(
    installed: u32,
    multi_gpu: bool,
    (data, model): (Option<u32>, Option<u32>),
    visible: Option<&Vec<u32>>,
) -> Cell {
    let all: Vec<u32> = (0..installed).collect();
    let visible = visible.unwrap_or(&all);
    for id in visible {
        if visible.iter().filter(|other| *other == id).count() > 1 {
            return Cell::Repeated;
        }
    }
    match (data, model, multi_gpu) {
        (Some(data), Some(model), _) if data == model => return Cell::Same,
        (Some(_), None, false) | (None, Some(_), _) => return Cell::Alone,
        _ => {}
    }
    if visible.iter().any(|id| *id >= installed) {
        return Cell::Unknown;
    }
    let others = |data: u32| {
        visible
            .iter()
            .copied()
            .filter(|id| *id != data)
            .collect::<Vec<_>>()
    };
    match (data, model, multi_gpu) {
        (Some(data), Some(model), _) => match visible.contains(&data) && visible.contains(&model) {
            true => Cell::Runs(Strategy::Split, Some(data), vec![model]),
            false => Cell::Insufficient,
        },
        (Some(data), None, _) if visible.len() >= 3 && visible.contains(&data) => {
            Cell::Runs(Strategy::SplitMirrored, Some(data), others(data))
        }
        (Some(_), None, _) => Cell::Insufficient,
        (None, _, multi_gpu) => match (visible.len(), multi_gpu) {
            (0, _) => Cell::Runs(Strategy::Cpu, None, vec![]),
            (1, _) | (_, false) => Cell::Runs(Strategy::OneDevice, None, vec![visible[0]]),
            (_, true) => Cell::Runs(Strategy::Mirrored, None, visible.clone()),
        },
    }
}

fn cell(result: &Result<Plan, PlanError>) -> Cell {
    match result {
        Ok(plan) => {
            let data = plan.data_device.physical;
            let split = matches!(plan.strategy, Strategy::Split | Strategy::SplitMirrored);
            let models = plan
                .model_devices
                .iter()
                .map(|device| device.physical)
                .collect();
            match plan.strategy {
                Strategy::Cpu => Cell::Runs(Strategy::Cpu, None, vec![]),
                strategy => Cell::Runs(strategy, split.then_some(data), models),
            }
        }
        Err(PlanError::Strategy(error)) => match error {
            StrategyError::RepeatedVisible { .. } => Cell::Repeated,
            StrategyError::UnknownVisible { .. } | StrategyError::NoneVisible => Cell::Unknown,
            StrategyError::SameGpu { .. } => Cell::Same,
            StrategyError::OneIdAlone { .. } => Cell::Alone,
            StrategyError::Insufficient { .. } => Cell::Insufficient,
        },
        Err(other) => panic!("not an error of the table: {other}"),
    }
}

/// Calls `visit` with every cell's description, request result and expectation.
fn every_cell(allow_fallback: bool, mut visit: impl FnMut(String, Result<Plan, PlanError>, Cell)) {
    for gpus in GPUS {
        for multi_gpu in [false, true] {
            for (ids, data, model) in IDS {
                for (seen, visible) in visible_cases(gpus) {
                    let expected = contract(gpus, multi_gpu, (data, model), visible.as_ref());
                    let request = request(|request| {
                        request.strategy.multi_gpu = multi_gpu;
                        request.strategy.visible_gpus = visible.clone();
                        request.strategy.allow_fallback = allow_fallback;
                        request.pipeline.data_gpu = data;
                        request.pipeline.model_gpu = model;
                    });
                    let name =
                        format!("{gpus} GPUs, multi_gpu {multi_gpu}, ids {ids}, visible {seen}");
                    visit(name, plan(&request, &machine(gpus)), expected);
                }
            }
        }
    }
}

#[test]
fn every_cell_follows_the_contract() {
    let mut cells = 0;
    every_cell(false, |name, result, expected| {
        assert_eq!(cell(&result), expected, "{name}");
        cells += 1;
    });
    assert_eq!(cells, GPUS.len() * 2 * IDS.len() * 5);
}

#[test]
fn every_error_says_what_was_asked_what_was_found_and_what_to_do() {
    every_cell(false, |name, result, _| {
        let Err(error) = result else { return };
        let text = error.to_string();
        assert!(text.contains("asked: "), "{name}: {text}");
        assert!(text.contains("fix:   "), "{name}: {text}");
        if !matches!(
            error,
            PlanError::Strategy(StrategyError::RepeatedVisible { .. })
        ) {
            assert!(text.contains("found: "), "{name}: {text}");
        }
        if let PlanError::Strategy(StrategyError::Insufficient { .. }) = error {
            assert!(
                text.starts_with("Insufficient GPUs for Multi-GPU Mode\n"),
                "{name}"
            );
            assert!(
                text.contains("nvidia-smi -L") && text.contains("myxtts devices"),
                "{name}"
            );
        }
    });
}

#[test]
fn nothing_falls_back_unless_allowed_and_then_it_says_so() {
    let mut plain = Vec::new();
    every_cell(false, |_, result, _| plain.push(result));
    let mut plain = plain.into_iter();
    every_cell(true, |name, result, expected| {
        let without = plain.next().unwrap();
        match expected {
            // What works needs no fallback and reports none.
            Cell::Runs(..) => {
                assert_eq!(cell(&result), expected, "{name}");
                assert!(result.unwrap().given_up.is_empty(), "{name}");
                assert!(without.unwrap().given_up.is_empty(), "{name}");
            }
            // Too little machine: allowed to fall back, never silently.
            Cell::Unknown | Cell::Insufficient => match result {
                Ok(plan) => assert!(!plan.given_up.is_empty(), "{name}"),
                Err(error) => assert_eq!(Err(error), without, "{name}"),
            },
            // A contradiction is not a shortage.
            Cell::Repeated | Cell::Same | Cell::Alone => assert_eq!(result, without, "{name}"),
        }
    });
}

#[test]
fn logical_numbers_count_the_data_device_first() {
    every_cell(false, |name, result, _| {
        let Ok(plan) = result else { return };
        let logical: Vec<u32> = plan.devices().iter().map(|device| device.logical).collect();
        let expected: Vec<u32> = (0..u32::try_from(logical.len()).unwrap()).collect();
        assert_eq!(logical, expected, "{name}");
        assert_eq!(plan.data_device.logical, 0, "{name}");
    });
}

#[test]
fn the_table_as_text() {
    let mut text = String::new();
    every_cell(false, |name, result, _| {
        let outcome = match result {
            Ok(plan) => {
                let models: Vec<u32> = plan.model_devices.iter().map(|d| d.physical).collect();
                format!(
                    "{:?}, data on {}, models on {models:?}",
                    plan.strategy,
                    plan.data_device.label()
                )
            }
            Err(error) => format!("error: {}", error.to_string().lines().next().unwrap()),
        };
        writeln!(text, "{name}: {outcome}").unwrap();
    });
    insta::assert_snapshot!(text);
}
