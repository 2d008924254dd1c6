//! Keys by their meaning, on a thread of its own: reading them blocks, and
//! where the terminal goes away the library that reads it may never return.

use std::sync::mpsc::Sender;
use std::thread;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::error::MonitorError;
use crate::state::{Key, Page};

/// Something that happened at the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Key(Key),
    /// The terminal has another size now.
    Resized,
    /// Another program wrote on the terminal, and a person wants it drawn anew.
    Spoilt,
    /// Nothing more can be read from the terminal.
    Closed,
}

/// Starts a thread that reads until nobody listens or nothing can be read.
pub(crate) fn start(inputs: Sender<Input>) -> Result<(), MonitorError> {
    let read = move || {
        loop {
            let input = match event::read() {
                Ok(Event::Key(key)) if is_redraw(key) => Some(Input::Spoilt),
                Ok(Event::Key(key)) if key.kind != KeyEventKind::Release => {
                    meaning(key).map(Input::Key)
                }
                Ok(Event::Resize(..)) => Some(Input::Resized),
                Ok(_) => None,
                Err(_) => Some(Input::Closed),
            };
            let closed = input == Some(Input::Closed);
            if input.is_some_and(|input| inputs.send(input).is_err()) || closed {
                return;
            }
        }
    };
    let thread = thread::Builder::new().name("keys".to_owned());
    let started = thread.spawn(read).map(drop);
    started.map_err(|source| MonitorError::Thread {
        name: "keys",
        source,
    })
}

/// Returns whether the key is Ctrl-L, which draws anew as in a shell.
fn is_redraw(key: KeyEvent) -> bool {
    key.code == KeyCode::Char('l') && key.modifiers.contains(KeyModifiers::CONTROL)
}

fn meaning(key: KeyEvent) -> Option<Key> {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'C') if control => Key::Interrupt,
        _ if control => return None,
        KeyCode::Char('q' | 'Q') => Key::Quit,
        KeyCode::Char('?' | 'h') => Key::Help,
        KeyCode::Right | KeyCode::Char('n') => Key::NextRun,
        KeyCode::Left | KeyCode::Char('p') => Key::PreviousRun,
        KeyCode::Up | KeyCode::Char('k') => Key::Up,
        KeyCode::Down | KeyCode::Char('j') => Key::Down,
        KeyCode::PageUp => Key::FarUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Key::FarDown,
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab => Key::NextPage,
        KeyCode::Esc => Key::Back,
        KeyCode::Char(digit) => {
            let at = usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?;
            Key::Page(*Page::ALL.get(at)?)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_the_help_says() {
        let of = |code| meaning(KeyEvent::new(code, KeyModifiers::NONE));
        assert_eq!(of(KeyCode::Char('q')), Some(Key::Quit));
        assert_eq!(of(KeyCode::Char('1')), Some(Key::Page(Page::Overview)));
        assert_eq!(of(KeyCode::Char('6')), Some(Key::Page(Page::Runs)));
        for without in ['0', '7', 'x', 'é', 'c'] {
            assert_eq!(of(KeyCode::Char(without)), None, "{without}");
        }
        let control = |letter| meaning(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL));
        assert_eq!(control('c'), Some(Key::Interrupt));
        assert_eq!(control('q'), None);
    }
}
