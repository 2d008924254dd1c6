//! How fast text becomes tokens, on one thread:
//!
//! ```text
//! XTTS_VOCAB=vocab.json cargo run --release -p myxtts-bench --example text
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement, run by hand"
)]

use std::hint::black_box;
use std::path::Path;

use myxtts_bench::clock::Clock;
use myxtts_text::{Language, Training, Vocabulary, clean};

const ENGLISH: [&str; 4] = [
    "The quick brown fox jumped over the lazy dog near the river bank, and nobody said a word.",
    "In 1999, Mr. Smith paid $1,234.56 for the house on 21st Street; it was 99.5% finished.",
    "She had never seen the market so busy: children, dogs, and two very old musicians.",
    "Printing, in the only sense with which we are at present concerned, is a craft of patience.",
];
const PERSIAN: [&str; 4] = [
    "امروز صبح هوا خیلی سرد بود و من با دوستم به کتابخانه ي مدرسه رفتيم.",
    "در سال ۱۴۰۲ حدود ۲۵٪ از كتاب ها به قیمت ۵۰٬۰۰۰ تومان فروخته شد.",
    "او می گوید که فردا به خانهٔ ما می آید، ولی من باور نمی کنم!",
    "بچه‌ها در حیاط مدرسه بازی می‌کنند و معلم آن‌ها را نگاه می‌کند.",
];

fn measure(name: &str, vocabulary: &Vocabulary, language: &str, texts: &[&str]) {
    const ROUNDS: usize = 20_000;
    let language: Language = language.parse().unwrap();
    let rate = |work: &dyn Fn(&str) -> usize| {
        let clock = Clock::of_thread();
        let mut total = 0;
        for _ in 0..ROUNDS {
            for text in texts {
                total += work(black_box(text));
            }
        }
        black_box(total);
        (ROUNDS * texts.len()) as f64 / clock.wall().as_secs_f64()
    };
    let both = |text: &str| vocabulary.encode_raw(&clean(text, &language).text).len();
    let cleaned: Vec<String> = texts
        .iter()
        .map(|text| clean(text, &language).text)
        .collect();
    let at = std::cell::Cell::new(0);
    let encode_only = |_: &str| {
        at.set((at.get() + 1) % cleaned.len());
        vocabulary.encode_raw(&cleaned[at.get()]).len()
    };
    println!(
        "{name}: clean + encode {:.0} clips/s, encode alone {:.0} clips/s, clean alone {:.0} clips/s",
        rate(&both),
        rate(&encode_only),
        rate(&|text| clean(text, &language).text.len()),
    );
}

fn main() {
    let vocabulary = match std::env::var_os("XTTS_VOCAB") {
        Some(path) => Vocabulary::read(Path::new(&path)).unwrap(),
        None => {
            let corpus = [
                include_str!("../../myxtts-text/tests/data/corpus_en.txt"),
                include_str!("../../myxtts-text/tests/data/corpus_fa.txt"),
            ];
            Vocabulary::train(corpus, &Training::default()).unwrap()
        }
    };
    measure("en", &vocabulary, "en", &ENGLISH);
    measure("fa", &vocabulary, "fa", &PERSIAN);
}
