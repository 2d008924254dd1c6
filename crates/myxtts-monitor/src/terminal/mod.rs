//! The terminal: taken over while the monitor is shown, and given back however
//! that ends.

pub(crate) mod keys;

use std::io::{self, Stdout, stdout};
use std::panic;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Position, Rect};

use crate::error::MonitorError;

/// What a panic said on a thread other than the drawing one.
type Said = Arc<Mutex<Option<String>>>;
type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Send + Sync>;

/// The terminal while it is ours. Dropping it gives the terminal back.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    said: Said,
    /// The panic hook that was there before.
    before: Arc<Mutex<Option<Hook>>>,
}

impl std::fmt::Debug for Screen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Screen").finish_non_exhaustive()
    }
}

impl Screen {
    /// Takes the terminal over.
    ///
    /// # Errors
    /// If the terminal does not allow it; it is then as it was.
    pub fn take() -> Result<Self, MonitorError> {
        enable_raw_mode().map_err(MonitorError::terminal("turning echo and line editing off"))?;
        let entered = execute!(stdout(), EnterAlternateScreen, Hide);
        let terminal = entered.and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        let terminal = terminal.map_err(|why| {
            give_back();
            MonitorError::terminal("opening a second screen")(why)
        })?;
        let (said, before) = watch_panics();
        Ok(Self {
            terminal,
            said,
            before,
        })
    }

    /// Returns the terminal, to draw on.
    pub fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<Stdout>> {
        &mut self.terminal
    }

    /// Forgets what is on the screen, so that the next picture is drawn whole.
    /// Not by `Terminal::clear`: that asks where the cursor is, and the answer
    /// would go to the thread that reads keys.
    ///
    /// # Errors
    /// If the terminal is gone.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }

    /// Returns what a thread said when it panicked, if one did.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // While panicking the hook cannot be changed, and it has given the terminal back.
        if !thread::panicking() {
            let before = self.before.lock();
            if let Some(hook) = before.unwrap_or_else(PoisonError::into_inner).take() {
                panic::set_hook(hook);
            }
        }
        give_back();
    }
}

/// Gives the terminal back. One that is gone cannot be restored and need not be.
fn give_back() {
    let _ = execute!(stdout(), Show, LeaveAlternateScreen);
    let _ = disable_raw_mode();
}

/// Installs a panic hook. A panic of the drawing thread gives the terminal back
/// before it is reported, so that the words are on the screen that stays. A panic
/// of another thread must not write over the picture; its words are kept.
fn watch_panics() -> (Said, Arc<Mutex<Option<Hook>>>) {
    let said = Said::default();
    let before: Arc<Mutex<Option<Hook>>> = Arc::new(Mutex::new(Some(panic::take_hook())));
    let drawing = thread::current().id();
    let (kept, tell) = (Arc::clone(&said), Arc::clone(&before));
    panic::set_hook(Box::new(move |info| {
        if thread::current().id() == drawing {
            give_back();
            if let Some(hook) = &*tell.lock().unwrap_or_else(PoisonError::into_inner) {
                hook(info);
            }
        } else {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get_or_insert_with(|| info.to_string());
        }
    }));
    (said, before)
}

/// Returns whether standard input and output are a terminal that can be drawn on.
pub fn is_capable() -> bool {
    use io::IsTerminal;
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    stdout().is_terminal() && io::stdin().is_terminal() && !dumb
}
