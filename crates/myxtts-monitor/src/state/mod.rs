//! What is shown, as a pure function of what happened: news and keys in, a
//! state out, and now and then something to do.

pub(crate) mod ledger;
pub(crate) mod machine;
pub(crate) mod run;
pub(crate) mod series;

use std::path::{Path, PathBuf};

use machine::{MachineHistory, ReadBy};
use run::RunState;

use crate::source::News;
use crate::source::run::RunNews;
use crate::source::runs::RunEntry;
use crate::units::{Seconds, WallTime};

/// A run's own record of its devices is used while it is no older than this.
const RECORDED: Seconds = Seconds(10.0);

/// A key that a person pressed, by its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Quit,
    Interrupt,
    NextRun,
    PreviousRun,
    Help,
    Page(Page),
    NextPage,
    Up,
    Down,
    FarUp,
    FarDown,
    Enter,
    Back,
}

/// What fills the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Page {
    #[default]
    Overview,
    Run,
    Devices,
    Findings,
    Log,
    Runs,
}

impl Page {
    /// All pages, in the order of their keys.
    pub(crate) const ALL: [Self; 6] = [
        Self::Overview,
        Self::Run,
        Self::Devices,
        Self::Findings,
        Self::Log,
        Self::Runs,
    ];

    fn next(self) -> Self {
        let at = Self::ALL.iter().position(|page| *page == self);
        let next = at.map_or(0, |at| (at + 1) % Self::ALL.len());
        Self::ALL.get(next).copied().unwrap_or_default()
    }
}

/// Something to do that a key or news asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Follow this run from now on.
    Open(PathBuf),
    /// End, because a person said so.
    Quit,
    /// End, because of Ctrl-C.
    Interrupt,
}

/// Everything that is shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) now: WallTime,
    /// Where runs are looked for.
    pub(crate) folder: PathBuf,
    /// The run that was asked for, if one was.
    first: Option<PathBuf>,
    /// Whether runs have been looked for already.
    pub(crate) listed: bool,
    pub(crate) runs: Vec<RunEntry>,
    pub(crate) run: Option<RunState>,
    pub(crate) machine: MachineHistory,
    pub(crate) page: Page,
    pub(crate) help: bool,
    /// The number of lines that a page is moved up by.
    pub(crate) scroll: usize,
    /// The run in the list that Enter opens.
    pub(crate) cursor: usize,
}

impl State {
    pub(crate) fn new(folder: PathBuf, first: Option<PathBuf>) -> Self {
        Self {
            folder,
            first,
            ..Self::default()
        }
    }

    /// Takes in what is new at `now`.
    pub(crate) fn apply(&mut self, news: News, now: WallTime) -> Option<Action> {
        self.now = now;
        match news {
            News::Runs(runs) => self.list(runs),
            News::Run(news) => {
                self.follow(*news);
                None
            }
            News::Machine(sample) => {
                let recorded = self.machine.read_by == ReadBy::Run
                    && self.machine.at.is_some_and(|at| now.since(at) <= RECORDED);
                // The sample may have been under way when the run's own record was found.
                if !recorded {
                    self.machine.add(*sample, ReadBy::Monitor);
                }
                None
            }
        }
    }

    fn list(&mut self, runs: Vec<RunEntry>) -> Option<Action> {
        self.listed = true;
        self.runs = runs;
        self.cursor = self.cursor.min(self.runs.len().saturating_sub(1));
        match &self.run {
            Some(_) => None,
            None => self.choice().and_then(|path| self.open(path)),
        }
    }

    /// Returns the run that was asked for, else the first of the list: one that is
    /// running, else the newest.
    pub(crate) fn choice(&self) -> Option<PathBuf> {
        let first = self.runs.first().map(|run| run.path.clone());
        self.first.clone().or(first)
    }

    fn open(&mut self, path: PathBuf) -> Option<Action> {
        self.run = Some(RunState::new(path.clone()));
        self.scroll = 0;
        self.cursor = self.position(&path).unwrap_or_default();
        Some(Action::Open(path))
    }

    /// Returns a run's place in the list.
    pub(crate) fn position(&self, path: &Path) -> Option<usize> {
        self.runs.iter().position(|run| run.path == path)
    }

    fn follow(&mut self, mut news: RunNews) {
        let Some(run) = self.run.as_mut().filter(|run| run.path == news.path) else {
            // News of the run before, whose reader had not heard of the change yet.
            return;
        };
        let samples = std::mem::take(&mut news.samples);
        let recent = samples
            .last()
            .is_some_and(|last| news.now.since(last.wall_time) <= RECORDED);
        if recent && news.life.is_running() {
            for sample in samples {
                self.machine.add(sample, ReadBy::Run);
            }
        }
        run.apply(news);
    }

    /// Does what a key means.
    pub(crate) fn press(&mut self, key: Key) -> Option<Action> {
        match key {
            Key::Quit => return Some(Action::Quit),
            Key::Interrupt => return Some(Action::Interrupt),
            Key::Help => self.help = !self.help,
            _ if self.help => self.help = false,
            Key::NextRun => return self.switch(1),
            Key::PreviousRun => return self.switch(-1),
            Key::Page(page) => self.turn(page),
            Key::NextPage => self.turn(self.page.next()),
            Key::Back => self.turn(Page::Overview),
            Key::Up => self.scroll_by(-1),
            Key::Down => self.scroll_by(1),
            Key::FarUp => self.scroll_by(-10),
            Key::FarDown => self.scroll_by(10),
            Key::Enter if self.page == Page::Runs => {
                let chosen = self.runs.get(self.cursor).map(|run| run.path.clone())?;
                self.page = Page::Overview;
                return self.open(chosen);
            }
            Key::Enter => {}
        }
        None
    }

    fn turn(&mut self, page: Page) {
        self.page = page;
        self.scroll = 0;
    }

    fn switch(&mut self, by: isize) -> Option<Action> {
        let at = self.run.as_ref().and_then(|run| self.position(&run.path));
        let count = isize::try_from(self.runs.len()).ok()?;
        let at = isize::try_from(at.unwrap_or_default()).ok()?;
        let next = (at + by).checked_rem_euclid(count)?;
        let path = self.runs.get(usize::try_from(next).ok()?)?.path.clone();
        match &self.run {
            Some(run) if run.path == path => None,
            _ => self.open(path),
        }
    }

    fn scroll_by(&mut self, by: isize) {
        if self.page == Page::Runs {
            let last = self.runs.len().saturating_sub(1);
            self.cursor = self.cursor.saturating_add_signed(by).min(last);
        } else {
            self.scroll = self.scroll.saturating_add_signed(by);
        }
    }

    /// Returns how many runs of the list, other than the one shown, are running.
    pub(crate) fn others_running(&self) -> usize {
        let shown = self.run.as_ref().map(|run| &run.path);
        let others = self.runs.iter().filter(|run| Some(&run.path) != shown);
        others.filter(|run| run.life.is_running()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::MachineSample;
    use crate::source::life::Life;

    fn entry(name: &str) -> RunEntry {
        RunEntry {
            name: name.to_owned(),
            path: name.into(),
            life: Life::Ended,
            written: None,
        }
    }

    fn listed(names: &[&str]) -> State {
        let mut state = State::new("runs".into(), None);
        let runs = names.iter().map(|name| entry(name)).collect();
        state.apply(News::Runs(runs), WallTime(0.0));
        state
    }

    #[test]
    fn the_first_run_is_opened_and_stays_open() {
        let mut state = State::new("runs".into(), None);
        assert_eq!(state.apply(News::Runs(vec![]), WallTime(0.0)), None);
        let runs = vec![entry("b"), entry("a")];
        let opened = state.apply(News::Runs(runs.clone()), WallTime(0.0));
        assert_eq!(opened, Some(Action::Open("b".into())));
        assert_eq!(state.apply(News::Runs(runs), WallTime(0.0)), None);
        let mut asked = State::new("runs".into(), Some("a".into()));
        let opened = asked.apply(News::Runs(vec![entry("b"), entry("a")]), WallTime(0.0));
        assert_eq!(opened, Some(Action::Open("a".into())));
    }

    #[test]
    fn keys_switch_runs_in_a_circle() {
        let mut state = listed(&["a", "b", "c"]);
        assert_eq!(state.press(Key::NextRun), Some(Action::Open("b".into())));
        assert_eq!(
            state.press(Key::PreviousRun),
            Some(Action::Open("a".into()))
        );
        assert_eq!(
            state.press(Key::PreviousRun),
            Some(Action::Open("c".into()))
        );
        assert_eq!(listed(&["a"]).press(Key::NextRun), None);
        assert_eq!(listed(&[]).press(Key::NextRun), None);
    }

    #[test]
    fn a_run_is_chosen_from_the_list() {
        let mut state = listed(&["a", "b", "c"]);
        state.press(Key::Page(Page::Runs));
        for _ in 0..5 {
            state.press(Key::Down);
        }
        state.press(Key::Up);
        assert_eq!(state.press(Key::Enter), Some(Action::Open("b".into())));
        assert_eq!(state.page, Page::Overview);
    }

    #[test]
    fn any_key_but_quit_leaves_the_help() {
        let mut state = listed(&["a", "b"]);
        state.press(Key::Help);
        assert!(state.help);
        assert_eq!(state.press(Key::NextRun), None);
        assert!(!state.help);
        state.press(Key::Help);
        assert_eq!(state.press(Key::Quit), Some(Action::Quit));
        state.help = false;
        for _ in Page::ALL {
            let before = state.page;
            assert_eq!(state.press(Key::NextPage), None);
            assert_ne!(state.page, before);
        }
        assert_eq!(state.page, Page::Overview);
    }

    #[test]
    fn news_of_the_run_before_are_dropped() {
        let mut state = listed(&["a", "b"]);
        let folder = tempfile::tempdir().unwrap();
        let (news, _) = crate::source::run::RunFiles::new(folder.path()).read();
        let before = state.run.clone();
        state.apply(News::Run(Box::new(news)), WallTime(0.0));
        assert_eq!(state.run, before);
        let sample = MachineSample::default();
        state.apply(News::Machine(Box::new(sample)), WallTime(0.0));
        assert!(state.machine.at.is_some());
    }
}
