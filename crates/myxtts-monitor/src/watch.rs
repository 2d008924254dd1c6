//! The monitor itself: what happens, one thing after the other.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use myxtts_run::signals::{StopRequest, StopSignal};
use serde_json::Value;

use crate::error::MonitorError;
use crate::source::runs::Place;
use crate::source::{self, News, ReadMachine};
use crate::state::{Action, State};
use crate::terminal::Screen;
use crate::terminal::keys::{self, Input};
use crate::units::WallTime;
use crate::view::theme::Theme;
use crate::view::{self, document, text};

/// How many pieces of news may wait to be taken in; more stay on the disk.
const WAITING: usize = 16;
/// How long keys and signals may wait to be looked at.
const TICK: Duration = Duration::from_millis(50);
/// The longest time between two drawings, for what is told in seconds.
const REDRAW: Duration = Duration::from_secs(1);

/// How the monitor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// A person left the monitor.
    Quit,
    /// A signal came, or Ctrl-C.
    Stopped(StopSignal),
    /// The terminal went away.
    TerminalGone,
}

/// Shows the runs at `asked` until somebody leaves.
///
/// # Errors
/// If there is no such run, or the terminal cannot be used.
pub fn watch(
    asked: Option<&Path>,
    color: bool,
    read: ReadMachine,
    stop: &StopRequest,
) -> Result<Ending, MonitorError> {
    let place = Place::of(asked)?;
    let state = State::new(place.folder.clone(), place.first.clone());
    let (open, opened) = mpsc::channel();
    let (news_sender, news) = sync_channel(WAITING);
    let (input_sender, inputs) = mpsc::channel();
    let mut screen = Screen::take()?;
    source::start(place, read, opened, news_sender)?;
    keys::start(input_sender)?;
    let mut shown = Shown {
        state,
        theme: Theme { color },
        open,
    };
    let ending = shown.follow(&mut screen, &news, &inputs, stop);
    let trouble = screen.trouble();
    drop(screen);
    if let Some(trouble) = trouble {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "a thread of the monitor ended: {trouble}"
        );
    }
    ending
}

struct Shown {
    state: State,
    theme: Theme,
    open: mpsc::Sender<PathBuf>,
}

impl Shown {
    fn follow(
        &mut self,
        screen: &mut Screen,
        news: &Receiver<News>,
        inputs: &Receiver<Input>,
        stop: &StopRequest,
    ) -> Result<Ending, MonitorError> {
        let mut drawn: Option<Instant> = None;
        let mut changed = true;
        loop {
            if let Some(signal) = stop.asked() {
                return Ok(Ending::Stopped(signal));
            }
            for input in inputs.try_iter() {
                changed = true;
                match input {
                    Input::Resized => {}
                    Input::Spoilt => {
                        if screen.forget().is_err() {
                            return Ok(Ending::TerminalGone);
                        }
                    }
                    Input::Closed => return Ok(Ending::TerminalGone),
                    Input::Key(key) => match self.state.press(key) {
                        Some(Action::Quit) => return Ok(Ending::Quit),
                        Some(Action::Interrupt) => {
                            return Ok(Ending::Stopped(StopSignal::Interrupt));
                        }
                        other => self.act(other),
                    },
                }
            }
            if changed || drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW) {
                if self.draw(screen).is_err() {
                    return Ok(Ending::TerminalGone);
                }
                drawn = Some(Instant::now());
                changed = false;
            }
            match news.recv_timeout(TICK) {
                Ok(first) => {
                    changed = true;
                    self.take_in(first);
                    for more in news.try_iter().take(WAITING) {
                        self.take_in(more);
                    }
                }
                // Without its readers the picture is an old one; `trouble` says so,
                // and what is there can still be read.
                Err(RecvTimeoutError::Disconnected) => std::thread::sleep(TICK),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn take_in(&mut self, news: News) {
        let action = self.state.apply(news, WallTime::now());
        self.act(action);
    }

    fn act(&mut self, action: Option<Action>) {
        if let Some(Action::Open(path)) = action {
            let _ = self.open.send(path);
        }
    }

    fn draw(&mut self, screen: &mut Screen) -> std::io::Result<()> {
        self.state.now = WallTime::now();
        let mut limit = 0;
        screen.terminal().draw(|frame| {
            limit = view::draw(&self.state, self.theme, frame).scroll_limit;
        })?;
        self.state.scroll = self.state.scroll.min(limit);
        Ok(())
    }
}

/// One look at the runs and the devices.
#[derive(Debug)]
pub struct Once {
    state: State,
}

impl Once {
    /// Looks at the runs at `asked`.
    ///
    /// # Errors
    /// If there is no such run.
    pub fn look(asked: Option<&Path>, read: ReadMachine) -> Result<Self, MonitorError> {
        let place = Place::of(asked)?;
        let mut state = State::new(place.folder.clone(), place.first.clone());
        let first = place.first.clone();
        let choice = move |runs: &[source::runs::RunEntry]| {
            let newest = runs.first().map(|run| run.path.clone());
            first.clone().or(newest)
        };
        for news in source::look_once(&place, read, choice) {
            state.apply(news, WallTime::now());
        }
        Ok(Self { state })
    }

    /// Returns the frame in words.
    pub fn text(&self) -> String {
        text::frame(&self.state)
    }

    /// Returns the frame as a JSON document.
    pub fn document(&self) -> Value {
        document::frame(&self.state)
    }
}
