//! A program in a terminal of its own: what it shows, what it is told, and
//! what it leaves behind.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix_openpty::rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};
use rustix_openpty::{Pty, openpty};

/// How long a loaded machine may take to show something.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program in a pseudo-terminal.
pub struct InTerminal {
    controller: File,
    /// Kept open, so that the terminal outlives the program.
    user: OwnedFd,
    child: Child,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
    written: Vec<u8>,
    before: Termios,
}

/// What was left when the program had ended.
pub struct Left {
    pub status: ExitStatus,
    /// Every byte it wrote.
    pub written: String,
    /// What the terminal shows.
    pub screen: vt100::Screen,
}

impl InTerminal {
    /// Starts `program` with `arguments` and `variables`.
    pub fn start(program: &mut Command, columns: u16, rows: u16) -> Self {
        let Pty { controller, user } = openpty(None, Some(&size(columns, rows))).unwrap();
        let before = tcgetattr(&user).unwrap();
        let end = || Stdio::from(user.try_clone().unwrap());
        // A session with this terminal as its own, as in a terminal window:
        // only then does a change of size reach the program as a signal.
        let mut session = Command::new("setsid");
        session
            // Tests started with `nohup` would hand it down.
            .args(["--ctty", "env", "--default-signal=HUP"])
            .arg(program.get_program())
            .args(program.get_args());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => session.env(name, value),
                None => session.env_remove(name),
            };
        }
        if let Some(folder) = program.get_current_dir() {
            session.current_dir(folder);
        }
        let child = session.stdin(end()).stdout(end()).stderr(end()).spawn();
        let controller = File::from(controller);
        let (sender, output) = channel();
        let mut reader = controller.try_clone().unwrap();
        thread::spawn(move || {
            let mut bytes = vec![0; 1 << 16];
            while let Ok(count) = reader.read(&mut bytes) {
                if count == 0 || sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self {
            controller,
            user,
            child: child.unwrap(),
            output,
            parser: vt100::Parser::new(rows, columns, 100),
            written: Vec::new(),
            before,
        }
    }

    /// Waits until the screen shows `words`, and gives all it shows.
    pub fn wait_for(&mut self, words: &str) -> String {
        self.wait_until(words, |screen| screen.contents().contains(words))
    }

    /// Waits until the screen does not show `words` any more.
    pub fn wait_without(&mut self, words: &str) -> String {
        self.wait_until(words, |screen| !screen.contents().contains(words))
    }

    /// Waits until the screen is as it should be; `what` is for the message.
    pub fn wait_until(&mut self, what: &str, is_so: impl Fn(&vt100::Screen) -> bool) -> String {
        let begin = Instant::now();
        loop {
            if is_so(self.parser.screen()) {
                return self.parser.screen().contents();
            }
            let shown = self.parser.screen().contents();
            assert!(begin.elapsed() < PATIENCE, "waited for `{what}`:\n{shown}");
            match self.output.recv_timeout(Duration::from_millis(200)) {
                Ok(bytes) => self.take_in(&bytes),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => panic!("waited for `{what}`:\n{shown}"),
            }
        }
    }

    fn take_in(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(bytes);
        self.parser.process(bytes);
    }

    /// What is shown.
    pub fn screen(&self) -> &vt100::Screen {
        self.parser.screen()
    }

    /// Types.
    pub fn press(&mut self, keys: &str) {
        self.controller.write_all(keys.as_bytes()).unwrap();
    }

    /// What another program writes to the same terminal.
    pub fn write_over(&self, text: &str) {
        let mut user = File::from(self.user.try_clone().unwrap());
        user.write_all(text.as_bytes()).unwrap();
    }

    /// Gives the terminal another size.
    pub fn resize(&mut self, columns: u16, rows: u16) {
        self.parser.screen_mut().set_size(rows, columns);
        tcsetwinsize(&self.user, size(columns, rows)).unwrap();
    }

    /// Sends a signal by its name.
    pub fn signal(&self, name: &str) {
        // The shell's own `kill`: not every machine has the program.
        let command = format!("kill -s {name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &command]).status();
        assert!(sent.unwrap().success());
    }

    /// Whether lines are edited and letters echoed, as before the start.
    pub fn is_raw(&self) -> bool {
        let now = tcgetattr(&self.user).unwrap();
        !now.local_modes
            .contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the end of the program, and checks that the terminal is as it
    /// was: its modes, its first screen, its cursor.
    pub fn left(mut self) -> Left {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let shown = self.parser.screen().contents();
            assert!(begin.elapsed() < PATIENCE, "it did not end:\n{shown}");
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(50)) {
                self.take_in(&bytes);
            }
        };
        // What is still on its way; the mark comes last.
        let mark = "\u{1}the end\u{1}";
        self.write_over(mark);
        while !self.written.ends_with(mark.as_bytes()) {
            let bytes = self.output.recv_timeout(PATIENCE).unwrap();
            self.take_in(&bytes);
        }
        let after = tcgetattr(&self.user).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
        let screen = self.parser.screen().clone();
        assert!(!screen.alternate_screen() && !screen.hide_cursor());
        Left {
            status,
            written: String::from_utf8_lossy(&self.written).into_owned(),
            screen,
        }
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        // A failed test must not leave its program behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn size(columns: u16, rows: u16) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}
