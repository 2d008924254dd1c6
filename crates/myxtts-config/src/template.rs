//! A commented configuration file to start from.

use crate::keys::{Key, Keys, Kind};

const COMMENT_WIDTH: usize = 78;

impl Keys {
    /// Returns a file of every key with its meaning and default, all commented out.
    ///
    /// They are commented out because a value in a file beats a preset: a file
    /// that spelt out today's defaults would switch every preset off.
    pub fn template(&self) -> String {
        let mut out = String::from(
            "# Configuration of myxtts. Every line below shows a default; remove the `#`\n\
             # in front of a key to change it. Layers: defaults < preset < this file <\n\
             # environment (MYXTTS_SECTION_KEY) < flags. `myxtts config show` prints the\n\
             # values in force and where each came from.\n",
        );
        for section in self.sections() {
            out.push_str(&format!("\n{section}:\n"));
            for (i, key) in self
                .iter()
                .filter(|key| key.section() == section)
                .enumerate()
            {
                if i > 0 {
                    out.push('\n');
                }
                for line in wrap(&describe(key)) {
                    out.push_str(&format!("  # {line}\n"));
                }
                out.push_str(&format!("  # {}: {}\n", key.name(), yaml_value(key)));
            }
        }
        out
    }
}

fn describe(key: &Key) -> String {
    let accepts = match (&key.kind, &key.unset) {
        (Kind::Text | Kind::Truth, _) => return key.description.clone(),
        (kind, Some(word)) => format!("{}, or {word}", kind.describe()),
        (kind, None) => kind.describe(),
    };
    format!("{} Takes {}.", key.description, accepts.replace('`', ""))
}

fn yaml_value(key: &Key) -> String {
    let shown = key.show(&key.default);
    if key.default.is_array() {
        format!("[{shown}]")
    } else {
        shown
    }
}

fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        if !lines[last].is_empty() && lines[last].len() + word.len() + 1 > COMMENT_WIDTH {
            lines.push(word.to_owned());
        } else {
            if !lines[last].is_empty() {
                lines[last].push(' ');
            }
            lines[last].push_str(word);
        }
    }
    lines
}
