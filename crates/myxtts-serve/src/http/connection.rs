//! Connections: how many, how slow, and until when.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::Phase;
use super::patient::Patient;
use crate::config::Patience;

/// Most connections at a time; others wait to be accepted.
const CONNECTIONS: usize = 512;

/// Most bytes of the lines before a body.
const HEAD: usize = 32 * 1024;

/// How long an answer may take to reach its client after the last word.
const DRAIN: Duration = Duration::from_secs(5);

/// Answers until the server stops, and until its last answers were taken.
pub(crate) async fn accept(
    listener: TcpListener,
    router: Router,
    patience: Patience,
    mut phase: watch::Receiver<Phase>,
) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let graceful = GracefulShutdown::new();
    let mut until = phase.clone();
    let stopped = until.wait_for(|phase| *phase != Phase::Open);
    tokio::pin!(stopped);
    loop {
        let next = async {
            // Never closed: the only owner of the places is this function.
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            _ = &mut stopped => break,
            next = next => next,
        };
        let Ok((stream, _)) = accepted else {
            // Out of file handles, most likely: some will be free soon.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        // Parts of a stream are small, and each is wanted now.
        let _ = stream.set_nodelay(true);
        let stream = TokioIo::new(Patient::new(stream, patience.reading));
        let service = TowerToHyperService::new(router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(patience.head)
            .max_buf_size(HEAD)
            .serve_connection(stream, service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            // How a connection ended is told by its speech.
            let _ = connection.await;
            drop(place);
        });
    }
    drop(listener);
    let closed = graceful.shutdown();
    tokio::pin!(closed);
    let spoken = phase.wait_for(|phase| *phase == Phase::Spoken);
    tokio::select! {
        () = &mut closed => return,
        _ = spoken => {}
    }
    // Who has not taken its answer by then does not get it.
    let _ = timeout(DRAIN, closed).await;
}
