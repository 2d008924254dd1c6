//! Whole frames, at the sizes people have.

use std::collections::BTreeMap;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use serde_json::Value;

use super::theme::Theme;
use super::{document, draw, text};
use crate::reading::Reading;
use crate::sample::{DeviceSample, HostSample, MachineSample};
use crate::source::News;
use crate::source::batch::BatchLine;
use crate::source::findings::Findings;
use crate::source::life::Life;
use crate::source::log::LogLine;
use crate::source::run::RunNews;
use crate::source::runs::RunEntry;
use crate::source::step::StepLine;
use crate::state::{Key, Page, State};
use crate::units::{Seconds, WallTime};

const NOW: WallTime = WallTime(10_000.0);
const PLAIN: Theme = Theme { color: false };

fn frame(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            draw(state, PLAIN, frame);
        })
        .unwrap();
    let shown = terminal.backend().to_string();
    let lines = shown.lines().map(|line| line.trim_matches('"').trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

fn entry(name: &str, life: Life) -> RunEntry {
    RunEntry {
        name: name.to_owned(),
        path: format!("runs/{name}").into(),
        life,
        written: Some(WallTime(NOW.0 - 1.0)),
    }
}

/// A wave, so that the pictures have a shape.
fn wave(step: u64) -> f64 {
    round((step as f64 / 12.0).sin())
}

/// To what every machine agrees on.
fn round(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}

fn step(step: u64) -> StepLine {
    StepLine {
        step,
        wall_time: Some(WallTime(NOW.0 - 300.0 + step as f64)),
        stage: Some("gpt".to_owned()),
        loss: Some(round(
            4.0 * (-(step as f64) / 150.0).exp() + 0.1 * wave(step),
        )),
        learning_rate: Some(1e-4),
        step_s: Some(Seconds(0.25 + 0.02 * wave(step))),
        data_wait_s: Some(Seconds(0.03 + 0.03 * wave(3 * step))),
        read_back_s: Some(Seconds(0.01)),
        padding: Some(0.08),
        audio_s: Some(Seconds(40.0)),
        pauses: match step % 100 {
            0 => vec![("checkpoint", Seconds(0.5)), ("validation", Seconds(2.0))],
            _ => vec![],
        },
        validation: match step % 100 {
            0 => vec![("val_loss_mel".to_owned(), 1.25)],
            _ => vec![],
        },
        ..StepLine::default()
    }
}

fn batch(stage: &str, at_us: u64, times: [u64; 3]) -> BatchLine {
    BatchLine {
        stage: stage.to_owned(),
        at_us,
        wait_in_us: times[0],
        busy_us: times[1],
        wait_out_us: times[2],
        occupancy: 3,
        decode_us: (stage == "host").then_some(times[1] / 2),
        ..BatchLine::default()
    }
}

fn sample(at: u64) -> MachineSample {
    MachineSample {
        wall_time: WallTime(NOW.0 - 120.0 + 2.0 * at as f64),
        host: HostSample {
            cpu_pct: Reading::Value(60.0 + 30.0 * wave(at)),
            memory_mb: Reading::Value(5120.0),
            memory_total_mb: Reading::Value(32_000.0),
        },
        devices: vec![
            DeviceSample {
                device: 0,
                name: "NVIDIA GeForce RTX 3090".to_owned(),
                utilisation_pct: Reading::Value(80.0 + 20.0 * wave(2 * at)),
                memory_used_mb: Reading::Value(18_000.0 + 100.0 * at as f64),
                memory_total_mb: Reading::Value(24_576.0),
                power_w: Reading::Value(320.0 + 25.0 * wave(at)),
                power_limit_w: Reading::Value(350.0),
                temperature_c: Reading::Value(78.0),
                clock_mhz: Reading::Value(1395.0),
                clock_max_mhz: Reading::Value(1695.0),
                throttle: Reading::Value(vec!["sw_power_cap".to_owned()]),
                pcie_gen: Reading::Value(4.0),
                pcie_gen_max: Reading::Value(4.0),
                pcie_width: Reading::Value(8.0),
                pcie_width_max: Reading::Value(16.0),
            },
            DeviceSample {
                device: 1,
                name: "AMD Radeon RX 7900 XTX".to_owned(),
                utilisation_pct: Reading::Value(12.0),
                memory_used_mb: Reading::Value(900.0),
                throttle: Reading::unavailable("the kernel exports no throttle reasons"),
                temperature_c: Reading::Value(41.0),
                ..DeviceSample::default()
            },
        ],
        note: None,
    }
}

fn findings() -> Findings {
    let text = r#"{"at_step": 250, "wall_time": 9940.0,
        "verdict": "moderately input-bound: 11.8 % waiting; largest cost: loading, try workers: 6",
        "findings": [
          {"code": "DATA_LOADING", "severity": "warning", "gain": {"estimate": 29.5},
           "cause": "the model waits for data 11.8 % of its time and the host stage is the slowest",
           "fix": "data.num_workers: 2 -> 6"},
          {"code": "THROTTLING", "severity": "warning", "gain": "unknown",
           "cause": "GPU 0 is held down by sw_power_cap", "fix": "raise the power limit or cool the card"}],
        "silent": [{"code": "PCIE_LINK", "reason": "not recorded"}]}"#;
    serde_json::from_str(text).unwrap()
}

fn news() -> RunNews {
    let progress = "step 250/400 (gpt 200/350, stage 2 of 2)  loss 0.9  speed 3.9 it/s  ETA 38 s";
    let log = [
        "checkpoint of step 200 written: 39.9 MB in 0.50 s",
        progress,
    ];
    RunNews {
        path: "runs/persian".into(),
        now: NOW,
        life: Life::Running { process: 4711 },
        written: Some(WallTime(NOW.0 - 1.0)),
        steps: (1..=250).map(step).collect(),
        batches: (0..300)
            .flat_map(|at| {
                [
                    batch("host", at, [0, 230_000, 20_000]),
                    batch("device", at, [120_000, 60_000, 70_000]),
                    batch("model", at, [30_000, 220_000, 0]),
                ]
            })
            .collect(),
        ledger_restarted: true,
        samples: (1..=60).map(sample).collect(),
        log: log.into_iter().filter_map(LogLine::parse).collect(),
        findings: Some(Ok(Some(findings()))),
        unreadable: 0,
        errors: vec![],
    }
}

fn running() -> State {
    let mut state = State::new("runs".into(), None);
    let runs = vec![
        entry("persian", Life::Running { process: 4711 }),
        entry("english", Life::Running { process: 4712 }),
        entry("older", Life::Ended),
    ];
    state.apply(News::Runs(runs), NOW);
    state.apply(News::Run(Box::new(news())), NOW);
    state
}

/// Keys by name: in which order they are kept depends on what else is built.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<String, Value> = map.into_iter().collect();
            let sorted = sorted
                .into_iter()
                .map(|(key, value)| (key, self::sorted(value)));
            Value::Object(sorted.collect())
        }
        Value::Array(values) => values.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// As a machine without a GPU answers.
fn without_gpu() -> MachineSample {
    MachineSample {
        devices: vec![],
        note: Some("wgpu: no adapter was found".to_owned()),
        ..sample(60)
    }
}

#[test]
fn the_overview_of_a_small_terminal() {
    insta::assert_snapshot!(frame(&running(), 80, 24));
}

#[test]
fn the_overview_of_a_large_terminal() {
    insta::assert_snapshot!(frame(&running(), 200, 60));
}

#[test]
fn the_pages_and_the_help() {
    let mut state = running();
    let mut shown = Vec::new();
    for page in Page::ALL.into_iter().skip(1) {
        state.press(Key::Page(page));
        shown.push(frame(&state, 80, 18));
    }
    state.press(Key::Help);
    shown.push(frame(&state, 80, 24));
    insta::assert_snapshot!(shown.join("\n=====\n"));
}

#[test]
fn no_run_and_no_gpu() {
    let mut state = State::new("runs".into(), None);
    let looking = frame(&state, 80, 10);
    state.apply(News::Runs(vec![]), NOW);
    state.apply(News::Machine(Box::new(without_gpu())), NOW);
    insta::assert_snapshot!([looking, frame(&state, 80, 10)].join("\n=====\n"));
}

#[test]
fn an_older_run_says_what_it_does_not_have() {
    let mut state = State::new("runs".into(), None);
    state.apply(News::Runs(vec![entry("persian", Life::Ended)]), NOW);
    let steps = (1..=3).map(|at| StepLine {
        step: at,
        wall_time: Some(WallTime(at as f64)),
        loss: Some(1.5),
        ..StepLine::default()
    });
    let older = RunNews {
        life: Life::Lost { process: 4711 },
        steps: steps.collect(),
        batches: vec![],
        samples: vec![],
        log: vec![],
        findings: None,
        unreadable: 2,
        errors: vec!["train.log: Permission denied (os error 13)".to_owned()],
        ..news()
    };
    state.apply(News::Run(Box::new(older)), NOW);
    state.apply(News::Machine(Box::new(without_gpu())), NOW);
    insta::assert_snapshot!(frame(&state, 80, 24));
}

#[test]
fn a_lost_device_and_a_reader_that_is_silent() {
    let mut state = running();
    let mut lost = sample(61);
    lost.devices.remove(0);
    lost.devices[0].utilisation_pct = Reading::unavailable("the card fell off the bus");
    let mut later = news();
    later.samples = vec![lost];
    later.steps.clear();
    state.apply(News::Run(Box::new(later)), NOW);
    state.now = WallTime(NOW.0 + 30.0);
    state.press(Key::Page(Page::Devices));
    insta::assert_snapshot!(frame(&state, 80, 18));
}

#[test]
fn the_frame_in_words_and_as_a_document() {
    let state = running();
    insta::assert_snapshot!("words", text::frame(&state));
    let document = sorted(document::frame(&state));
    let document = serde_json::to_string_pretty(&document).unwrap();
    insta::assert_snapshot!("document", document);
}

#[test]
fn a_document_says_why_something_is_missing() {
    let state = State::new("runs".into(), None);
    let expected = r#"{"folder":"runs","machine":{"unavailable":"the devices were not read"},"run":null,"runs":[],"wall_time":0.0}"#;
    assert_eq!(sorted(document::frame(&state)).to_string(), expected);
    let mut empty = running();
    empty.press(Key::NextRun);
    let document = document::frame(&empty);
    assert_eq!(
        document["run"]["step"]["unavailable"],
        "metrics.jsonl does not have it"
    );
    assert_eq!(
        document["run"]["ledger"]["unavailable"],
        "ledger.jsonl has no batch"
    );
}

/// Every size, so that no subtraction and no division is one too far.
#[test]
fn no_size_is_too_small_to_be_told_so() {
    let mut states = vec![running(), State::new("runs".into(), None)];
    for key in [Key::Page(Page::Devices), Key::Page(Page::Runs), Key::Help] {
        let mut state = running();
        state.press(key);
        state.scroll = 1000;
        states.push(state);
    }
    for width in [1, 2, 3, 5, 9, 17, 33, 39, 40, 41, 60, 79, 139, 140, 300] {
        for height in (1..12).chain([23, 37, 38, 60]) {
            for state in &states {
                frame(state, width, height);
            }
        }
    }
    let words = "too small: 22 x 4,\nneeds 40 x 8\n\n";
    assert_eq!(frame(&running(), 22, 4), words);
}

#[test]
fn without_colour_no_cell_has_one() {
    let colours = |theme: Theme| {
        let mut terminal = Terminal::new(TestBackend::new(200, 60)).unwrap();
        let state = running();
        terminal
            .draw(|frame| {
                draw(&state, theme, frame);
            })
            .unwrap();
        let cells = terminal.backend().buffer().content.iter();
        let coloured = cells.filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
        coloured.count()
    };
    assert_eq!(colours(PLAIN), 0);
    assert!(colours(Theme { color: true }) > 100);
}
