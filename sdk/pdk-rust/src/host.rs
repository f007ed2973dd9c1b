//! What the host offers a plugin. All but the log and [`config`] need a permission in
//! plugin.yaml.

use crate::kernel::{block, env, found, read};
pub use crate::services::{
    embed, llm, llm_batch, search, Condition, Hit, LlmAnswer, LlmRequest, Message, Search, ServiceError, ServiceWord, Side, Vectors,
};
use crate::Json;

/// Logs a message.
pub fn log_debug(text: &str) {
    unsafe { env::log_debug(block(text.as_bytes())) }
}
/// Logs a message.
pub fn log_info(text: &str) {
    unsafe { env::log_info(block(text.as_bytes())) }
}
/// Logs a message.
pub fn log_warn(text: &str) {
    unsafe { env::log_warn(block(text.as_bytes())) }
}
/// Logs a message.
pub fn log_error(text: &str) {
    unsafe { env::log_error(block(text.as_bytes())) }
}

/// The value that the operator configured for a key.
pub fn config(key: &str) -> Option<String> {
    found(unsafe { env::config_get(block(key.as_bytes())) }).map(|v| String::from_utf8_lossy(&v).into_owned())
}

/// The stored value of a key.
pub fn kv_get(key: &str) -> Option<Vec<u8>> {
    found(unsafe { env::anchor_kv_get(block(key.as_bytes())) })
}

/// Stores a value. An empty value deletes the key. Returns false if there is
/// no room for it.
pub fn kv_set(key: &str, value: &[u8]) -> bool {
    let value = if value.is_empty() { 0 } else { block(value) };
    unsafe { env::anchor_kv_set(block(key.as_bytes()), value) == 0 }
}

/// The number of tokens of a text of at most 1 MiB, by the host's tokenizer.
pub fn count_tokens(text: &str) -> u64 {
    unsafe { env::anchor_count_tokens(block(text.as_bytes())) }
}

/// A request for the host to send.
pub struct HttpRequest<'a> {
    /// The method, GET if it is empty.
    pub method: &'a str,
    pub url: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
    /// The milliseconds after which there is no answer. 0: the request has the time of the call.
    pub timeout_ms: u32,
}

impl<'a> HttpRequest<'a> {
    /// A GET request without headers.
    pub fn get(url: &'a str) -> Self {
        HttpRequest { method: "GET", url, headers: &[], body: &[], timeout_ms: 0 }
    }

    fn document(&self, body: u64) -> Json {
        let headers = self.headers.iter().map(|&(k, v)| (k.to_string(), v.into())).collect();
        let mut request =
            Json::object([("method", self.method.into()), ("url", self.url.into()), ("headers", Json::Object(headers))]);
        if self.timeout_ms > 0 {
            request.set("timeout_ms", self.timeout_ms as i64);
        }
        if body != 0 {
            request.set("body", body as i64);
        }
        request
    }
}

/// The answer of a server.
pub struct HttpResponse {
    /// The status. 0: there is no answer.
    pub status: u16,
    pub body: Vec<u8>,
    /// Why there is no answer: timeout, dns, connect, certificate, tls, reset, short_body, too_large
    /// or network.
    pub error: String,
    headers: Json,
}

impl HttpResponse {
    /// A header. Its name may be in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(&name.to_ascii_lowercase()).text()
    }
}

fn send_block(bytes: &[u8]) -> u64 {
    if bytes.is_empty() {
        0
    } else {
        block(bytes)
    }
}

fn document_block(document: &Json) -> u64 {
    let mut text = String::new();
    document.write(&mut text);
    block(text.as_bytes())
}

/// Sends a request. Status 0 means that there was no answer, and `error` says why.
pub fn http(request: &HttpRequest) -> HttpResponse {
    let (at, status, headers) = unsafe {
        let at = env::http_request(document_block(&request.document(0)), send_block(request.body));
        (at, env::http_status_code(), env::http_headers())
    };
    let headers = read(headers);
    HttpResponse {
        status: status as u16,
        body: found(at).unwrap_or_default(),
        error: if status == 0 { headers.get("anchor-error").text().unwrap_or("").to_string() } else { String::new() },
        headers,
    }
}

/// Sends up to 32 requests at the same time, and returns their answers in the same order. The
/// host's limits for bodies hold for those of the whole batch. Only anchor-host offers it.
pub fn http_batch(requests: &[HttpRequest]) -> Vec<HttpResponse> {
    let list: Vec<Json> = requests.iter().map(|r| r.document(send_block(r.body))).collect();
    let document = document_block(&Json::object([("requests", list.into())]));
    let answer = read(unsafe { env::anchor_http_batch(document) });
    let response = |r: &Json| HttpResponse {
        status: r.get("status").int().unwrap_or(0) as u16,
        body: found(r.get("body").int().unwrap_or(0) as u64).unwrap_or_default(),
        error: r.get("error").text().unwrap_or("").to_string(),
        headers: r.get("headers").clone(),
    };
    answer.get("responses").list().iter().map(response).collect()
}
