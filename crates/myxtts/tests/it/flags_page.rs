//! docs/reference/flags.md and `train --help` say the same, both ways.

use std::collections::BTreeMap;

use crate::support::myxtts;

/// Flag -> (default, meaning), from the page.
fn page() -> BTreeMap<String, (String, String)> {
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/flags.md");
    let text = std::fs::read_to_string(path).unwrap().replace("\\|", "/");
    let rows = text.lines().filter(|line| line.starts_with("| `--"));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let flag = cells[1]
            .trim_matches('`')
            .split_whitespace()
            .next()
            .unwrap();
        (flag.to_owned(), (cells[2].to_owned(), cells[4].to_owned()))
    })
    .collect()
}

/// Flag -> (default, meaning), from the help of a command.
fn help(command: &str) -> BTreeMap<String, (String, String)> {
    let text = myxtts(&[command, "--help"]).stdout;
    let mut flags = BTreeMap::new();
    let mut current: Option<(String, String)> = None;
    let mut finish = |current: &mut Option<(String, String)>| {
        if let Some((flag, words)) = current.take() {
            let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
            if let Some((meaning, default)) = words.rsplit_once(" [default: ") {
                let default = default.trim_end_matches(']').to_owned();
                flags.insert(flag, (default, meaning.to_owned()));
            }
        }
    };
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.starts_with("--") || trimmed.starts_with("-h") || !line.starts_with(' ') {
            finish(&mut current);
        }
        if trimmed.starts_with("--") {
            let flag = trimmed.split([' ', '[']).next().unwrap().to_owned();
            let rest = trimmed.trim_start_matches(&flag).trim();
            let rest = rest.strip_prefix('[').unwrap_or(rest);
            let words = match rest.strip_prefix('<') {
                Some(value) => value
                    .split_once('>')
                    .map_or("", |(_, rest)| rest.trim_start_matches(']')),
                None => rest,
            };
            current = Some((flag, words.to_owned()));
        } else if let Some((_, words)) = &mut current {
            words.push(' ');
            words.push_str(trimmed);
        }
    }
    finish(&mut current);
    flags
}

#[test]
fn the_page_and_the_help_agree_both_ways() {
    let page = page();
    assert!(page.len() > 35, "the page lists {} flags", page.len());
    let mut train = help("train");
    // A set of values, not a key of its own.
    train.remove("--quick");
    assert_eq!(train, page);
}

#[test]
fn plan_takes_every_training_flag() {
    let mut plan = help("plan");
    plan.remove("--assume-memory");
    assert_eq!(plan, page());
}

/// The flags of the contract, with the defaults it states.
#[test]
fn the_contract_is_on_the_page() {
    let page = page();
    for (flag, default) in [
        ("--config", "none"),
        ("--train-data", "sample corpus"),
        ("--val-data", "held-out split of train data"),
        ("--epochs", "by model size"),
        ("--max-steps", "none"),
        ("--batch-size", "by GPU profile"),
        ("--grad-accum", "by GPU profile"),
        ("--lr", "by model size"),
        ("--seed", "0"),
        ("--num-workers", "what the machine can use"),
        ("--model-size", "tiny"),
        ("--stage", "all"),
        ("--init", "none"),
        ("--data-gpu", "none"),
        ("--model-gpu", "none"),
        ("--multi-gpu", "off"),
        ("--visible-gpus", "all"),
        ("--buffer-size", "50"),
        ("--model-start-delay", "2.0"),
        ("--enable-memory-isolation", "off"),
        ("--data-gpu-memory", "8192"),
        ("--model-gpu-memory", "16384"),
        ("--enable-static-shapes", "on"),
        ("--disable-static-shapes", "off"),
        ("--max-text-length", "200"),
        ("--max-mel-frames", "800"),
        ("--buckets", "8"),
        ("--precision", "auto"),
        ("--graph-mode", "on"),
        ("--eager-debug", "off"),
        ("--cache", "disk"),
        ("--prefetch-to-gpu", "on"),
        ("--no-prefetch-to-gpu", "off"),
        ("--prefetch-buffer-size", "by GPU profile"),
        ("--optimization-level", "enhanced"),
        ("--gpu-profile", "auto"),
        ("--checkpoint-dir", "runs/NAME"),
        ("--resume", "auto"),
        ("--reset-training", "off"),
        ("--allow-fallback", "off"),
        ("--set", "none"),
    ] {
        assert_eq!(
            page.get(flag).map(|(default, _)| default.as_str()),
            Some(default),
            "{flag}"
        );
    }
}
