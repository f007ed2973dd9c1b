//! A small server with the API of OpenAI for embeddings. It runs a sentence transformer on the processor.

mod model;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Parser;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use model::Model;

const MAX_TEXTS: usize = 1024;
/// The model sees only the beginning of a long text, but all of it is cut into tokens before.
const MAX_TEXT: usize = 256 << 10;
const MAX_BODY: usize = 4 << 20;
/// How many requests the server has at the same time, those that wait included. It bounds the memory.
const MAX_REQUESTS: usize = 16;
/// How long a request may take, from its body to its answer.
const TIMEOUT: Duration = Duration::from_secs(120);

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

/// Makes one vector for each text, and counts the tokens.
type Embed = Box<dyn Fn(&[String]) -> Result<(Vec<Vec<f32>>, usize)> + Send + Sync>;

struct Server {
    embed: Embed,
    dimension: usize,
    name: String,
    /// One request is computed at a time, on all processors.
    turn: Arc<Semaphore>,
    /// The places of the requests that the server has.
    places: Arc<Semaphore>,
    timeout: Duration,
}

impl Server {
    fn new(name: String, dimension: usize, embed: Embed) -> Self {
        let (turn, places) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(MAX_REQUESTS)));
        Self { embed, dimension, name, turn, places, timeout: TIMEOUT }
    }
}

#[derive(Deserialize)]
struct Question {
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

async fn embeddings(State(server): State<Arc<Server>>, body: Result<Json<Question>, JsonRejection>) -> Result<Response, Failure> {
    let Json(request) = body.map_err(|e| Failure(e.status(), e.body_text()))?;
    let texts = match request.input {
        Input::One(text) => vec![text],
        Input::Many(texts) => texts,
    };
    if texts.is_empty() || texts.len() > MAX_TEXTS {
        return Err(refuse(format!("input: {} texts (want 1 to {MAX_TEXTS})", texts.len())));
    }
    if let Some(at) = texts.iter().position(|t| t.len() > MAX_TEXT) {
        return Err(refuse(format!("input: text {} has {} bytes, allowed {MAX_TEXT}", at + 1, texts[at].len())));
    }
    if request.dimensions.is_some_and(|n| n != server.dimension) {
        return Err(refuse(format!("dimensions: the model has {}", server.dimension)));
    }
    if request.model.as_ref().is_some_and(|name| *name != server.name) {
        return Err(Failure(StatusCode::NOT_FOUND, format!("model: this server has {}", server.name)));
    }
    let failed = |e: String| Failure(StatusCode::INTERNAL_SERVER_ERROR, e);
    let turn = server.turn.clone().acquire_owned().await.map_err(|e| failed(e.to_string()))?;
    let worker = server.clone();
    let computed = tokio::task::spawn_blocking(move || {
        let _turn = turn; // until the work is done, also if the client has gone
        (worker.embed)(&texts)
    })
    .await;
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

/// Refuses a request, before its body is read, if the server has enough, and ends one that takes too long.
async fn bounded(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let Ok(_place) = server.places.try_acquire() else {
        let full = Failure(StatusCode::TOO_MANY_REQUESTS, format!("{MAX_REQUESTS} requests are waiting (lower concurrency, or try later)"));
        return ([(header::RETRY_AFTER, "1")], full).into_response();
    };
    match tokio::time::timeout(server.timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Failure(StatusCode::SERVICE_UNAVAILABLE, format!("no answer within {:?} (send fewer texts)", server.timeout)).into_response(),
    }
}

fn router(server: Arc<Server>) -> Router {
    Router::new()
        .route("/v1/embeddings", post(embeddings).layer(from_fn_with_state(server.clone(), bounded)))
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
    let server = Arc::new(Server::new(name, model.dimension, Box::new(move |texts| model.embed(texts))));
    let stop = async {
        let _ = tokio::signal::ctrl_c().await; // without a handler it goes on
    };
    axum::serve(listener, router(server)).with_graceful_shutdown(stop).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpStream};
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;

    use super::*;

    /// Starts a server whose model takes a while, and counts how many requests it computes at the same time.
    async fn start(pause: Duration, timeout: Duration) -> Result<(SocketAddr, Arc<AtomicUsize>, Arc<AtomicUsize>)> {
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (now, peak) = (running.clone(), most.clone());
        let embed = move |texts: &[String]| {
            peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(pause);
            now.fetch_sub(1, Ordering::SeqCst);
            Ok((vec![vec![1.0, 2.0]; texts.len()], texts.len()))
        };
        let mut server = Server::new("fake".into(), 2, Box::new(embed));
        server.timeout = timeout;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        tokio::spawn(async move { axum::serve(listener, router(Arc::new(server))).await });
        Ok((address, running, most))
    }

    fn send(address: SocketAddr, body: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(address)?;
        write!(stream, "POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", body.len())?;
        let _ = stream.write_all(body.as_bytes()); // the server may refuse it before its end
        Ok(stream)
    }

    fn answer(mut stream: TcpStream) -> String {
        let mut text = Vec::new();
        let _ = stream.read_to_end(&mut text); // what came is what counts
        String::from_utf8_lossy(&text).into_owned()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn huge_requests_are_refused() -> Result<()> {
        let (address, ..) = start(Duration::ZERO, TIMEOUT).await?;
        let text = |n: usize| serde_json::json!({"input": "a".repeat(n)}).to_string();
        let many = serde_json::json!({"input": vec!["a"; MAX_TEXTS + 1]}).to_string();
        let cases = [(text(MAX_TEXT), "200 OK"), (text(MAX_TEXT + 1), "text 1 has 262145 bytes"), (text(MAX_BODY), " 413 "), (many, "1025 texts")];
        tokio::task::spawn_blocking(move || {
            for (body, want) in cases {
                let got = answer(send(address, &body)?);
                assert!(got.contains(want), "{} bytes: {got:.300}", body.len());
            }
            Ok(())
        })
        .await?
    }

    /// More requests than places are refused at once, and clients that go do not let others compute meanwhile.
    #[tokio::test(flavor = "multi_thread")]
    async fn the_queue_is_bounded() -> Result<()> {
        let (address, running, most) = start(Duration::from_millis(300), TIMEOUT).await?;
        tokio::task::spawn_blocking(move || {
            for _ in 0..3 {
                let gone = send(address, r#"{"input": "a"}"#)?;
                thread::sleep(Duration::from_millis(50));
                gone.shutdown(Shutdown::Both)?;
            }
            let sent: Vec<TcpStream> = (0..2 * MAX_REQUESTS).map(|_| send(address, r#"{"input": "a"}"#)).collect::<Result<_>>()?;
            let got: Vec<String> = sent.into_iter().map(answer).collect();
            let count = |status: &str| got.iter().filter(|g| g.contains(status)).count();
            assert!(count("429 Too Many Requests") >= MAX_REQUESTS / 2 && count("200 OK") >= MAX_REQUESTS - 3, "{got:?}");
            assert!(got.iter().all(|g| g.contains("200 OK") || g.to_lowercase().contains("retry-after: 1")));
            assert_eq!((running.load(Ordering::SeqCst), most.load(Ordering::SeqCst)), (0, 1));
            Ok(())
        })
        .await?
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn slow_bodies_end() -> Result<()> {
        let (address, ..) = start(Duration::ZERO, Duration::from_millis(100)).await?;
        tokio::task::spawn_blocking(move || {
            let mut stream = TcpStream::connect(address)?;
            write!(stream, "POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{")?;
            let mut first = [0; 64];
            let n = stream.read(&mut first)?;
            assert!(String::from_utf8_lossy(&first[..n]).contains(" 503 "));
            Ok(())
        })
        .await?
    }
}
