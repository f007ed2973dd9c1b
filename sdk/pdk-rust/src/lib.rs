//! Plugins for anchor-host: one function per operation serves both lanes.
//!
//! ```ignore
//! use anchor::{Request, Result};
//!
//! anchor::plugin! { filter: keep }
//!
//! fn keep(r: &Request) -> Result<Vec<u32>> {
//!     let min = r.setting("min").number().unwrap_or(0.5);
//!     Ok(r.rows().filter(|&row| r.score(row) >= min).collect())
//! }
//! ```
//!
//! The host does not send a column that plugin.yaml does not name under `reads`. Its
//! texts are empty, and its numbers are 0. [`plugin!`] lists the operations.

mod batch;
mod changes;
pub mod host;
mod json;
mod kernel;
#[doc(hidden)]
pub mod lanes;
mod metadata;
#[cfg(not(target_arch = "wasm32"))]
pub mod mock;
mod number;
#[cfg(all(feature = "random", target_arch = "wasm32", target_os = "unknown"))]
mod random;
mod request;
mod services;
mod time;
mod write;

pub use changes::{Changes, NewItem};
pub use host::{log_debug, log_error, log_info, log_warn};
pub use json::Json;
pub use request::Request;

/// Why a function has no answer.
#[derive(Debug)]
pub enum Error {
    /// Everything stays as it is.
    NoChange,
    /// The call fails with this message.
    Message(String),
}

/// What the functions of a plugin return.
pub type Result<T> = core::result::Result<T, Error>;

impl From<&str> for Error {
    fn from(message: &str) -> Self {
        Error::Message(message.into())
    }
}

impl From<String> for Error {
    fn from(message: String) -> Self {
        Error::Message(message)
    }
}

/// Makes the exports of a plugin. Use it once per plugin, with a list of
/// `operation: function`, separated by commas.
///
/// | operation | function |
/// |---|---|
/// | `filter` | `fn(&Request) -> Result<Vec<u32>>`: the rows that stay, ascending |
/// | `rerank` | `fn(&Request) -> Result<Vec<f64>>`: a score, 0 to 1, for every row |
/// | `retrieve` | `fn(&Request) -> Result<Vec<NewItem>>` |
/// | `process` | `fn(&Request, &mut Changes) -> Result<()>` |
/// | `init`, `observe` | `fn(&Json) -> Result<()>` |
/// | `transform_query` and all others | `fn(&Json) -> Result<Json>`: the documents of ABI.md |
///
/// `rerank_with` and `filter_with` take the function that `process` takes.
#[macro_export]
macro_rules! plugin {
    ($($operation:ident : $function:path),+ $(,)?) => {
        #[no_mangle]
        pub extern "C" fn anchor_abi_1() {}
        $crate::plugin!(@each [] $($operation : $function,)+);
    };
    (@each [$($batch:tt)*] filter : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@both anchor_filter anchor_batch_filter (|r: &$crate::Request, c: &mut $crate::Changes| {
            c.keep_rows($f(r)?);
            Ok(())
        }));
        $crate::plugin!(@each [batch] $($rest)*);
    };
    (@each [$($batch:tt)*] rerank : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@both anchor_rerank anchor_batch_rerank (|r: &$crate::Request, c: &mut $crate::Changes| {
            $crate::lanes::score_each(r, c, $f(r)?)
        }));
        $crate::plugin!(@each [batch] $($rest)*);
    };
    (@each [$($batch:tt)*] retrieve : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@both anchor_retrieve anchor_batch_retrieve (|r: &$crate::Request, c: &mut $crate::Changes| {
            for item in $f(r)? {
                c.add(item);
            }
            Ok(())
        }));
        $crate::plugin!(@each [batch] $($rest)*);
    };
    (@each [$($batch:tt)*] process : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@both anchor_process anchor_batch_process $f);
        $crate::plugin!(@each [batch] $($rest)*);
    };
    (@each [$($batch:tt)*] filter_with : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@both anchor_filter anchor_batch_filter $f);
        $crate::plugin!(@each [batch] $($rest)*);
    };
    (@each [$($batch:tt)*] rerank_with : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@both anchor_rerank anchor_batch_rerank $f);
        $crate::plugin!(@each [batch] $($rest)*);
    };
    (@each $batch:tt init : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@document anchor_init (|d: &$crate::Json| $f(d).map(|()| $crate::Json::Null)));
        $crate::plugin!(@each $batch $($rest)*);
    };
    (@each $batch:tt observe : $f:path, $($rest:tt)*) => {
        $crate::plugin!(@document anchor_observe (|d: &$crate::Json| $f(d).map(|()| $crate::Json::Null)));
        $crate::plugin!(@each $batch $($rest)*);
    };
    (@each $batch:tt transform_query : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_transform_query $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt classify : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_classify $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt enrich_query : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_enrich_query $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt memory : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_memory $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt compact : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_compact $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt distill : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_distill $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt extract : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_extract $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt provide : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_provide $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt estimate_tokens : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_estimate_tokens $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt format : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_format $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt count_tokens : $f:path, $($rest:tt)*) => { $crate::plugin!(@document anchor_count_tokens $f); $crate::plugin!(@each $batch $($rest)*); };
    (@each $batch:tt $unknown:ident : $f:path, $($rest:tt)*) => {
        compile_error!(concat!("unknown operation `", stringify!($unknown), "` (want one of filter, filter_with, rerank, rerank_with, \
            retrieve, process, init, observe, transform_query, classify, enrich_query, memory, compact, distill, extract, provide, \
            estimate_tokens, format, count_tokens)"));
    };
    (@each []) => {};
    (@each [batch]) => {
        #[no_mangle]
        pub extern "C" fn anchor_mailbox() -> u32 { $crate::lanes::mailbox() }
        #[no_mangle]
        pub extern "C" fn anchor_reserve(size: u32) -> u32 { $crate::lanes::reserve(size) }
    };
    (@both $json:ident $batch:ident $f:tt) => { $crate::plugin!(@lanes $json $batch $f); };
    (@both $json:ident $batch:ident $f:path) => { $crate::plugin!(@lanes $json $batch $f); };
    (@lanes $json:ident $batch:ident $f:expr) => {
        #[no_mangle]
        pub extern "C" fn $json() -> i32 { $crate::lanes::json(&mut $f) }
        #[no_mangle]
        pub extern "C" fn $batch(address: u32, length: u32) -> i32 { $crate::lanes::batch(&mut $f, address, length) }
    };
    (@document $json:ident $f:expr) => {
        #[no_mangle]
        pub extern "C" fn $json() -> i32 { $crate::lanes::document(&mut $f) }
    };
}
