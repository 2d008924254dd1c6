//! The body of a request, which must be small and come soon.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, EXPECT};
use axum::http::{HeaderMap, StatusCode};
use futures_lite::StreamExt;
use tokio::time::timeout;

use crate::error::ApiError;

/// Returns the size of the largest body: each character of a text may be written
/// as two escapes of six bytes, and the other fields need little.
pub(super) fn most(max_text: usize) -> usize {
    max_text.saturating_mul(12).saturating_add(16 * 1024)
}

/// How many bytes of a body that is too large are read and thrown away before it is
/// refused: a client that is still sending when its connection closes hears of a
/// broken connection and not of the limit.
const DRAINED: usize = 32 << 20;

/// Reads the whole body of a request in JSON.
pub(super) async fn read(
    request: Request,
    most: usize,
    patience: Duration,
) -> Result<Vec<u8>, ApiError> {
    check(request.headers(), most)?;
    match timeout(patience, gather(request.into_body(), most)).await {
        Ok(body) => body,
        Err(_) => {
            let words = "the body of the request did not arrive in time";
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, words).with_code("timeout"))
        }
    }
}

/// Checks what can be known before the first byte.
fn check(headers: &HeaderMap, most: usize) -> Result<(), ApiError> {
    let header = |name| headers.get(name)?.to_str().ok();
    // Pages in a browser may send other types to any server without asking it.
    if !header(CONTENT_TYPE).is_some_and(is_json) {
        let words = "the body must be JSON: send the header `Content-Type: application/json`";
        let refusal = ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words);
        return Err(refusal.with_code("unsupported_media_type"));
    }
    let claimed = header(CONTENT_LENGTH).and_then(|length| length.parse::<usize>().ok());
    // A client that waits for leave to send need not send the body.
    let most_read = match headers.contains_key(EXPECT) {
        true => most,
        false => most.saturating_add(DRAINED),
    };
    match claimed.is_some_and(|length| length > most_read) {
        true => Err(too_large(most)),
        false => Ok(()),
    }
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
}

async fn gather(body: Body, most: usize) -> Result<Vec<u8>, ApiError> {
    let mut parts = body.into_data_stream();
    let mut bytes = Vec::new();
    let mut size = 0_usize;
    while let Some(part) = parts.next().await {
        let part = part.map_err(|why| {
            let words = format!("the body of the request broke off: {why}");
            ApiError::new(StatusCode::BAD_REQUEST, words)
        })?;
        size = size.saturating_add(part.len());
        if size <= most {
            bytes.extend_from_slice(&part);
        } else if size <= most.saturating_add(DRAINED) {
            bytes = Vec::new();
        } else {
            break;
        }
    }
    match size > most {
        true => Err(too_large(most)),
        false => Ok(bytes),
    }
}

fn too_large(most: usize) -> ApiError {
    let words = format!("the body of the request is larger than {most} bytes");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, words).with_code("request_too_large")
}
