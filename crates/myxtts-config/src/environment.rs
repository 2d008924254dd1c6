//! `MYXTTS_*` variables as a layer.

use crate::keys::Keys;
use crate::layer::Layer;
use crate::origin::Origin;
use crate::problem::{Place, Problem, Problems};
use crate::settings::origin_place;
use crate::suggest::either;

const PREFIX: &str = "MYXTTS_";

impl Keys {
    /// Returns the name of the variable that sets `path`:
    /// `MYXTTS_DATA_BATCH_SIZE` for `data.batch_size`.
    pub fn variable(path: &str) -> String {
        format!("{PREFIX}{}", path.replace('.', "_").to_uppercase())
    }

    /// Returns the values set by environment variables.
    ///
    /// `reserved` lists variables with the prefix that are not settings. Any
    /// other one with the prefix is an error: a misspelt variable that is ignored
    /// looks exactly like one that works.
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
                let fix = self.nearest_variables(&name);
                problems.push(Problem {
                    what: format!("the environment variable {name} sets no known key"),
                    place: Place::Named(origin_place(&origin)),
                    fix,
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

    /// Returns a fix that names the nearest known variables. Leaving out the section
    /// is a likely slip, so it is cut off where there is one, and the rest is compared.
    fn nearest_variables(&self, variable: &str) -> Option<String> {
        let rest = variable.trim_start_matches(PREFIX).to_lowercase();
        let within = |section: &&str| {
            let name = rest.strip_prefix(section)?.strip_prefix('_')?;
            Some((section.to_string(), name.to_owned()))
        };
        let (section, name) = self
            .sections()
            .find_map(|section| within(&section))
            .unwrap_or_else(|| (String::new(), rest.clone()));
        let near = self.nearest(&section, &name);
        let near: Vec<String> = near.iter().map(|near| Self::variable(near.path)).collect();
        match near.as_slice() {
            [] => None,
            [one] => Some(format!("the nearest known variable is {one}")),
            several => Some(format!("did you mean {}?", either(several))),
        }
    }
}
