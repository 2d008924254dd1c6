//! Checks what a configuration must not say although each value alone is fine.
//!
//! This is part of loading, so that `train`, `plan`, `prepare`, `config show` and `config
//! validate` refuse the same configurations.

use myxtts_base::{Report, report};
use myxtts_config::{Problem, Problems, Settings};
use myxtts_data::layout::Columns;
use myxtts_model::gpt::{Vocabulary, check_frozen};
use myxtts_text::Language;
use myxtts_train::config::StageName;

use super::Config;

/// The number of bytes that file systems allow in a name.
const LONGEST_NAME: usize = 255;

/// Returns everything that is wrong, each with the place where it was written.
pub(super) fn check(settings: &Settings<Config>) -> Result<(), Problems> {
    let Config {
        data,
        model,
        training,
    } = &settings.config;
    let mut problems = Vec::new();
    let mut refuse = |key: &str, report: Report| {
        problems.push(Problem::of(&report, settings.place(key)));
    };
    if let Some(Err(why)) = data.dataset.language.as_deref().map(str::parse::<Language>) {
        refuse("data.language", report!("`data.language`: {why}"));
    }
    if let Some(Err(why)) = data.dataset.columns.as_deref().map(Columns::named) {
        refuse("data.columns", report!("`data.columns`: {why}"));
    }
    let (shortest, longest) = (data.shapes.conditioning_min, data.shapes.conditioning_max);
    if shortest.0 > longest.0 {
        let origin = |key: &str| {
            let setting = settings.layer().get(key);
            setting.map_or_else(String::new, |setting| format!(" ({})", setting.origin))
        };
        refuse(
            "data.conditioning_min",
            report!(
                "`data.conditioning_min` is {shortest}{}, longer than `data.conditioning_max`, \
                 {longest}{}",
                origin("data.conditioning_min"),
                origin("data.conditioning_max");
                fix: "set both, the shorter as the minimum"
            ),
        );
    }
    if let Some(why) = not_a_folder_name(&training.run.name) {
        refuse(
            "training.name",
            report!(
                "`training.name` must be one plain folder name below `runs`, and `{}` {why}",
                training.run.name.escape_debug();
                fix: "for a folder anywhere else: --checkpoint-dir DIR"
            ),
        );
    }
    // Weights of `training.init` have their own number of blocks, which the run knows only after
    // reading them.
    let frozen = training.run.freeze.as_deref().unwrap_or_default();
    if training.run.init.is_none()
        && let Err(why) = check_frozen(&model.size.gpt(Vocabulary::XTTS_V2), frozen)
    {
        refuse("training.freeze", report!("`training.freeze`: {why}"));
    }
    let has_init = training.run.init.is_some();
    let stages = training
        .run
        .stage
        .names(settings.is_chosen("training.stage"), has_init);
    if let Some(rank @ 1..) = training.strategy.adapters
        && let Some(why) = nothing_to_adapt(&stages, has_init)
    {
        refuse(
            "training.adapters",
            report!(
                "`training.adapters` is {rank}, and {why}";
                why: "adapters are learned beside the frozen weights of a GPT that was trained";
                fix: "--stage gpt --init DIR, or leave `training.adapters` out"
            ),
        );
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Problems(problems)),
    }
}

/// Says why a training has no GPT that could learn adapters.
fn nothing_to_adapt(stages: &[StageName], has_init: bool) -> Option<&'static str> {
    if !stages.contains(&StageName::Gpt) {
        return Some("this training has no GPT stage");
    }
    if !has_init {
        return Some("the GPT is a new one");
    }
    let has_dvae = stages.contains(&StageName::Dvae);
    has_dvae.then_some("the GPT after a DVAE stage is a new one")
}

fn not_a_folder_name(name: &str) -> Option<&'static str> {
    match name {
        "" => Some("is empty"),
        "." | ".." => Some("is a folder that already exists"),
        name if name.contains(['/', '\\']) => Some("is a path"),
        name if name.contains(char::is_control) => Some("has control characters"),
        name if name.len() > LONGEST_NAME => Some("is longer than a file system allows"),
        _ => None,
    }
}
