//! Which field of a document keeps it from being read.
//!
//! `serde` says what it expected and not where: behind a flattened struct even
//! the line is gone. So the fields of the document are put one by one into a
//! document that can be read; the one that spoils it is the one to name.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A field and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// The dotted path of the field.
    pub field: String,
    /// What the reader said.
    pub why: String,
}

/// Returns the first field of `found` that cannot stand in `whole`'s place, where
/// `whole` is any value that can be read.
pub fn misfit<T: Serialize + DeserializeOwned>(found: &Value, whole: &T) -> Option<Misfit> {
    let whole = serde_json::to_value(whole).ok()?;
    Search::<T> {
        whole: &whole,
        path: vec![],
        reads: std::marker::PhantomData,
    }
    .below(&whole, found)
}

struct Search<'a, T> {
    whole: &'a Value,
    path: Vec<String>,
    reads: std::marker::PhantomData<T>,
}

impl<T: DeserializeOwned> Search<'_, T> {
    fn below(&mut self, whole: &Value, found: &Value) -> Option<Misfit> {
        let (Value::Object(needed), Value::Object(given)) = (whole, found) else {
            return self.tried(Some(found));
        };
        let others = given.keys().filter(|key| !needed.contains_key(*key));
        for key in needed.keys().chain(others) {
            self.path.push(key.clone());
            let misfit = match (needed.get(key), given.get(key)) {
                (Some(needed), Some(given)) => self.below(needed, given),
                (_, given) => self.tried(given),
            };
            self.path.pop();
            if misfit.is_some() {
                return misfit;
            }
        }
        None
    }

    /// Reads the document with this one place changed, where `None` takes the place
    /// away; returns what fails.
    fn tried(&self, found: Option<&Value>) -> Option<Misfit> {
        let mut changed = self.whole.clone();
        match (self.path.split_last(), found) {
            (None, found) => changed = found.cloned().unwrap_or_default(),
            (Some((last, above)), found) => {
                let mut at = &mut changed;
                for part in above {
                    at = at.get_mut(part)?;
                }
                let fields = at.as_object_mut()?;
                match found {
                    Some(found) => fields.insert(last.clone(), found.clone()),
                    None => fields.remove(last),
                };
            }
        }
        let why = serde_json::from_value::<T>(changed).err()?;
        Some(Misfit {
            field: self.path.join("."),
            why: why.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use serde_json::json;

    #[derive(Serialize, Deserialize)]
    struct Outer {
        inner: Inner,
        name: String,
        #[serde(flatten)]
        other: serde_json::Map<String, Value>,
    }

    #[derive(Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        size: u32,
        maybe: Option<u32>,
    }

    #[test]
    fn the_field_that_spoils_a_document_is_named() {
        let whole = Outer {
            inner: Inner {
                size: 1,
                maybe: None,
            },
            name: "x".to_owned(),
            other: serde_json::Map::new(),
        };
        let found = |value: Value| misfit(&value, &whole).map(|misfit| misfit.field);
        let named = |field: &str| Some(field.to_owned());
        assert_eq!(
            found(json!({"inner": {"size": 3}, "name": "y", "more": 1})),
            None
        );
        let cases = [
            (json!({"inner": {"size": -1}, "name": "y"}), "inner.size"),
            (json!({"inner": {"size": "3"}, "name": "y"}), "inner.size"),
            (json!({"inner": {}, "name": "y"}), "inner.size"),
            (
                json!({"inner": {"size": 1, "maybe": []}, "name": "y"}),
                "inner.maybe",
            ),
            (
                json!({"inner": {"size": 1, "extra": 1}, "name": "y"}),
                "inner.extra",
            ),
            (json!({"inner": 7, "name": "y"}), "inner"),
            (json!({"inner": {"size": 1}}), "name"),
            (json!(3), ""),
        ];
        for (value, field) in cases {
            assert_eq!(found(value.clone()), named(field), "{value}");
        }
    }
}
