use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::{Left, Numbers, Progress, StageNumbers, Style, quiet_line, terminal_line};
use crate::units::{Bytes, Step};

fn measured() -> Numbers {
    Numbers {
        step: Step(120),
        total: Some(Step(1000)),
        stage: None,
        loss: Some(3.21449),
        left: None,
        steps_per_second: Some(2.314),
        audio_per_second: Some(41.25),
        data_wait: Some(0.031),
        padding: Some(0.08),
        flops: Some(1.254e12),
        peak_flops: Some(12.7e12),
        memory_used: Some(Bytes(3 << 30)),
        memory_total: Some(Bytes(12 << 30)),
    }
}

/// One of two stages.
fn stage(number: usize, step: u64, total: u64) -> Option<StageNumbers> {
    Some(StageNumbers {
        name: "gpt",
        number,
        of: 2,
        step: Step(step),
        total: Step(total),
    })
}

fn left(seconds: u64, is_about: bool) -> Option<Left> {
    let time = Duration::from_secs(seconds);
    Some(Left { time, is_about })
}

#[test]
fn lines() {
    let all = measured();
    let none = Numbers {
        step: Step(7),
        ..Numbers::default()
    };
    let standing = Numbers {
        steps_per_second: Some(0.0),
        flops: Some(5e8),
        peak_flops: None,
        memory_total: None,
        ..all
    };
    let first = Numbers {
        stage: stage(1, 120, 400),
        left: left(3725, true),
        ..all
    };
    let unknown = Numbers {
        left: None,
        ..first
    };
    let known = Numbers {
        left: left(95, false),
        ..all
    };
    let second = Numbers {
        step: Step(700),
        stage: stage(2, 300, 600),
        ..all
    };
    let speeds = [90.0, 2.0, 0.1, 0.001];
    let mut said = vec![
        terminal_line(&all, 200),
        terminal_line(&all, 80),
        terminal_line(&all, 40),
        terminal_line(&none, 80),
        terminal_line(&standing, 200),
        quiet_line(&all),
        quiet_line(&first),
        quiet_line(&unknown),
        quiet_line(&known),
        quiet_line(&second),
        quiet_line(&none),
        quiet_line(&Numbers {
            loss: Some(f64::NAN),
            ..none
        }),
    ];
    said.extend(speeds.map(|speed| {
        let numbers = Numbers {
            steps_per_second: Some(speed),
            step: Step(120),
            total: Some(Step(1000)),
            ..none
        };
        terminal_line(&numbers, 80)
    }));
    insta::assert_snapshot!(said.join("\n"));
}

proptest! {
    #[test]
    fn a_terminal_line_fits(columns in 20..200_usize, loss in any::<f64>(), rate in any::<f64>()) {
        let numbers = Numbers { loss: Some(loss), steps_per_second: Some(rate), ..measured() };
        let line = terminal_line(&numbers, columns);
        prop_assert!(line.chars().count() < columns);
    }
}

/// What is shown when a step takes `milliseconds`.
fn shown(style: Style, steps: u64, milliseconds: u64) -> String {
    let mut out = Vec::new();
    let mut progress = Progress::new(&mut out, style);
    let start = Instant::now();
    for step in 1..=steps {
        let numbers = Numbers {
            step: Step(step),
            total: Some(Step(steps)),
            ..Numbers::default()
        };
        progress
            .update(&numbers, start + Duration::from_millis(step * milliseconds))
            .unwrap();
    }
    progress.finish().unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn a_terminal_is_redrawn_ten_times_a_second() {
    let drawn = shown(Style::Terminal { columns: 80 }, 50, 30);
    insta::assert_snapshot!(
        drawn
            .replace('\r', "<return>")
            .replace("\x1b[K", "<erase>\n")
    );
}

#[test]
fn a_log_gets_a_line_every_so_often() {
    let step = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.split("  ").next().unwrap().to_string())
            .collect()
    };
    let by_steps = step(&shown(Style::Quiet { every: 20 }, 50, 30));
    assert_eq!(
        by_steps,
        ["step 1/50", "step 20/50", "step 40/50", "step 50/50"]
    );
    let by_time = step(&shown(Style::Quiet { every: 1000 }, 7, 16_000));
    assert_eq!(by_time, ["step 1/7", "step 3/7", "step 5/7", "step 7/7"]);
}

#[test]
fn other_lines_find_a_clean_row() {
    let mut out = Vec::new();
    let mut progress = Progress::new(&mut out, Style::Terminal { columns: 80 });
    progress.clear().unwrap();
    progress.update(&measured(), Instant::now()).unwrap();
    progress.clear().unwrap();
    progress.finish().unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("\rstep") && text.ends_with("\r\x1b[K"),
        "{text:?}"
    );
}
