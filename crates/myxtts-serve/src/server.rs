//! A server, from its address to its end.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use myxtts_infer::Synthesizer;
use myxtts_run::signals::StopRequest;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::config::ServeConfig;
use crate::error::ServeError;
use crate::http::{App, Model, Phase, Shared, accept, router};
use crate::metrics::Metrics;
use crate::queue::Queue;
use crate::speaker::Speaker;
use crate::voices::VoiceBook;

/// The most encoders at work at a time. Each takes milliseconds for a part of the
/// sound, and the cores are wanted for making it.
const ENCODERS: usize = 4;

/// An address that has been taken, before anything is answered there.
#[derive(Debug)]
pub struct Listening {
    listener: TcpListener,
    address: SocketAddr,
    config: ServeConfig,
}

/// What a server did from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Served {
    /// Texts that were spoken to their end.
    pub texts: u64,
    /// Seconds of sound that was made.
    pub audio_s: f64,
    /// Texts that a stop cut off.
    pub cut: usize,
}

/// Takes the address that the configuration names.
///
/// # Errors
/// If the address is in use, does not belong to this machine, or can be reached
/// from others and there is no token.
pub fn bind(config: ServeConfig) -> Result<Listening, ServeError> {
    let address = SocketAddr::new(config.host, config.port);
    if !config.host.is_loopback() && config.token.is_none() {
        return Err(ServeError::Open(address));
    }
    let listener = TcpListener::bind(address).map_err(|why| ServeError::Listen { address, why })?;
    let address = listener.local_addr()?;
    Ok(Listening {
        listener,
        address,
        config,
    })
}

impl Listening {
    /// Returns the address, with the port that was found where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `stop` is asked for. The calling thread speaks.
    ///
    /// # Errors
    /// If the system refuses a thread or a socket, or the device fails.
    pub fn serve(
        self,
        synthesizer: &mut Synthesizer,
        voices: &VoiceBook,
        stop: &StopRequest,
    ) -> Result<Served, ServeError> {
        let vocoder = synthesizer.vocoder(None)?;
        let rate = synthesizer.rate(vocoder);
        let (phase, seen) = watch::channel(Phase::Open);
        let app = Arc::new(Shared {
            queue: Queue::new(self.config.queue),
            metrics: Metrics::default(),
            model: Model {
                card: synthesizer.card().clone(),
                vocoder,
                rate,
                created: now(),
                voices: voices
                    .list()
                    .map(|(name, source)| (name.to_owned(), source))
                    .collect(),
            },
            phase: seen.clone(),
            config: self.config,
        });
        let http = start_http(self.listener, &app, seen)?;
        let speaker = Speaker {
            queue: &app.queue,
            metrics: &app.metrics,
            voices,
            rate,
            rows: app.config.rows.max(1),
            grace: app.config.grace,
        };
        let spoken = speaker.run(synthesizer, stop, || {
            phase.send_replace(Phase::Stopping);
        });
        app.queue.close();
        phase.send_replace(Phase::Spoken);
        // A panic of that thread was printed, and there is nothing left to answer.
        let _ = http.join();
        let (texts, audio_s) = app.metrics.totals();
        Ok(Served {
            texts,
            audio_s,
            cut: spoken?,
        })
    }
}

/// Starts the thread that takes connections and answers them until the phase ends them.
fn start_http(
    listener: TcpListener,
    app: &App,
    phase: watch::Receiver<Phase>,
) -> Result<JoinHandle<()>, ServeError> {
    listener.set_nonblocking(true)?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(ENCODERS)
        .build()?;
    let listener = {
        let _inside = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let serving = accept(
        listener,
        router(Arc::clone(app)),
        app.config.patience,
        phase,
    );
    let http = thread::Builder::new()
        .name("myxtts-http".to_owned())
        .spawn(move || answer(runtime, serving))?;
    Ok(http)
}

/// Runs all connections, on a thread of their own.
fn answer(runtime: Runtime, serving: impl Future<Output = ()>) {
    runtime.block_on(serving);
    // Encoders may still be at work for clients that are gone.
    runtime.shutdown_timeout(Duration::from_secs(1));
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}
