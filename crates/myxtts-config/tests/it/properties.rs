//! What must hold for every input.

use crate::support::{Config, keys};
use myxtts_config::{Layer, Origin, Place, Problems, Settings, Source};
use proptest::prelude::*;
use serde_json::json;

/// A layer of some of the keys, each with an origin that names the layer.
fn layer(name: &'static str) -> impl Strategy<Value = Layer> {
    let key = prop::sample::select(vec!["data.batch_size", "data.language", "training.resume"]);
    prop::collection::btree_map(key, 0_u32..100, 0..3)
        .prop_map(move |values| Layer::preset(name, values.into_iter().map(|(k, v)| (k, json!(v)))))
}

fn load(bytes: &[u8]) -> Result<Settings<Config>, Problems> {
    let keys = keys();
    let layer = keys.file(&Source::from_bytes("f.yaml", bytes)?)?;
    Settings::resolve(&keys, layer)
}

fn loads_or_locates(bytes: &[u8]) {
    if let Err(Problems(problems)) = load(bytes) {
        assert!(!problems.is_empty());
        for problem in problems {
            let Place::File { line, column, .. } = problem.place else {
                panic!("no line and column: {problem}");
            };
            assert!(line >= 1 && column >= 1);
            assert!(!problem.to_string().is_empty());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn merging_is_associative(a in layer("a"), b in layer("b"), c in layer("c")) {
        let left = a.clone().merge(b.clone()).merge(c.clone());
        let right = a.merge(b.merge(c));
        prop_assert_eq!(left, right);
    }

    #[test]
    fn merging_keeps_the_winner_and_its_origin(a in layer("a"), b in layer("b")) {
        let merged = a.clone().merge(b.clone());
        for (key, setting) in merged.iter() {
            prop_assert_eq!(setting, b.get(key).or(a.get(key)).unwrap());
        }
        for (key, _) in a.iter().chain(b.iter()) {
            prop_assert!(merged.get(key).is_some());
        }
    }

    #[test]
    fn the_empty_layer_changes_nothing(a in layer("a")) {
        prop_assert_eq!(a.clone().merge(Layer::default()), a.clone());
        prop_assert_eq!(Layer::default().merge(a.clone()), a);
    }

    #[test]
    fn any_bytes_load_or_give_a_located_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        loads_or_locates(&bytes);
    }

    #[test]
    fn any_yaml_like_text_loads_or_gives_a_located_error(
        text in "(data|training|[a-z]{1,6})?:? ?(\n|\n  |\n\t|\n- )?[-a-z_0-9:&*!|>{}\\[\\],#'\"% \n\t]{0,120}"
    ) {
        loads_or_locates(text.as_bytes());
    }

    #[test]
    fn a_value_written_in_a_file_is_the_value_loaded(batch in 1_u32..=512, rate in 0.0_f64..=1.0) {
        let text = format!("data: {{batch_size: {batch}}}\ntraining: {{learning_rate: {rate:?}}}\n");
        let settings = load(text.as_bytes()).unwrap();
        prop_assert_eq!(settings.config.data.batch_size, batch);
        prop_assert_eq!(settings.config.training.learning_rate, rate);
        let origin = &settings.layer().get("data.batch_size").unwrap().origin;
        let expected = Origin::File { name: "f.yaml".into(), line: 1, column: 8 };
        prop_assert_eq!(origin, &expected);
    }
}
