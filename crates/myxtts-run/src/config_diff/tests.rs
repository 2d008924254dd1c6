use proptest::prelude::*;
use serde_json::json;

use super::{Policy, compare};

const RULES: &[super::Rule<'_>] = &[
    ("data.num_workers", Policy::Free),
    ("log.*", Policy::Free),
    (
        "training.learning_rate",
        Policy::Notice("the schedule goes on from here with it"),
    ),
    (
        "model.*",
        Policy::Refuse("the weights would not fit; start a new run with --init"),
    ),
    (
        "data.seed",
        Policy::Refuse("the order of clips would change; put it back"),
    ),
];

#[test]
fn messages() {
    let old = json!({
        "model": {"layers": 4, "heads": 2},
        "data": {"num_workers": 4, "seed": 1, "languages": ["en"], "trim": null},
        "training": {"learning_rate": 1e-4, "epochs": 3},
        "log": {"every": 10},
    });
    let new = json!({
        "model": {"layers": 6, "heads": 2.0},
        "data": {"num_workers": 8, "seed": 2, "languages": ["en", "fa"]},
        "training": {"learning_rate": 2e-4, "gradient_clip": 1.0, "epochs": 3},
        "log": {"every": 50, "colour": true},
    });
    let comparison = compare(&old, &new, RULES);
    assert_eq!(
        comparison.free,
        ["data.num_workers", "log.colour", "log.every"]
    );
    let notices: Vec<_> = comparison.notices().collect();
    insta::assert_snapshot!(format!(
        "{}\n---\n{}",
        notices.join("\n"),
        comparison.check().unwrap_err()
    ));
    let one = compare(&json!({"a": 1}), &json!({}), &[]);
    insta::assert_snapshot!("one", one.check().unwrap_err());
}

#[test]
fn the_first_matching_row_counts() {
    let rules = [
        ("a.b", Policy::Free),
        ("a.*", Policy::Refuse("no")),
        ("*", Policy::Free),
    ];
    let comparison = compare(
        &json!({"a": {"b": 1, "c": 1, "bb": 1}, "ab": 1}),
        &json!({"a": {"b": 2, "c": 2, "bb": 2}, "ab": 2}),
        &rules,
    );
    assert_eq!(comparison.free, ["a.b", "ab"]);
    let refused: Vec<_> = comparison.refused.iter().map(|d| d.key.as_str()).collect();
    assert_eq!(refused, ["a.bb", "a.c"]);
}

proptest! {
    #[test]
    fn a_configuration_equals_itself_and_differs_once_changed(
        values in prop::collection::btree_map("[a-c]", any::<i32>(), 1..4),
        at in any::<prop::sample::Index>(),
    ) {
        let tree = json!({"data": values, "empty": {}});
        prop_assert!(compare(&tree, &tree, &[]) == super::Comparison::default());
        let mut changed = values.clone();
        let key = values.keys().nth(at.index(values.len())).unwrap();
        *changed.get_mut(key).unwrap() ^= 1;
        let comparison = compare(&tree, &json!({"data": changed, "empty": {}}), &[]);
        prop_assert_eq!(comparison.refused.len(), 1);
        prop_assert_eq!(&comparison.refused[0].key, &format!("data.{key}"));
    }
}
