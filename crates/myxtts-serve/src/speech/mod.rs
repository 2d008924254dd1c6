//! `POST /v1/audio/speech`

mod answer;
mod body;
mod request;
mod sse;

use std::time::Instant;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc::unbounded_channel;

use crate::error::ApiError;
use crate::http::App;
use crate::queue::{Job, Refused};

/// Answers a request for speech.
pub(crate) async fn speech(State(app): State<App>, request: Request) -> Response {
    let since = Instant::now();
    match answer(&app, request, since).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

async fn answer(app: &App, request: Request, since: Instant) -> Result<Response, ApiError> {
    let bytes = body::read(
        request,
        body::most(app.config.max_text),
        app.config.patience.body,
    );
    let wanted = request::read(&bytes.await?, app)?;
    let (reply, replies) = unbounded_channel();
    let job = Job {
        text: wanted.text,
        voice: wanted.voice,
        options: wanted.options,
        reply,
        since,
    };
    app.queue.push(job).map_err(|refused| match refused {
        Refused::Closed => ApiError::stopping(),
        Refused::Full => ApiError::full(app.queue.bound(), retry_after(app)),
    })?;
    answer::answer(replies, wanted.form, app.model.rate).await
}

/// Returns when a place in the queue is likely to be free, in whole seconds: one
/// text of average length later, at least 1 and at most a minute.
fn retry_after(app: &App) -> u64 {
    let rows = u32::try_from(app.config.rows).unwrap_or(u32::MAX);
    let seconds = app.metrics.seconds_per_text() * f64::from(rows);
    let after = (1..60_u32).find(|after| f64::from(*after) >= seconds);
    u64::from(after.unwrap_or(60))
}
