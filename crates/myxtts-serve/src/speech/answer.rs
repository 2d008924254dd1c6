//! Replies of the synthesis loop into a response.

use std::io;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use futures_lite::stream::unfold;
use myxtts_audio::units::SampleRate;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::spawn_blocking;

use super::sse;
use crate::error::ApiError;
use crate::format::{EncodeError, Encoder, Format};
use crate::queue::Reply;

/// The form of a response.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub(super) format: Format,
    pub(super) delivery: Delivery,
}

/// How a response is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// When all of the sound is there.
    Whole,
    /// As the sound is made.
    Stream,
    /// As the sound is made, in server-sent events.
    Events,
}

/// The header that gives the sample rate, for which `pcm` itself has no place.
const RATE: HeaderName = HeaderName::from_static("x-sample-rate");

/// Waits for the first sound, so that a text that cannot be said gets a status of
/// its own, then answers.
pub(super) async fn answer(
    mut replies: UnboundedReceiver<Reply>,
    form: Form,
    spoken: SampleRate,
) -> Result<Response, ApiError> {
    let streamed = form.delivery != Delivery::Whole;
    let encoder = form.format.encoder(spoken, streamed).map_err(internal)?;
    let first = match replies.recv().await {
        Some(Reply::Sound(samples)) => samples,
        Some(Reply::Done) => return Err(silent()),
        Some(Reply::Failed(why)) => return Err(why),
        None => return Err(ApiError::engine()),
    };
    let (body, kind) = match form.delivery {
        Delivery::Whole => {
            let bytes = whole(replies, encoder, first).await?;
            (Body::from(bytes), form.format.media_type())
        }
        Delivery::Stream => {
            let state = Streaming::Sound(replies, encoder, first);
            let stream = unfold(state, |state| async move {
                let (part, next) = state.next().await?;
                let part = part.map_err(|why| io::Error::other(why.message));
                Some((part, next))
            });
            (Body::from_stream(stream), form.format.media_type())
        }
        Delivery::Events => {
            let state = Streaming::Sound(replies, encoder, first);
            let stream = unfold(state, |state| async move {
                let (part, next) = state.next().await?;
                let is_last = matches!(next, Streaming::Over);
                Some((Ok::<_, io::Error>(sse::events(part, is_last)), next))
            });
            (Body::from_stream(stream), "text/event-stream")
        }
    };
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(RATE, HeaderValue::from(form.format.rate(spoken).hz()));
    Ok(response)
}

async fn whole(
    mut replies: UnboundedReceiver<Reply>,
    mut encoder: Encoder,
    first: Vec<f32>,
) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    let mut samples = first;
    loop {
        let part;
        (encoder, part) = push(encoder, samples).await?;
        bytes.extend(part);
        samples = match replies.recv().await {
            Some(Reply::Sound(samples)) => samples,
            Some(Reply::Done) => break,
            Some(Reply::Failed(why)) => return Err(why),
            None => return Err(ApiError::engine()),
        };
    }
    bytes.extend(finish(encoder).await?);
    Ok(bytes)
}

/// A response that is under way.
enum Streaming {
    /// Sound is to be sent next.
    Sound(UnboundedReceiver<Reply>, Encoder, Vec<f32>),
    /// More is awaited from the loop.
    Wait(UnboundedReceiver<Reply>, Encoder),
    /// Everything has been sent.
    Over,
}

impl Streaming {
    /// Returns the next bytes, or the error that ended them early, and the state that
    /// follows. No part but the last is empty: an empty one would end a chunked
    /// response.
    async fn next(mut self) -> Option<(Result<Vec<u8>, ApiError>, Self)> {
        loop {
            self = match self {
                Self::Over => return None,
                Self::Sound(replies, encoder, samples) => match push(encoder, samples).await {
                    Ok((encoder, bytes)) if bytes.is_empty() => Self::Wait(replies, encoder),
                    Ok((encoder, bytes)) => {
                        return Some((Ok(bytes), Self::Wait(replies, encoder)));
                    }
                    Err(why) => return Some((Err(why), Self::Over)),
                },
                Self::Wait(mut replies, encoder) => match replies.recv().await {
                    Some(Reply::Sound(samples)) => Self::Sound(replies, encoder, samples),
                    Some(Reply::Done) => return Some((finish(encoder).await, Self::Over)),
                    Some(Reply::Failed(why)) => return Some((Err(why), Self::Over)),
                    None => return Some((Err(ApiError::engine()), Self::Over)),
                },
            };
        }
    }
}

/// Encodes on another thread: it takes milliseconds, and the thread of all
/// connections has none to spare.
async fn push(mut encoder: Encoder, samples: Vec<f32>) -> Result<(Encoder, Vec<u8>), ApiError> {
    spawn_blocking(move || {
        let bytes = encoder.push(&samples).map_err(internal)?;
        Ok((encoder, bytes))
    })
    .await
    .unwrap_or_else(|why| Err(internal(why.into())))
}

async fn finish(encoder: Encoder) -> Result<Vec<u8>, ApiError> {
    spawn_blocking(move || encoder.finish().map_err(internal))
        .await
        .unwrap_or_else(|why| Err(internal(why.into())))
}

fn internal(why: EncodeError) -> ApiError {
    let words = format!("the audio could not be encoded: {why}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, words)
}

fn silent() -> ApiError {
    let words = "the model stopped before it made any audio: try another `seed`";
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, words).with_code("no_sound")
}
