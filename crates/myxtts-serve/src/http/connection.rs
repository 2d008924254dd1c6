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

/// The most connections at a time; further ones wait to be accepted.
const CONNECTIONS: usize = 512;

/// The most bytes of a request's head.
const HEAD: usize = 32 * 1024;

/// How long an answer may take to reach its client after the last word is spoken.
const DRAIN: Duration = Duration::from_secs(5);

/// Answers connections until the server stops and its last answers have been taken.
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
            // Never closed: this function is the only owner of the semaphore.
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
            // A connection's error is not reported: its speech tells how it ended.
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
    // A client that has not taken its answer by then does not get it.
    let _ = timeout(DRAIN, closed).await;
}
