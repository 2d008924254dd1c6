//! The language of what people read. Codes, keys, flags and JSON are never translated.

use std::fmt::Write as _;

use crate::finding::Value;

/// A language of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lang {
    /// English, with its usual digits.
    #[default]
    En,
    /// Persian, with its own digits.
    Fa,
}

impl Lang {
    /// Picks one of two texts.
    pub fn pick<T>(self, en: T, fa: T) -> T {
        match self {
            Self::En => en,
            Self::Fa => fa,
        }
    }

    /// Writes digits as this language does.
    pub(crate) fn digits(self, text: &str) -> String {
        match self {
            Self::En => text.to_owned(),
            Self::Fa => text.chars().map(persian).collect(),
        }
    }

    /// Writes a share in percent.
    pub fn percent(self, share: f64) -> String {
        let number = self.digits(&format!("{:.1}", share * 100.0));
        self.pick(format!("{number} %"), format!("{number}٪"))
    }

    /// Writes seconds, in as many digits as tell something.
    pub(crate) fn seconds(self, seconds: f64) -> String {
        let (number, en, fa) = match seconds.abs() {
            small if small < 1e-12 => ("0".to_owned(), "s", "ثانیه"),
            small if small < 0.001 => (digits3(seconds * 1e6), "µs", "میکروثانیه"),
            small if small < 1.0 => (digits3(seconds * 1e3), "ms", "میلی‌ثانیه"),
            _ => (digits3(seconds), "s", "ثانیه"),
        };
        format!("{} {}", self.digits(&number), self.pick(en, fa))
    }

    /// Writes a long time, as people say it.
    pub(crate) fn duration(self, seconds: f64) -> String {
        if seconds < 120.0 {
            return self.seconds(seconds);
        }
        let minutes = (seconds / 60.0).round();
        let (hours, rest) = ((minutes / 60.0).floor(), minutes % 60.0);
        let text = match (hours > 0.0, self) {
            (false, Self::En) => format!("{minutes} min"),
            (false, Self::Fa) => format!("{minutes} دقیقه"),
            (true, Self::En) => format!("{hours} h {rest:02} min"),
            (true, Self::Fa) => format!("{hours} ساعت و {rest} دقیقه"),
        };
        self.digits(&text)
    }

    /// Writes a value with its unit.
    pub(crate) fn value(self, value: &Value) -> String {
        match value {
            Value::Share(share) => self.percent(*share),
            Value::Seconds(seconds) => self.seconds(*seconds),
            Value::Count(count) => self.digits(&grouped(*count)),
            Value::Number(number) => self.digits(&digits3(*number)),
            Value::Megabytes(mb) => {
                format!(
                    "{} {}",
                    self.digits(&grouped(*mb)),
                    self.pick("MB", "مگابایت")
                )
            }
            Value::MegabytesPerSecond(rate) => format!(
                "{} {}",
                self.digits(&digits3(*rate)),
                self.pick("MB/s", "مگابایت بر ثانیه")
            ),
            Value::Text(text) => text.clone(),
        }
    }
}

fn persian(c: char) -> char {
    match c {
        '0'..='9' => char::from_u32('۰' as u32 + (c as u32 - '0' as u32)).unwrap_or(c),
        '.' => '٫',
        ',' => '٬',
        other => other,
    }
}

/// Writes about three significant digits, without an exponent.
fn digits3(number: f64) -> String {
    let places = match number.abs() {
        large if large >= 99.95 => 0,
        middle if middle >= 9.995 => 1,
        _ => 2,
    };
    format!("{number:.places$}")
}

/// Writes a count with its thousands apart.
fn grouped(count: u64) -> String {
    let text = count.to_string();
    let mut out = String::new();
    for (index, digit) in text.chars().enumerate() {
        if index > 0 && (text.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        // Writing to a string does not fail.
        let _ = out.write_char(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_both_languages() {
        let values = [
            Value::Share(0.9),
            Value::Seconds(0.0123),
            Value::Seconds(12.34),
            Value::Count(1_234_567),
            Value::Megabytes(24_105),
            Value::MegabytesPerSecond(3.456),
            Value::Text("RTX 4090".to_owned()),
        ];
        let lines: Vec<String> = values
            .iter()
            .map(|value| format!("{} | {}", Lang::En.value(value), Lang::Fa.value(value)))
            .collect();
        assert_eq!(
            lines,
            [
                "90.0 % | ۹۰٫۰٪",
                "12.3 ms | ۱۲٫۳ میلی‌ثانیه",
                "12.3 s | ۱۲٫۳ ثانیه",
                "1,234,567 | ۱٬۲۳۴٬۵۶۷",
                "24,105 MB | ۲۴٬۱۰۵ مگابایت",
                "3.46 MB/s | ۳٫۴۶ مگابایت بر ثانیه",
                "RTX 4090 | RTX 4090",
            ]
        );
        assert_eq!(Lang::En.duration(6000.0), "1 h 40 min");
        assert_eq!(Lang::Fa.duration(6000.0), "۱ ساعت و ۴۰ دقیقه");
        assert_eq!(Lang::En.duration(600.0), "10 min");
    }
}
