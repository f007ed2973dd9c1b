//! A small server with the API of OpenAI for embeddings. It runs a sentence transformer on the processor.

mod model;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Mutex;

use model::Model;

const MAX_TEXTS: usize = 1024;
const MAX_BODY: usize = 8 << 20;

/// Serves /v1/embeddings with a sentence transformer of the BERT family.
#[derive(Parser)]
#[command(after_help = "Example:\n  embed-server --model models/all-minilm-l6-v2\n  curl localhost:8089/v1/embeddings -H 'Content-Type: application/json' -d '{\"input\": [\"hello\"]}'")]
struct Arguments {
    /// Folder with config.json, tokenizer.json and model.safetensors
    #[arg(long)]
    model: PathBuf,
    /// Address to listen at
    #[arg(long, default_value = "127.0.0.1:8089")]
    listen: SocketAddr,
}

struct Server {
    model: Model,
    name: String,
    /// One request is computed at a time, on all processors.
    turn: Mutex<()>,
}

#[derive(Deserialize)]
struct Request {
    input: Input,
    model: Option<String>,
    dimensions: Option<usize>,
    encoding_format: Option<Form>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    One(String),
    Many(Vec<String>),
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Form {
    Float,
    Base64,
}

#[derive(Serialize)]
struct Item {
    object: &'static str,
    index: usize,
    embedding: Vector,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Vector {
    Float(Vec<f32>),
    Base64(String),
}

/// What is wrong with a request, or with the server.
struct Failure(StatusCode, String);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, Json(json!({"error": {"message": self.1, "type": "invalid_request_error"}}))).into_response()
    }
}

fn refuse(message: impl Into<String>) -> Failure {
    Failure(StatusCode::BAD_REQUEST, message.into())
}

async fn embeddings(State(server): State<Arc<Server>>, body: Result<Json<Request>, JsonRejection>) -> Result<Response, Failure> {
    let Json(request) = body.map_err(|e| Failure(e.status(), e.body_text()))?;
    let texts = match request.input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
    };
    if texts.is_empty() || texts.len() > MAX_TEXTS {
        return Err(refuse(format!("input: {} texts (want 1 to {MAX_TEXTS})", texts.len())));
    }
    if request.dimensions.is_some_and(|n| n != server.model.dimension) {
        return Err(refuse(format!("dimensions: the model has {}", server.model.dimension)));
    }
    if request.model.as_ref().is_some_and(|name| *name != server.name) {
        return Err(Failure(StatusCode::NOT_FOUND, format!("model: this server has {}", server.name)));
    }
    let _turn = server.turn.lock().await;
    let worker = server.clone();
    let computed = tokio::task::spawn_blocking(move || worker.model.embed(&texts)).await;
    let failed = |e: String| Failure(StatusCode::INTERNAL_SERVER_ERROR, e);
    let (vectors, tokens) = computed.map_err(|e| failed(e.to_string()))?.map_err(|e| failed(format!("{e:#}")))?;
    let form = request.encoding_format.unwrap_or(Form::Float);
    let item = |(index, v)| Item { object: "embedding", index, embedding: written(v, form) };
    let data: Vec<Item> = vectors.into_iter().enumerate().map(item).collect();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    Ok(Json(json!({"object": "list", "model": server.name, "data": data, "usage": usage})).into_response())
}

fn written(vector: Vec<f32>, form: Form) -> Vector {
    match form {
        Form::Float => Vector::Float(vector),
        Form::Base64 => {
            let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
            Vector::Base64(BASE64_STANDARD.encode(bytes))
        }
    }
}

async fn models(State(server): State<Arc<Server>>) -> Response {
    Json(json!({"object": "list", "data": [{"id": server.name, "object": "model"}]})).into_response()
}

fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/v1/embeddings", post(embeddings))
        .route("/v1/models", get(models))
        .route("/health", get(|| async { "ok" }))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(server)
}

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let model = Model::load(&arguments.model)?;
    let folder = arguments.model.canonicalize()?;
    let name = folder.file_name().context("model: the folder has no name")?.to_string_lossy().into_owned();
    let listener = TcpListener::bind(arguments.listen).await.with_context(|| format!("listen at {}", arguments.listen))?;
    println!("{name}, {} dimensions: http://{}/v1", model.dimension, listener.local_addr()?);
    let server = Arc::new(Server { model, name, turn: Mutex::new(()) });
    let stop = async {
        let _ = tokio::signal::ctrl_c().await; // without a handler it goes on
    };
    axum::serve(listener, router(server)).with_graceful_shutdown(stop).await?;
    Ok(())
}
