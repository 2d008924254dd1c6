#![allow(clippy::cast_possible_truncation, reason = "test code")]

use myxtts_audio::units::SampleRate;
use proptest::prelude::*;

use super::*;

const RATE: SampleRate = SampleRate::XTTS;
/// Ten seconds, the longest piece here.
const LONGEST: Samples = Samples(220_500);
/// How fast these speakers read, in letters a second.
const PACE: f64 = 14.0;

/// Something like speech: syllables of a tone, and the hiss of a room in between.
struct Speaker {
    samples: Vec<f32>,
    /// Where the pauses after sentences are.
    pauses: Vec<(usize, usize)>,
}

impl Speaker {
    fn new() -> Self {
        Self {
            samples: vec![],
            pauses: vec![],
        }
    }

    fn sound(&mut self, seconds: f64, loudness: f32) {
        for n in 0..Samples::in_time(Seconds(seconds), RATE).0 {
            let time = n as f32 / RATE.hz() as f32;
            let syllable = 0.6 + 0.4 * (time * 25.0).sin();
            let hiss = if self.samples.len() % 2 == 0 {
                1e-3
            } else {
                -1e-3
            };
            self.samples
                .push(loudness * syllable * (time * 900.0).sin() + hiss);
        }
    }

    fn speak(&mut self, seconds: f64) {
        self.sound(seconds, 0.3);
    }

    fn rest(&mut self, seconds: f64) {
        let begin = self.samples.len();
        self.sound(seconds, 0.0);
        self.pauses.push((begin, self.samples.len()));
    }

    fn done(&self) -> Waveform {
        Waveform {
            samples: self.samples.clone(),
            rate: RATE,
        }
    }
}

/// A sentence of this many letters.
fn sentence(letters: usize, mark: char) -> String {
    let words: Vec<String> = (0..letters.div_ceil(5))
        .map(|word| "abcde"[..5.min(letters - word * 5)].to_owned())
        .collect();
    format!("{}{mark}", words.join(" "))
}

fn split(recording: &Waveform, text: &str) -> Result<Vec<Piece>, Unsplit> {
    let limits = Limits {
        longest: LONGEST,
        fits: &|_| true,
    };
    cut(recording, text, &"en".parse().unwrap(), &limits)
}

fn without_spaces(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn sentences_are_cut_at_the_pauses_between_them() {
    let mut speaker = Speaker::new();
    let mut text = vec![];
    for (letters, mark) in [(60, '.'), (100, '؟'), (45, '!'), (80, '…'), (70, '.')] {
        let seconds = letters as f64 / PACE;
        // A breath in the middle of the sentence is not its end.
        speaker.speak(0.45 * seconds);
        speaker.sound(0.2, 0.0);
        speaker.speak(0.55 * seconds);
        speaker.rest(0.6);
        text.push(sentence(letters, mark));
    }
    let pieces = split(&speaker.done(), &text.join(" ")).unwrap();
    assert!(pieces.len() >= 3, "{pieces:?}");
    let joined: Vec<&str> = pieces.iter().map(|piece| piece.text.as_str()).collect();
    assert_eq!(joined.join(" "), text.join(" "));
    let mut read = 0;
    for piece in &pieces {
        assert!(piece.span.length <= LONGEST);
        let end = piece.span.end().0;
        read += piece.text.matches(['.', '؟', '!', '…']).count();
        let (begin, silence_end) = speaker.pauses[read - 1];
        assert!(
            (begin..=silence_end).contains(&end),
            "`{}` ends at {end}, its pause is {begin}..{silence_end}",
            piece.text
        );
    }
}

#[test]
fn a_number_is_as_long_as_it_is_spoken() {
    let mut speaker = Speaker::new();
    let long = "It cost 1,234,567 in 1874.";
    let spoken = clean(long, &"en".parse().unwrap()).text;
    let letters = spoken.chars().filter(|c| c.is_alphanumeric()).count();
    assert!((60..120).contains(&letters), "{spoken}");
    speaker.speak(letters as f64 / PACE);
    speaker.rest(0.5);
    speaker.speak(60.0 / PACE);
    let text = format!("{long} {}", sentence(60, '.'));
    let pieces = split(&speaker.done(), &text).unwrap();
    assert_eq!(pieces.len(), 2);
    assert_eq!(pieces[0].text, long);
}

#[test]
fn what_cannot_be_told_is_not_split() {
    let mut steady = Speaker::new();
    steady.speak(15.0);
    let (one, two) = (sentence(100, '.'), sentence(110, '.'));
    let both = format!("{one} {two}");
    assert_eq!(split(&steady.done(), &both), Err(Unsplit::NoPause));

    let mut paused = Speaker::new();
    for _ in 0..4 {
        paused.speak(3.7);
        paused.rest(0.5);
    }
    let bare = without_spaces(&both).replace('.', "");
    assert_eq!(split(&paused.done(), &bare), Err(Unsplit::NoMark));
    assert_eq!(split(&paused.done(), &one), Err(Unsplit::NoMark));

    // The text says that the pause comes after a third; it comes after two.
    let mut other = Speaker::new();
    other.speak(9.0);
    other.rest(0.5);
    other.speak(4.5);
    let third = format!("{} {}", sentence(63, '.'), sentence(126, '.'));
    let refused = split(&other.done(), &third).unwrap_err();
    assert!(
        matches!(refused, Unsplit::Doubtful | Unsplit::TooFar { .. }),
        "{refused:?}"
    );

    // One mark, and two pauses beside where it should be, one as good as the other.
    let mut twice = Speaker::new();
    twice.speak(6.0);
    twice.rest(0.5);
    twice.speak(0.8);
    twice.rest(0.5);
    twice.speak(6.0);
    let half = format!("{} {}", sentence(90, '.'), sentence(90, '.'));
    assert_eq!(split(&twice.done(), &half), Err(Unsplit::Doubtful));

    // A sentence longer than a piece may be.
    let mut long = Speaker::new();
    long.speak(12.0);
    long.rest(0.5);
    long.speak(4.0);
    let text = format!("{} {}", sentence(168, '.'), sentence(56, '.'));
    let refused = split(&long.done(), &text).unwrap_err();
    assert!(matches!(refused, Unsplit::TooFar { .. }), "{refused:?}");
    assert_eq!(split(&Waveform::default(), &both), Err(Unsplit::NoPause));
}

#[test]
fn a_text_over_its_limit_is_cut_though_the_recording_would_do() {
    let mut speaker = Speaker::new();
    speaker.speak(3.0);
    speaker.rest(0.5);
    speaker.speak(4.0);
    let text = format!("{} {}", sentence(42, '.'), sentence(56, '.'));
    let limits = Limits {
        longest: LONGEST,
        fits: &|text| text.chars().count() < 80,
    };
    let pieces = cut(&speaker.done(), &text, &"en".parse().unwrap(), &limits).unwrap();
    assert_eq!(pieces.len(), 2);
}

/// Letters of a sentence, how much slower or faster it is read, the pause after it.
fn spoken() -> impl Strategy<Value = Vec<(usize, f64, f64, char)>> {
    let mark = prop::sample::select(vec!['.', '?', '؟', '!', '۔', ',', '،', ';']);
    prop::collection::vec((20_usize..110, 0.85..1.15, 0.2..1.2, mark), 2..9)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pieces_hold_the_text_once_and_in_order(sentences in spoken()) {
        let mut speaker = Speaker::new();
        let mut text = String::from(" ");
        let mut ends = vec![];
        for (letters, pace, pause, mark) in sentences {
            speaker.speak(letters as f64 / PACE * pace);
            speaker.rest(pause);
            text.push_str(&sentence(letters, mark));
            ends.push(without_spaces(&text).len());
            text.push_str("  ");
        }
        if let Ok(pieces) = split(&speaker.done(), &text) {
            let mut said = String::new();
            let mut last = 0;
            for piece in &pieces {
                prop_assert!(piece.span.first.0 >= last);
                prop_assert!(piece.span.length <= LONGEST);
                last = piece.span.end().0;
                said.push_str(&without_spaces(&piece.text));
                // And where it ends in the text it ends in the recording.
                let number = ends.iter().position(|end| *end == said.len());
                let (begin, end) = speaker.pauses[number.unwrap()];
                prop_assert!((begin..=end).contains(&last), "`{}`", piece.text);
            }
            prop_assert!(last <= speaker.samples.len());
            prop_assert_eq!(said, without_spaces(&text));
        }
    }
}
