//! Why a server cannot serve, and what a client is told.

use std::io;
use std::net::SocketAddr;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use myxtts_base::{Report, report};
use myxtts_infer::InferError;
use serde_json::json;

/// Why a server cannot serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The server cannot listen on the address.
    #[error(
        "{}",
        report!(
            "cannot listen on {address}: {why}";
            fix: "{}", fix_of(why)
        )
    )]
    Listen {
        /// The address that was asked for.
        address: SocketAddr,
        /// The error of the system.
        why: io::Error,
    },
    /// The system refused something else that a server needs.
    #[error(
        "{}",
        report!(
            "the server cannot run: {}", .0;
            fix: "check the limits on open files and threads (`ulimit -n`, `ulimit -u`)"
        )
    )]
    Io(#[from] io::Error),
    /// The address can be reached from other machines, and there is no token.
    #[error(
        "{}",
        report!(
            "{} can be reached from other machines, and no token keeps strangers out", .0;
            fix: "give one with --token, or listen on 127.0.0.1"
        )
    )]
    Open(SocketAddr),
    /// The token that was chosen is too short, or has characters a header cannot carry.
    #[error(
        "{}",
        report!(
            "a token needs at least {} letters, digits or signs, without spaces",
            crate::Token::SHORTEST;
            fix: "leave --token out: where one is needed, it is generated and printed"
        )
    )]
    Token,
    /// The system has no random numbers to make a token of.
    #[error(
        "{}",
        report!(
            "no token could be made, because the system gives no random numbers: {}", .0;
            fix: "choose one with --token"
        )
    )]
    Random(String),
    /// There is no voice to speak with.
    #[error(
        "{}",
        report!(
            "there is no voice to speak with: {}", .0;
            fix: "put recordings (NAME.wav) or .voice files into a folder, and name it with \
                  --voices"
        )
    )]
    NoVoice(String),
    /// The folder of voices cannot be read.
    #[error(
        "{}",
        report!(
            "the voices in {folder} cannot be read: {why}";
            fix: "name a folder with --voices"
        )
    )]
    Voices {
        /// The folder, as it was given.
        folder: String,
        /// The error of the system.
        why: io::Error,
    },
    /// The model cannot be used.
    #[error(transparent)]
    Infer(#[from] InferError),
    /// The device dropped work: what it computes cannot be trusted any more.
    #[error(
        "{}",
        report!(
            "the device ran out of memory, so its speech cannot be trusted any more: {}", .0;
            fix: "start the server again with fewer --rows, or on another device"
        )
    )]
    Device(String),
}

fn fix_of(why: &io::Error) -> &'static str {
    match why.kind() {
        io::ErrorKind::AddrInUse => "stop what listens there, or choose another --port",
        io::ErrorKind::PermissionDenied => "choose a --port above 1023",
        _ => "choose an address of this machine with --host",
    }
}

/// An error as a response, in the shape of OpenAI's API.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: StatusCode,
    pub(crate) message: String,
    /// The field of the request that is at fault.
    pub(crate) param: Option<&'static str>,
    /// A short name of the error, for programs.
    pub(crate) code: Option<&'static str>,
    /// When to try again, in seconds.
    pub(crate) retry_after: Option<u64>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            param: None,
            code: None,
            retry_after: None,
        }
    }

    /// Refuses a request that cannot be served because of its field `param`.
    pub(crate) fn request(param: &'static str, message: impl Into<String>) -> Self {
        let bad = Self::new(StatusCode::BAD_REQUEST, message);
        Self {
            param: Some(param),
            ..bad
        }
    }

    pub(crate) fn with_code(mut self, code: &'static str) -> Self {
        self.code = Some(code);
        self
    }

    /// Refuses a request because the server is stopping.
    pub(crate) fn stopping() -> Self {
        let unavailable = StatusCode::SERVICE_UNAVAILABLE;
        let refusal = Self::new(unavailable, "the server is stopping").with_code("stopping");
        Self {
            retry_after: Some(5),
            ..refusal
        }
    }

    /// Reports that the engine panicked and the speech it was making is lost.
    pub(crate) fn engine() -> Self {
        let words = "the engine failed while it made this speech";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, words).with_code("engine_failed")
    }

    /// Refuses a request because the queue is full.
    pub(crate) fn full(waiting: usize, retry_after: u64) -> Self {
        let words = format!("the queue is full ({waiting}): try again later");
        let refusal = Self::new(StatusCode::SERVICE_UNAVAILABLE, words).with_code("queue_full");
        Self {
            retry_after: Some(retry_after),
            ..refusal
        }
    }

    /// Turns the error that ended a speech into a response: a text that cannot be
    /// said is the client's fault, everything else the server's.
    pub(crate) fn of(why: &InferError) -> Self {
        let mut report = Report::of(why);
        if matches!(why, InferError::NoText) {
            // It names flags of the command line, which a client does not have.
            report.take_fix();
        }
        let words = plain(&report.to_string());
        match why {
            InferError::NoText | InferError::Unspeakable { .. } | InferError::TooLong(_) => {
                Self::request("input", words)
            }
            InferError::Language(_) => Self::request("language", words),
            _ => Self::new(StatusCode::INTERNAL_SERVER_ERROR, words),
        }
    }

    pub(crate) fn document(&self) -> serde_json::Value {
        let kind = match self.status.is_server_error() {
            true => "server_error",
            false => "invalid_request_error",
        };
        json!({ "error": {
            "message": self.message,
            "type": kind,
            "param": self.param,
            "code": self.code,
        } })
    }
}

/// Puts a message for a terminal into one line, without the spaces that align its parts.
pub(crate) fn plain(message: &str) -> String {
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    message.lines().map(words).collect::<Vec<_>>().join("; ")
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.document().to_string()));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer");
            headers.insert(axum::http::header::WWW_AUTHENTICATE, scheme);
        }
        response
    }
}
