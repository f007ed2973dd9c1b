//! Uses init, an operation of the JSON lane alone, and the host.

use std::cell::RefCell;

use anchor::{host, Json, Result};

anchor::plugin! { init: init, classify: classify }

thread_local! {
    static PREFIX: RefCell<String> = RefCell::new(String::new());
}

fn init(request: &Json) -> Result<()> {
    let prefix = request.get("settings").get("prefix").text().ok_or("no prefix")?;
    PREFIX.with(|p| *p.borrow_mut() = prefix.into());
    Ok(())
}

fn classify(request: &Json) -> Result<Json> {
    let query = request.get("query").get("query_str").text().unwrap_or("");
    let suffix = request.get("settings").get("suffix").text().unwrap_or("");
    let mode = host::config("mode").ok_or("config")?;
    if host::config("absent").is_some() || host::kv_get("k").is_some() {
        return Err("there is something".into());
    }
    if !host::kv_set("k", query.as_bytes()) {
        return Err("kv".into());
    }
    let stored = String::from_utf8(host::kv_get("k").unwrap_or_default()).map_err(|e| e.to_string())?;
    let tokens = host::count_tokens(query);
    let label = PREFIX.with(|p| format!("{}{}:{}:{}{}", p.borrow(), mode, stored, tokens, suffix));
    host::log_info(suffix);
    host::kv_set("k", b"");
    Ok(Json::object([("label", label.into())]))
}
