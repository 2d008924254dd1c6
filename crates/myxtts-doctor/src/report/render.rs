//! The report as text.

use std::fmt;

use super::{Report, SectionName, State, headroom, lines};
use crate::finding::{Edit, Finding, Gain};
use crate::lang::Lang;
use crate::reasons;

/// A report in a language, for display.
#[derive(Clone, Copy, Debug)]
pub struct Rendered<'a> {
    pub(super) report: &'a Report,
    pub(super) lang: Lang,
}

impl fmt::Display for Rendered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (report, lang) = (self.report, self.lang);
        let extra = &report.extra;
        write!(f, "{}", extra.subject)?;
        if let Some(step) = extra.at_step {
            let step = lang.digits(&step.to_string());
            write!(
                f,
                "{}",
                lang.pick(format!(", step {step}"), format!("، گام {step}"))
            )?;
        }
        writeln!(f, "\n")?;
        for section in SectionName::ALL {
            self.section(f, section)?;
        }
        if let Some(headroom) = headroom(&report.signals, lang) {
            writeln!(f, "           {headroom}")?;
        }
        self.recommendations(f)?;
        self.silent(f)?;
        if !extra.notes.is_empty() {
            writeln!(f, "\n{}", lang.pick("About the files:", "دربارهٔ فایل‌ها:"))?;
            for note in &extra.notes {
                writeln!(f, "  {}", note.in_lang(lang))?;
            }
        }
        Ok(())
    }
}

impl Rendered<'_> {
    fn section(&self, f: &mut fmt::Formatter<'_>, section: SectionName) -> fmt::Result {
        let (report, lang) = (self.report, self.lang);
        let state = format!("[{}]", state(report.state(section), lang));
        let name = name(section, lang);
        let line = lines::line(report, section, lang);
        let mut problems = report.problems(section).peekable();
        match problems.peek() {
            // The problems that follow say why nothing is known.
            Some(_) => writeln!(f, "{state:<10} {name}:")?,
            None => writeln!(f, "{state:<10} {name}: {line}")?,
        }
        for problem in problems {
            for cause in &problem.cause {
                writeln!(f, "           {cause}")?;
            }
            if let Some(fix) = &problem.fix {
                writeln!(f, "           {} {fix}", lang.pick("fix:", "راه:"))?;
            }
        }
        if section == SectionName::Verdict {
            return Ok(());
        }
        for finding in report.of_section(section) {
            writeln!(f, "           {}: {}", finding.code, finding.cause_in(lang))?;
            writeln!(
                f,
                "           {} {}",
                lang.pick("fix:", "راه:"),
                fix(finding, lang)
            )?;
        }
        Ok(())
    }

    fn recommendations(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lang = self.lang;
        let findings = &self.report.diagnosis.findings;
        if findings.is_empty() && !self.report.extra.problems.is_empty() {
            // What is wrong has been said, with its fix.
            return Ok(());
        }
        if findings.is_empty() {
            let nothing = lang.pick("Nothing to recommend.", "سفارشی نیست.");
            return writeln!(f, "\n{nothing}");
        }
        let heading = lang.pick(
            "Recommendations, by the seconds they save per 1,000 steps:",
            "سفارش‌ها، به ترتیبِ ثانیه‌هایی که در هر ۱٬۰۰۰ گام برمی‌گردانند:",
        );
        writeln!(f, "\n{heading}")?;
        for (index, finding) in findings.iter().enumerate() {
            let number = lang.digits(&(index + 1).to_string());
            let gain = gain(finding.gain, lang);
            writeln!(
                f,
                "  {number}. {} ({}): {gain}",
                finding.code,
                finding.title(lang)
            )?;
            for edit in &finding.edits {
                writeln!(f, "       {}", edit_line(edit))?;
            }
        }
        Ok(())
    }

    fn silent(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lang = self.lang;
        let silent = &self.report.diagnosis.silent;
        if silent.is_empty() {
            return Ok(());
        }
        writeln!(
            f,
            "\n{}",
            lang.pick("Could not be checked:", "نشد که بنگرد:")
        )?;
        // Rules that miss the same thing share a line.
        let mut told: Vec<&str> = Vec::new();
        for rule in silent {
            if told.contains(&rule.reason.as_str()) {
                continue;
            }
            told.push(&rule.reason);
            let codes: Vec<&str> = silent
                .iter()
                .filter(|other| other.reason == rule.reason)
                .map(|other| other.code.name())
                .collect();
            let reason = reasons::in_lang(&rule.reason, lang);
            writeln!(f, "  {}: {reason}", codes.join(", "))?;
        }
        Ok(())
    }
}

/// Returns what to do, with the settings to copy.
fn fix(finding: &Finding, lang: Lang) -> String {
    let mut text = finding.fix_in(lang);
    if !finding.edits.is_empty() {
        let sets: Vec<String> = finding
            .edits
            .iter()
            .map(|edit| format!("--set {}={}", edit.key, edit.new))
            .collect();
        text.push_str(&format!(": {}", sets.join(" ")));
    }
    text
}

/// Writes an edit, as `data.num_workers: 1 -> 4`.
fn edit_line(edit: &Edit) -> String {
    match &edit.old {
        Some(old) => format!("{}: {old} -> {}", edit.key, edit.new),
        None => format!("{}: {}", edit.key, edit.new),
    }
}

fn gain(gain: Gain, lang: Lang) -> String {
    match gain {
        Gain::Estimate(seconds) => {
            let seconds = lang.seconds(seconds.0);
            lang.pick(format!("about {seconds}"), format!("نزدیک به {seconds}"))
        }
        Gain::AtMost(seconds) => {
            let seconds = lang.seconds(seconds.0);
            lang.pick(format!("at most {seconds}"), format!("حداکثر {seconds}"))
        }
        Gain::Unknown => lang
            .pick("unknown until measured", "تا سنجیده نشود ناشناخته")
            .to_owned(),
    }
}

fn state(state: State, lang: Lang) -> &'static str {
    match state {
        State::Unknown => lang.pick("unknown", "ناشناخته"),
        State::Ok => lang.pick("ok", "خوب"),
        State::Warning => lang.pick("warning", "هشدار"),
        State::Problem => lang.pick("problem", "مشکل"),
    }
}

fn name(section: SectionName, lang: Lang) -> &'static str {
    match section {
        SectionName::Environment => lang.pick("environment", "محیط"),
        SectionName::Devices => lang.pick("devices", "دستگاه‌ها"),
        SectionName::Configuration => lang.pick("configuration", "تنظیمات"),
        SectionName::Dataset => lang.pick("dataset", "داده"),
        SectionName::Storage => lang.pick("storage", "دیسک"),
        SectionName::PipelineSpeed => lang.pick("pipeline speed", "سرعتِ خط لوله"),
        SectionName::ModelStep => lang.pick("model step", "گامِ مدل"),
        SectionName::Verdict => lang.pick("verdict", "داوری"),
    }
}
