//! Values given by flags, `--set` and the environment.

use crate::support::keys;
use myxtts_config::{Keys, Origin};
use serde_json::json;

fn flag(path: &str, text: &str) -> Result<serde_json::Value, String> {
    let origin = Origin::Flag("--set".into());
    let layer = keys().text(path, text, origin).map_err(|e| e.to_string())?;
    Ok(layer.iter().next().unwrap().1.value.clone())
}

fn env(variables: &[(&str, &str)]) -> Result<myxtts_config::Layer, String> {
    let variables = variables
        .iter()
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
    keys()
        .environment(variables, &["MYXTTS_SOFTWARE_GPUS"])
        .map_err(|e| e.to_string())
}

#[test]
fn text_is_read_by_the_kind_of_its_key() {
    assert_eq!(flag("data.batch_size", "8"), Ok(json!(8)));
    assert_eq!(
        flag("data.language", "true"),
        Ok(json!("true")),
        "text stays text"
    );
    assert_eq!(flag("data.language", ""), Ok(json!("")));
    assert_eq!(flag("training.visible_gpus", "2,0"), Ok(json!([2, 0])));
    assert_eq!(flag("training.visible_gpus", "all"), Ok(json!(null)));
    assert_eq!(flag("training.learning_rate", "1"), Ok(json!(1.0)));
    assert_eq!(flag("data.enable_xla", "no"), Ok(json!(false)));
}

#[test]
fn refusals_name_the_flag() {
    insta::assert_snapshot!(flag("data.batch_size", "lots").unwrap_err());
    insta::assert_snapshot!(flag("data.batch_siz", "8").unwrap_err());
    insta::assert_snapshot!(flag("data.batch_size", "").unwrap_err());
    insta::assert_snapshot!(flag("training.visible_gpus", "0,,1").unwrap_err());
    insta::assert_snapshot!(flag("data.native", "false").unwrap_err());
}

#[test]
fn variables_set_keys_and_aliases() {
    let layer = env(&[
        ("MYXTTS_DATA_BATCH_SIZE", "8"),
        ("MYXTTS_DATA_ENABLE_XLA", "false"),
        ("MYXTTS_SOFTWARE_GPUS", "2"),
        ("HOME", "/home/somebody"),
    ])
    .unwrap();
    let batch = layer.get("data.batch_size").unwrap();
    assert_eq!(batch.value, json!(8));
    assert_eq!(batch.origin.to_string(), "env MYXTTS_DATA_BATCH_SIZE");
    assert_eq!(
        layer.get("training.enable_graph_mode").unwrap().value,
        json!(false)
    );
    assert_eq!(layer.iter().count(), 2);
    assert_eq!(Keys::variable("data.batch_size"), "MYXTTS_DATA_BATCH_SIZE");
}

#[test]
fn a_misspelt_variable_is_not_ignored() {
    insta::assert_snapshot!(
        env(&[
            ("MYXTTS_BATCH_SIZE", "8"),
            ("MYXTTS_DATA_LANGUAG", "fa"),
            ("MYXTTS_DATA_CACHE", "ram"),
        ])
        .unwrap_err()
    );
}
