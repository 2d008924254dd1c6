//! The routes, and the answers to all but requests for speech.

use axum::Router;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};

use super::guard::guard;
use super::{App, Phase};
use crate::error::ApiError;
use crate::metrics::Now;
use crate::speech::speech;

pub(crate) fn router(app: App) -> Router {
    Router::new()
        .route("/v1/audio/speech", post(speech))
        .route("/v1/voices", get(voices))
        .route("/v1/models", get(models))
        .route("/v1/models/{model}", get(model))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .fallback(nothing)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(App::clone(&app), guard))
        .with_state(app)
}

fn document(status: StatusCode, document: &Value) -> Response {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

async fn voices(State(app): State<App>) -> Response {
    let voices = app.model.voices.iter();
    let voices: Vec<Value> = voices
        .map(|(name, source)| json!({ "id": name, "object": "voice", "source": source }))
        .collect();
    let languages = &app.model.card.languages;
    let list = json!({ "object": "list", "data": voices, "languages": languages });
    document(StatusCode::OK, &list)
}

async fn models(State(app): State<App>) -> Response {
    let list = json!({ "object": "list", "data": [described(&app)] });
    document(StatusCode::OK, &list)
}

async fn model(State(app): State<App>, Path(model): Path<String>) -> Response {
    match model == app.config.model {
        true => document(StatusCode::OK, &described(&app)),
        false => unknown_model(&app, &model).into_response(),
    }
}

fn described(app: &App) -> Value {
    json!({
        "id": app.config.model,
        "object": "model",
        "created": app.model.created,
        "owned_by": "myxtts",
    })
}

pub(crate) fn unknown_model(app: &App, asked: &str) -> ApiError {
    let ours = &app.config.model;
    let words = format!("there is no model `{asked}` here: this server speaks with `{ours}`");
    let refusal = ApiError::request("model", words).with_code("model_not_found");
    ApiError {
        status: StatusCode::NOT_FOUND,
        ..refusal
    }
}

async fn health(State(app): State<App>) -> Response {
    let phase = *app.phase.borrow();
    match phase {
        Phase::Open => document(StatusCode::OK, &json!({ "status": "ok" })),
        Phase::Stopping | Phase::Spoken => document(
            StatusCode::SERVICE_UNAVAILABLE,
            &json!({ "status": "stopping" }),
        ),
    }
}

async fn metrics(State(app): State<App>) -> Response {
    let now = Now {
        queue: app.queue.length(),
        queue_bound: app.queue.bound(),
        rows_bound: app.config.rows,
    };
    let mut response = Response::new(Body::from(app.metrics.page(&now)));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

async fn nothing() -> ApiError {
    let words = "there is nothing here: use POST /v1/audio/speech, or GET /v1/voices, /v1/models, \
                 /health or /metrics";
    ApiError::new(StatusCode::NOT_FOUND, words).with_code("unknown_url")
}

async fn wrong_method() -> ApiError {
    let words = "use POST for speech, and GET for everything else";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, words).with_code("method_not_allowed")
}
