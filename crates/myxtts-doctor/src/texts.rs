//! Sentences with places for facts.

use crate::finding::{Fact, Finding};
use crate::lang::Lang;

/// What a rule says in one language.
#[derive(Clone, Copy, Debug)]
pub struct Texts {
    /// The title of the code, in a few words.
    pub title: &'static str,
    /// What the finding means, for the reference.
    pub meaning: &'static str,
    /// The forms that a finding can take.
    pub forms: &'static [Form],
}

/// A cause and its fix; `{name}` stands for the fact of that name.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The name of the form.
    pub name: &'static str,
    /// The cause: what was seen.
    pub cause: &'static str,
    /// What to do about it.
    pub fix: &'static str,
}

/// The texts of a rule in both languages.
#[derive(Clone, Copy, Debug)]
pub struct Bilingual {
    /// The texts in English.
    pub en: Texts,
    /// The texts in Persian.
    pub fa: Texts,
}

impl Bilingual {
    /// Returns the texts in a language.
    pub(crate) fn in_lang(&self, lang: Lang) -> &Texts {
        lang.pick(&self.en, &self.fa)
    }
}

impl Texts {
    /// Returns the form `name`, if there is one.
    pub(crate) fn form(&self, name: &str) -> Option<&Form> {
        self.forms.iter().find(|form| form.name == name)
    }
}

impl Finding {
    /// Returns the title of the code, in a few words.
    pub(crate) fn title(&self, lang: Lang) -> &'static str {
        crate::rules::rule(self.code).map_or("", |rule| rule.texts.in_lang(lang).title)
    }

    /// Returns the cause in one line.
    pub(crate) fn cause_in(&self, lang: Lang) -> String {
        self.sentence(lang, |form| form.cause)
            .unwrap_or_else(|| self.cause.clone())
    }

    /// Returns what to do about it.
    pub(crate) fn fix_in(&self, lang: Lang) -> String {
        self.sentence(lang, |form| form.fix)
            .unwrap_or_else(|| self.fix.clone())
    }

    fn sentence(&self, lang: Lang, which: fn(&Form) -> &'static str) -> Option<String> {
        let texts = crate::rules::rule(self.code)?.texts;
        let form = texts.in_lang(lang).form(&self.form)?;
        Some(fill(which(form), &self.facts, lang))
    }
}

/// Fills a template with its facts; a name without a fact stays as it is, which a
/// test of every rule excludes.
pub(crate) fn fill(template: &str, facts: &[Fact], lang: Lang) -> String {
    let mut text = template.to_owned();
    for fact in facts {
        text = text.replace(&format!("{{{}}}", fact.name), &lang.value(&fact.value));
    }
    text
}
