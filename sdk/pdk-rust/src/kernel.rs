//! The functions of the host. A module imports only those it uses.

use crate::Json;

#[cfg(target_arch = "wasm32")]
pub mod env {
    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        pub fn alloc(size: u64) -> u64;
        pub fn length(block: u64) -> u64;
        pub fn load_u8(address: u64) -> u32;
        pub fn load_u64(address: u64) -> u64;
        pub fn store_u8(address: u64, value: u32);
        pub fn store_u64(address: u64, value: u64);
        pub fn input_length() -> u64;
        pub fn input_load_u8(address: u64) -> u32;
        pub fn input_load_u64(address: u64) -> u64;
        pub fn output_set(block: u64, size: u64);
        pub fn error_set(block: u64);
        pub fn config_get(key: u64) -> u64;
        pub fn http_request(request: u64, body: u64) -> u64;
        pub fn http_status_code() -> i32;
        pub fn http_headers() -> u64;
        pub fn log_debug(text: u64);
        pub fn log_info(text: u64);
        pub fn log_warn(text: u64);
        pub fn log_error(text: u64);
    }
    #[link(wasm_import_module = "extism:host/user")]
    extern "C" {
        pub fn anchor_kv_get(key: u64) -> u64;
        pub fn anchor_kv_set(key: u64, value: u64) -> i32;
        pub fn anchor_count_tokens(text: u64) -> u64;
        pub fn anchor_http_batch(requests: u64) -> u64;
        pub fn anchor_embed(request: u64) -> u64;
        pub fn anchor_search(request: u64) -> u64;
        pub fn anchor_llm(request: u64) -> u64;
    }
}

/// Tests of a plugin run outside of Wasm, where there is no host. There, 0 stands for
/// nothing, but for what [`crate::mock`] answers.
#[cfg(not(target_arch = "wasm32"))]
#[allow(clippy::missing_safety_doc)]
pub mod env {
    pub use crate::mock::env::*;

    macro_rules! absent {
        ($($name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)?;)*) => {
            $(pub unsafe fn $name($(_: $t),*) $(-> $r)? { $(0 as $r)? })*
        };
    }
    absent! {
        input_length() -> u64; input_load_u8(a: u64) -> u32; input_load_u64(a: u64) -> u64;
        output_set(b: u64, n: u64); error_set(b: u64); config_get(k: u64) -> u64;
        log_debug(t: u64); log_info(t: u64); log_warn(t: u64); log_error(t: u64);
        http_request(r: u64, b: u64) -> u64; http_status_code() -> i32; http_headers() -> u64; anchor_http_batch(r: u64) -> u64;
        anchor_kv_get(k: u64) -> u64; anchor_kv_set(k: u64, v: u64) -> i32; anchor_count_tokens(t: u64) -> u64;
    }
}

/// Copies bytes into a new block of the host.
pub fn block(bytes: &[u8]) -> u64 {
    unsafe {
        let at = env::alloc(bytes.len() as u64);
        let words = bytes.chunks_exact(8);
        let rest = words.remainder();
        let tail = at + (bytes.len() - rest.len()) as u64;
        for (i, w) in words.enumerate() {
            env::store_u64(at + 8 * i as u64, u64::from_le_bytes(w.try_into().unwrap_or_default()));
        }
        for (i, b) in rest.iter().enumerate() {
            env::store_u8(tail + i as u64, *b as u32);
        }
        at
    }
}

/// Reads the bytes of a block, eight at a time and the last few one by one.
fn fetch(size: u64, word: impl Fn(u64) -> u64, byte: impl Fn(u64) -> u32) -> Vec<u8> {
    let mut out = Vec::with_capacity(size as usize);
    let mut at = 0;
    while at + 8 <= size {
        out.extend_from_slice(&word(at).to_le_bytes());
        at += 8;
    }
    while at < size {
        out.push(byte(at) as u8);
        at += 1;
    }
    out
}

/// The bytes of a block.
pub fn unblock(at: u64) -> Vec<u8> {
    unsafe { fetch(env::length(at), |i| env::load_u64(at + i), |i| env::load_u8(at + i)) }
}

/// The bytes of a block, or nothing for 0.
pub fn found(at: u64) -> Option<Vec<u8>> {
    (at != 0).then(|| unblock(at))
}

/// The document of a block, or null.
pub fn read(at: u64) -> Json {
    Json::parse(&String::from_utf8_lossy(&found(at).unwrap_or_default())).unwrap_or(Json::Null)
}

/// The numbers of a block, or none for 0.
pub fn unblock_floats(at: u64) -> Vec<f32> {
    let size = if at == 0 { 0 } else { unsafe { env::length(at) } };
    let mut out = Vec::with_capacity(size as usize / 4);
    for i in 0..size / 8 {
        let two = unsafe { env::load_u64(at + 8 * i) };
        out.extend([f32::from_bits(two as u32), f32::from_bits((two >> 32) as u32)]);
    }
    if size % 8 >= 4 {
        let last = (0..4).fold(0, |bits, i| bits | unsafe { env::load_u8(at + size / 8 * 8 + i) } << (8 * i));
        out.push(f32::from_bits(last));
    }
    out
}

/// The input of the call.
pub fn input() -> Vec<u8> {
    unsafe { fetch(env::input_length(), |i| env::input_load_u64(i), |i| env::input_load_u8(i)) }
}

/// Sets the output of the call.
pub fn output(bytes: &[u8]) {
    unsafe { env::output_set(block(bytes), bytes.len() as u64) }
}

/// Sets the message that the call fails with.
pub fn error(message: &str) {
    unsafe { env::error_set(block(message.as_bytes())) }
}
