//! What the host offers a plugin. `kv_*` and [`count_tokens`] need a
//! permission in plugin.yaml, and [`http`] too.

use crate::kernel::{block, env, unblock};
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

fn found(at: u64) -> Option<Vec<u8>> {
    (at != 0).then(|| unblock(at))
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

/// Sends a request and returns the status and the body. Status 0 means that there was no
/// answer.
pub fn http(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> (u16, Vec<u8>) {
    let headers = headers.iter().map(|&(k, v)| (k.to_string(), v.into())).collect();
    let mut request = String::new();
    Json::object([("method", method.into()), ("url", url.into()), ("headers", Json::Object(headers))])
        .write(&mut request);
    let body = if body.is_empty() { 0 } else { block(body) };
    let (at, status) = unsafe { (env::http_request(block(request.as_bytes()), body), env::http_status_code()) };
    (status as u16, found(at).unwrap_or_default())
}
