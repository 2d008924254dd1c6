//! `MYXTTS_*` variables as a layer.

use crate::keys::Keys;
use crate::layer::Layer;
use crate::origin::Origin;
use crate::problem::{Place, Problem, Problems};
use crate::settings::origin_place;
use crate::suggest::nearest;

const PREFIX: &str = "MYXTTS_";

impl Keys {
    /// The variable that sets `path`: `data.batch_size` is `MYXTTS_DATA_BATCH_SIZE`.
    pub fn variable(path: &str) -> String {
        format!("{PREFIX}{}", path.replace('.', "_").to_uppercase())
    }

    /// The values set by environment variables.
    ///
    /// `reserved` are variables with the prefix that are not settings. Any
    /// other one with the prefix is an error: a misspelt variable that is
    /// ignored looks exactly like one that works.
    pub fn environment<I>(&self, variables: I, reserved: &[&str]) -> Result<Layer, Problems>
    where
        I: IntoIterator<Item = (String, String)>,
    {
        let paths: Vec<&str> = self
            .iter()
            .map(|key| key.path.as_str())
            .chain(self.aliases().iter().map(|alias| alias.name))
            .collect();
        let names: Vec<String> = paths.iter().map(|path| Self::variable(path)).collect();
        let mut layer = Layer::default();
        let mut problems = Vec::new();
        let mut variables: Vec<(String, String)> = variables
            .into_iter()
            .filter(|(name, _)| name.starts_with(PREFIX) && !reserved.contains(&name.as_str()))
            .collect();
        variables.sort();
        for (name, value) in variables {
            let origin = Origin::Env(name.clone());
            let Some(at) = names.iter().position(|known| *known == name) else {
                let hint = nearest_variable(&name, &names)
                    .map(|near| format!("the nearest known variable is {near}"));
                problems.push(Problem {
                    what: format!("the environment variable {name} sets no known key"),
                    place: Place::Named(origin_place(&origin)),
                    hint,
                });
                continue;
            };
            match self.text(paths[at], &value, origin) {
                Ok(one) => layer = layer.merge(one),
                Err(Problems(more)) => problems.extend(more),
            }
        }
        match problems.is_empty() {
            true => Ok(layer),
            false => Err(Problems(problems)),
        }
    }
}

/// The common prefix would make every variable look alike, and a forgotten
/// section is the likeliest slip, so names are compared by their ends too.
fn nearest_variable<'a>(name: &str, names: &'a [String]) -> Option<&'a str> {
    let rest = |name: &str| name.trim_start_matches(PREFIX).to_lowercase();
    let wanted = rest(name);
    if let Some(known) = names
        .iter()
        .find(|known| rest(known).ends_with(&format!("_{wanted}")))
    {
        return Some(known);
    }
    let candidates: Vec<String> = names.iter().map(|known| rest(known)).collect();
    let best = nearest(&wanted, candidates.iter().map(String::as_str))?;
    names
        .iter()
        .find(|known| rest(known) == best)
        .map(String::as_str)
}
