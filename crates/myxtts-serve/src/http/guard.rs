//! Which requests are answered.
//!
//! A server on loopback is reached by every page that a browser on this machine
//! shows: its script may send requests to 127.0.0.1, or to a name of its own
//! that it points there (DNS rebinding). The first cannot read what comes
//! back, and cannot send JSON without asking first; the second has the page's
//! name in its `Host` line, and that is refused here.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST};
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::App;
use crate::error::ApiError;

/// Refuses strangers, and counts what was answered.
pub(super) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let refusal = refusal(&app, request.uri().path(), request.headers());
    let response = match refusal {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    app.metrics.answered(response.status().as_u16());
    response
}

fn refusal(app: &App, path: &str, headers: &HeaderMap) -> Option<ApiError> {
    if app.config.host.is_loopback() && !is_local(headers) {
        let words = "the Host header of the request does not name this machine: use 127.0.0.1, \
                     [::1] or localhost";
        return Some(ApiError::new(StatusCode::FORBIDDEN, words).with_code("wrong_host"));
    }
    let token = app.config.token.as_ref()?;
    // Whether a server is up is not a secret, and whoever watches it has no token.
    if path == "/health" || given_token(headers).is_some_and(|given| token.is(given)) {
        return None;
    }
    let words = "this server requires a token: send the header `Authorization: Bearer TOKEN`";
    Some(ApiError::new(StatusCode::UNAUTHORIZED, words).with_code("invalid_api_key"))
}

fn given_token(headers: &HeaderMap) -> Option<&str> {
    let line = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = line.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Returns whether the request names this machine as its host.
fn is_local(headers: &HeaderMap) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    match (hosts.next().map(|host| host.to_str()), hosts.next()) {
        (Some(Ok(host)), None) => is_local_name(host),
        _ => false,
    }
}

/// Returns whether a host, with or without a port, is a name of this machine.
fn is_local_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map_or(rest, |(name, _)| name),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    let is_loopback = |address: IpAddr| address.is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_this_machine() {
        for name in [
            "localhost",
            "localhost:8020",
            "LOCALHOST:1",
            "127.0.0.1:8020",
            "127.0.0.1",
            "127.9.9.9:80",
            "[::1]:8020",
            "[::1]",
        ] {
            assert!(is_local_name(name), "{name}");
        }
        for name in [
            "",
            "evil.example",
            "evil.example:8020",
            "127.0.0.1.evil.example:8020",
            "localhost.evil.example",
            "192.168.1.5:8020",
            "[2001:db8::1]:8020",
            "0.0.0.0:8020",
        ] {
            assert!(!is_local_name(name), "{name}");
        }
    }
}
