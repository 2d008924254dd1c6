//! A server that runs for as long as a test.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use burn::tensor::Device;
use myxtts_audio::write_wav_pcm16;
use myxtts_infer::Synthesizer;
use myxtts_run::signals::{StopRequest, StopSignal};
use myxtts_serve::{Patience, ServeConfig, ServeError, Served, VoiceBook, bind};

use crate::client::get;
use crate::tiny::{Tiny, recording};

pub struct Server {
    pub address: SocketAddr,
    stop: StopRequest,
    thread: Option<JoinHandle<Result<Served, ServeError>>>,
}

pub fn config() -> ServeConfig {
    ServeConfig {
        host: Ipv4Addr::LOCALHOST.into(),
        port: 0,
        token: None,
        queue: 64,
        rows: 4,
        max_text: 4096,
        language: None,
        model: "tiny".to_owned(),
        patience: Patience::default(),
        grace: Duration::from_secs(60),
    }
}

/// A folder of weights with two voices.
pub fn weights() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let checkpoint = Tiny::new(&["en"], 30).with_decoder();
    let weights = folder.path().join("weights");
    myxtts_weights::write_ours(&weights, &checkpoint).unwrap();
    std::fs::create_dir(weights.join("voices")).unwrap();
    for (name, samples) in [("zoe", 40_000), ("anna", 30_000)] {
        let path = weights.join("voices").join(name).with_extension("wav");
        write_wav_pcm16(&path, &recording(samples)).unwrap();
    }
    folder
}

impl Server {
    pub fn start(change: impl FnOnce(&mut ServeConfig)) -> Self {
        let mut config = config();
        change(&mut config);
        let stop = StopRequest::new();
        let asked = stop.clone();
        let (tell, told) = channel();
        let thread = std::thread::spawn(move || {
            let folder = weights();
            let weights = folder.path().join("weights");
            let listening = bind(config)?;
            let mut synthesizer = Synthesizer::open(&weights, &Device::flex()).unwrap();
            let voices = VoiceBook::gather(&mut synthesizer, &weights, None)?;
            tell.send(listening.address()).unwrap();
            listening.serve(&mut synthesizer, &voices, &asked)
        });
        Self {
            address: told.recv().unwrap(),
            stop,
            thread: Some(thread),
        }
    }

    /// A number of the page of metrics.
    pub fn metric(&self, name: &str) -> f64 {
        let page = get(self.address, "/metrics").text();
        let mut lines = page.lines();
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value
            .unwrap_or_else(|| panic!("no {name} in:\n{page}"))
            .parse()
            .unwrap()
    }

    /// Waits until a number of the page is there.
    pub fn until(&self, name: &str, value: f64) {
        let before = Instant::now();
        while self.metric(name) != value {
            let waited = before.elapsed();
            assert!(
                waited < Duration::from_secs(60),
                "{name} is {}",
                self.metric(name)
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn ask_to_stop(&self) {
        self.stop.ask(StopSignal::Terminate);
    }

    /// Asks it to stop, if nobody has, and waits until it has.
    pub fn stop(mut self) -> Served {
        self.ask_to_stop();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Server {
    /// A test that fails leaves nothing behind.
    fn drop(&mut self) {
        self.ask_to_stop();
    }
}
