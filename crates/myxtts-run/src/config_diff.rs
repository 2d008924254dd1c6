//! Whether a run may resume under a changed configuration.
//!
//! Two configurations are flattened to dotted keys and compared one by one. A
//! table given by the caller says of each key that differs whether that is the
//! user's business, worth a notice, or would break the run. The first matching
//! row counts; a key that no row matches is refused, because a run that silently
//! continued with other settings is worse than one that asks.

mod flatten;
#[cfg(test)]
mod tests;

use std::fmt;

use serde_json::Value;

use flatten::flatten;

/// What a changed key means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// The key may differ without a word: workers, buffers, logs.
    Free,
    /// The key may differ, and the user is told what follows from it.
    Notice(&'static str),
    /// The key may not differ; the text is the reason and what to do.
    Refuse(&'static str),
}

impl Policy {
    /// The key may not differ, for no reason of its own.
    pub const REFUSED: Self = Self::Refuse(
        "no rule allows a resumed run to change it; put the old value back, or start a new run",
    );
}

/// A row of the table: a key (`data.batch_size`), everything below one
/// (`model.*`), or everything (`*`).
pub type Rule<'a> = (&'a str, Policy);

/// A key whose value differs.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The dotted key, such as `data.batch_size`.
    pub key: String,
    /// The value in the checkpoint; `None` when it was not set.
    pub old: Option<Value>,
    /// The present value; `None` when it is not set.
    pub new: Option<Value>,
    /// Why the change is refused, or what follows from it.
    pub reason: &'static str,
}

/// What differs between two configurations.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Comparison {
    /// Changes that keep the run from being resumed.
    pub refused: Vec<Difference>,
    /// Changes that are allowed and reported.
    pub notices: Vec<Difference>,
    /// Keys that changed and are free to.
    pub free: Vec<String>,
}

/// Compares the configuration of a checkpoint with the present one.
pub fn compare(old: &Value, new: &Value, rules: &[Rule<'_>]) -> Comparison {
    let (old, new) = (flatten(old), flatten(new));
    let mut comparison = Comparison::default();
    let keys: std::collections::BTreeSet<_> = old.keys().chain(new.keys()).collect();
    for key in keys {
        let (before, after) = (old.get(key), new.get(key));
        if same(before, after) {
            continue;
        }
        let difference = |reason| Difference {
            key: key.clone(),
            old: before.cloned(),
            new: after.cloned(),
            reason,
        };
        match policy(key, rules) {
            Policy::Free => comparison.free.push(key.clone()),
            Policy::Notice(reason) => comparison.notices.push(difference(reason)),
            Policy::Refuse(reason) => comparison.refused.push(difference(reason)),
        }
    }
    comparison
}

fn policy(key: &str, rules: &[Rule<'_>]) -> Policy {
    let rule = rules.iter().find(|(pattern, _)| matches(pattern, key));
    rule.map_or(Policy::REFUSED, |(_, policy)| *policy)
}

fn matches(pattern: &str, key: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => key.starts_with(prefix),
        None => key == pattern,
    }
}

/// Returns whether two values are the same: `1` and `1.0` are one number, and a
/// key set to null is not set.
fn same(old: Option<&Value>, new: Option<&Value>) -> bool {
    match (old.filter(|v| !v.is_null()), new.filter(|v| !v.is_null())) {
        (Some(Value::Number(old)), Some(Value::Number(new))) => {
            old == new || (old.is_f64() != new.is_f64() && old.as_f64() == new.as_f64())
        }
        (old, new) => old == new,
    }
}

impl Comparison {
    /// Returns the refused changes as an error, when there are any.
    ///
    /// # Errors
    /// When a key differs that may not.
    pub fn check(&self) -> Result<(), RefusedChanges> {
        if self.refused.is_empty() {
            return Ok(());
        }
        Err(RefusedChanges(self.refused.clone()))
    }

    /// Returns the notices, one line each.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        self.notices.iter().map(Difference::to_string)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = |value: &Option<Value>| match value {
            Some(value) if !value.is_null() => value.to_string(),
            _ => "not set".into(),
        };
        let Self {
            key,
            old,
            new,
            reason,
        } = self;
        write!(
            f,
            "{key}: {} in the checkpoint, {} now; {reason}",
            word(old),
            word(new)
        )
    }
}

/// The keys that differ and may not.
#[derive(Clone, Debug, PartialEq)]
pub struct RefusedChanges(Vec<Difference>);

impl std::error::Error for RefusedChanges {}

impl fmt::Display for RefusedChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, s) = (self.0.len(), if self.0.len() == 1 { "" } else { "s" });
        write!(
            f,
            "the run cannot be resumed with {count} changed setting{s}:"
        )?;
        self.0
            .iter()
            .try_for_each(|difference| write!(f, "\n  {difference}"))
    }
}
