//! Configuration files as people write them, good and bad.

use crate::support::{Cache, Config, Resume, ResumeWord, keys};
use myxtts_config::{Layer, Origin, Problems, Settings, Source};

fn load(text: &str) -> Result<Settings<Config>, Problems> {
    let keys = keys();
    let layer = keys.file(&Source::from_bytes("train.yaml", text.as_bytes())?)?;
    let defaults = Layer::of(&Config::default(), &Origin::Default);
    Settings::resolve(&keys, defaults.merge(layer))
}

fn error(text: &str) -> String {
    load(text)
        .expect_err("this file should be refused")
        .to_string()
}

#[test]
fn values_reach_the_typed_struct() {
    let settings = load(
        "data:\n    batch_size: 32\n    language: no\n    cache: memory\n    num_workers: 4\n\
         training:\n  learning_rate: 1e-4\n  enable_graph_mode: off\n  visible_gpus: [2, 0]\n  resume: 40\n",
    )
    .unwrap();
    let Config { data, training } = settings.config.clone();
    assert_eq!(data.batch_size, 32);
    assert_eq!(data.language, "no", "Norwegian is not false");
    assert_eq!(data.cache, Cache::Memory);
    assert_eq!(data.num_workers, Some(4));
    assert_eq!(training.learning_rate, 1e-4);
    assert!(!training.enable_graph_mode);
    assert_eq!(training.visible_gpus, Some(vec![2, 0]));
    assert_eq!(training.resume, Resume::Step(40));
    let origin = &settings.layer().get("data.batch_size").unwrap().origin;
    assert_eq!(origin.to_string(), "train.yaml:2:5");
    assert!(settings.is_chosen("data.batch_size"));
}

#[test]
fn what_a_file_leaves_out_keeps_its_default_and_says_so() {
    let settings = load("data:\n  batch_size: 2\ntraining:\n").unwrap();
    assert_eq!(
        settings.config.training.resume,
        Resume::Word(ResumeWord::Auto)
    );
    assert_eq!(
        settings.layer().get("training.resume").unwrap().origin,
        Origin::Default
    );
    assert!(!settings.is_chosen("training.resume"));
}

#[test]
fn lists_are_also_comma_separated_text_and_unset_has_a_word() {
    let ids = |text: &str| load(text).unwrap().config.training.visible_gpus;
    assert_eq!(
        ids("training:\n  visible_gpus: 0,1,2\n"),
        Some(vec![0, 1, 2])
    );
    assert_eq!(
        ids("training:\n  visible_gpus: \"1, 0\"\n"),
        Some(vec![1, 0])
    );
    assert_eq!(ids("training:\n  visible_gpus: 3\n"), Some(vec![3]));
    assert_eq!(ids("training:\n  visible_gpus: all\n"), None);
    assert_eq!(
        load("data:\n  num_workers: auto\n")
            .unwrap()
            .config
            .data
            .num_workers,
        None
    );
}

#[test]
fn aliases_mean_their_keys() {
    let settings = load("data:\n  enable_xla: false\n  mixed: true\n  native: true\n").unwrap();
    assert!(!settings.config.training.enable_graph_mode);
    assert_eq!(settings.config.data.cache, Cache::Memory);
    let fusion = settings.layer().get("training.enable_graph_mode").unwrap();
    assert_eq!(fusion.alias.as_deref(), Some("data.enable_xla"));
    assert_eq!(fusion.origin.to_string(), "train.yaml:2:3");
    assert!(
        settings.layer().get("data.native").is_some(),
        "an always-on alias is shown"
    );
}

#[test]
fn names_of_one_key_that_agree_are_fine() {
    let settings =
        load("data:\n  enable_xla: true\ntraining:\n  eager: false\n  enable_graph_mode: true\n");
    assert!(settings.unwrap().config.training.enable_graph_mode);
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_fine() {
    let settings = load("\u{feff}data:\r\n  batch_size: 4\r\n").unwrap();
    assert_eq!(settings.config.data.batch_size, 4);
}

#[test]
fn an_anchor_used_once_is_fine() {
    let settings = load("data: &d\n  batch_size: &n 8\n  num_workers: *n\n").unwrap();
    assert_eq!(settings.config.data.num_workers, Some(8));
}

#[test]
fn refusals_of_one_file_are_all_reported() {
    insta::assert_snapshot!(error(
        "data:\n    batchsize: 32\n    batch_size: 0\n    cache: dsk\ntraning:\n  learning_rate: 1\n"
    ));
}

#[test]
fn wrong_types() {
    insta::assert_snapshot!(error(
        "data:\n  batch_size: \"32\"\n  language: [en, fa]\n  num_workers: {a: 1}\n\
         training:\n  learning_rate: fast\n  enable_graph_mode: maybe\n  visible_gpus: 0,x\n  resume: sometimes\n"
    ));
}

#[test]
fn values_out_of_range() {
    insta::assert_snapshot!(error(
        "data:\n  batch_size: 513\n  num_workers: -1\ntraining:\n  learning_rate: 1.5\n  resume: -2\n"
    ));
}

#[test]
fn a_number_too_large_for_any_integer() {
    insta::assert_snapshot!(error("data:\n  batch_size: 99999999999999999999999999\n"));
}

#[test]
fn a_key_in_the_wrong_section() {
    insta::assert_snapshot!(error("training:\n  batch_size: 4\n"));
}

#[test]
fn a_key_that_resembles_nothing() {
    insta::assert_snapshot!(error("data:\n  qqq: 4\n"));
}

#[test]
fn a_duplicate_key() {
    insta::assert_snapshot!(error("data:\n  batch_size: 4\n  batch_size: 8\n"));
}

#[test]
fn a_duplicate_section() {
    insta::assert_snapshot!(error("data:\n  batch_size: 4\ndata:\n  batch_size: 8\n"));
}

#[test]
fn an_alias_that_contradicts_its_key() {
    insta::assert_snapshot!(error(
        "data:\n  enable_xla: true\ntraining:\n  eager: true\n"
    ));
}

#[test]
fn an_alias_that_cannot_be_switched_off() {
    insta::assert_snapshot!(error("data:\n  native: false\n"));
}

#[test]
fn tabs() {
    insta::assert_snapshot!(error("data:\n\tbatch_size: 4\n"));
}

#[test]
fn an_empty_file() {
    insta::assert_snapshot!(error(""));
}

#[test]
fn only_comments() {
    insta::assert_snapshot!(error("# nothing\n\n  # here\n"));
}

#[test]
fn a_list_in_place_of_sections() {
    insta::assert_snapshot!(error("- data\n- training\n"));
}

#[test]
fn a_section_that_is_a_number() {
    insta::assert_snapshot!(error("data: 7\n"));
}

#[test]
fn broken_syntax() {
    insta::assert_snapshot!(error("data:\n  batch_size: [4\ntraining:\n"));
}

#[test]
fn several_documents() {
    insta::assert_snapshot!(error(
        "data:\n  batch_size: 4\n---\ndata:\n  batch_size: 8\n"
    ));
}

#[test]
fn an_alias_bomb() {
    let mut text = String::from("data:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..12 {
        let previous = format!("*a{}, ", i - 1).repeat(9);
        text.push_str(&format!("  a{i}: &a{i} [{previous}*a{}]\n", i - 1));
    }
    insta::assert_snapshot!(error(&text));
}

#[test]
fn an_alias_to_itself() {
    insta::assert_snapshot!(error("data: &d\n  batch_size: 4\n  again: *d\n"));
}

#[test]
fn deep_nesting() {
    insta::assert_snapshot!(error(&format!("data: {}", "[".repeat(5000))));
}

#[test]
fn not_utf8() {
    let problem = Source::from_bytes("train.yaml", b"data:\n  language: \"\xff\xfe\"\n");
    insta::assert_snapshot!(problem.unwrap_err());
}

#[test]
fn a_very_long_line_is_cut_around_the_fault() {
    let text = format!(
        "data: {{language: \"{}\", batchsize: 4}}\n",
        "x".repeat(5000)
    );
    insta::assert_snapshot!(error(&text));
}

#[test]
fn fifty_megabytes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("big.yaml");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(50 << 20).unwrap();
    let message = Source::read(&path).unwrap_err().to_string();
    insta::assert_snapshot!(message.replace(&path.display().to_string(), "big.yaml"));
}

#[test]
fn missing_and_folder() {
    let dir = tempfile::tempdir().unwrap();
    let show = |path: &std::path::Path| {
        Source::read(path)
            .unwrap_err()
            .to_string()
            .replace(&dir.path().display().to_string(), "DIR")
    };
    insta::assert_snapshot!(show(&dir.path().join("none.yaml")), @r"
    cannot read the configuration file: No such file or directory (os error 2)
      --> DIR/none.yaml
      fix:   give the path of a YAML file; `myxtts config new` writes one to start from
    ");
    insta::assert_snapshot!(show(dir.path()), @r"
    the configuration path is a folder
      --> DIR
      fix:   give the YAML file inside it
    ");
}

#[test]
fn the_template_shows_every_key_and_loads() {
    let template = keys().template();
    insta::assert_snapshot!(template);
    assert_eq!(load(&template).unwrap().config, Config::default());
    let uncommented: String = template
        .lines()
        .skip(5)
        .map(|line| line.replace("  # ", "  "))
        .filter(|line| {
            line.split_once(": ")
                .is_none_or(|(key, _)| !key.trim().contains(' '))
        })
        .filter(|line| line.contains(':'))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(
        load(&uncommented).unwrap().config,
        Config::default(),
        "{uncommented}"
    );
}

#[test]
fn the_schema_closes_sections_and_knows_aliases() {
    let keys = keys();
    let data = &keys.schema()["properties"]["data"];
    assert_eq!(data["additionalProperties"], false);
    assert_eq!(data["properties"]["enable_xla"]["deprecated"], true);
    assert_eq!(data["properties"]["batch_size"]["maximum"], 512);
    assert_eq!(
        data["properties"]["batch_size"]["description"],
        "Clips per batch."
    );
}
