//! Answers of the host in the tests of a plugin, which run outside of Wasm. Each test, in its
//! own thread, has its own. Without one, a service answers nothing.
//!
//! ```ignore
//! use anchor::{host, mock};
//!
//! mock::answer("llm", r#"{"responses": [{"text": "yes"}]}"#);
//! let request = host::LlmRequest { messages: &[host::Message::user("Is it?")], ..Default::default() };
//! assert_eq!(host::llm(&request).unwrap().text, "yes");
//! assert!(mock::asked().contains("Is it?"));
//! ```

use std::cell::RefCell;

#[derive(Default)]
struct Host {
    /// The blocks. The handle of block n is n + 1, times 2^32.
    blocks: Vec<Vec<u8>>,
    answers: Vec<(String, String)>,
    asked: String,
}

thread_local!(static HOST: RefCell<Host> = RefCell::default());

fn with<T>(f: impl FnOnce(&mut Host) -> T) -> T {
    HOST.with(|host| f(&mut host.borrow_mut()))
}

/// Makes a document of ABI.md, section 7, the answer of the service `embed`, `search` or `llm`.
/// It stays so until the next one. Empty text is no answer.
pub fn answer(service: &str, document: &str) {
    with(|host| {
        host.answers.retain(|a| a.0 != service);
        host.answers.push((service.into(), document.into()));
    })
}

/// Makes vectors the answer of the service `embed`: all their numbers, one vector after the other.
pub fn vectors(dimension: u32, values: &[f32]) {
    let bytes: Vec<u8> = values.iter().flat_map(|f| f.to_le_bytes()).collect();
    let handle = with(|host| host.add(bytes));
    answer("embed", &format!(r#"{{"model":"test","dimension":{},"vectors":{}}}"#, dimension, handle));
}

/// The document that a service was asked last.
pub fn asked() -> String {
    with(|host| host.asked.clone())
}

impl Host {
    fn add(&mut self, bytes: Vec<u8>) -> u64 {
        self.blocks.push(bytes);
        (self.blocks.len() as u64) << 32
    }

    /// The bytes from an address to the end of its block.
    fn bytes(&mut self, at: u64) -> &mut [u8] {
        let block = ((at >> 32) as usize).checked_sub(1).and_then(|n| self.blocks.get_mut(n));
        block.map_or(&mut [], |b| b.get_mut(at as u32 as usize..).unwrap_or(&mut []))
    }

    fn ask(&mut self, service: &str, request: u64) -> u64 {
        self.asked = String::from_utf8_lossy(self.bytes(request)).into_owned();
        match self.answers.iter().find(|a| a.0 == service && !a.1.is_empty()) {
            None => 0,
            Some(a) => {
                let document = a.1.clone().into_bytes();
                self.add(document)
            }
        }
    }
}

/// The functions of the host that tests have.
#[allow(clippy::missing_safety_doc)]
pub(crate) mod env {
    use super::with;

    pub unsafe fn alloc(size: u64) -> u64 {
        with(|host| host.add(vec![0; size as usize]))
    }
    pub unsafe fn length(block: u64) -> u64 {
        with(|host| host.bytes(block).len() as u64)
    }
    pub unsafe fn load_u8(at: u64) -> u32 {
        with(|host| host.bytes(at)[0] as u32)
    }
    pub unsafe fn load_u64(at: u64) -> u64 {
        with(|host| u64::from_le_bytes(host.bytes(at)[..8].try_into().unwrap()))
    }
    pub unsafe fn store_u8(at: u64, value: u32) {
        with(|host| host.bytes(at)[0] = value as u8)
    }
    pub unsafe fn store_u64(at: u64, value: u64) {
        with(|host| host.bytes(at)[..8].copy_from_slice(&value.to_le_bytes()))
    }
    pub unsafe fn anchor_embed(request: u64) -> u64 {
        with(|host| host.ask("embed", request))
    }
    pub unsafe fn anchor_search(request: u64) -> u64 {
        with(|host| host.ask("search", request))
    }
    pub unsafe fn anchor_llm(request: u64) -> u64 {
        with(|host| host.ask("llm", request))
    }
}
