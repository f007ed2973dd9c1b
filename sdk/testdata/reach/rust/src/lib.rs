//! Uses everything that the host offers, and reads columns that its manifest does not name.

use anchor::{host, Json, Request, Result};

mod services;

anchor::plugin! { classify: classify, filter: keep, rerank: services::rate }

fn classify(request: &Json) -> Result<Json> {
    let question = request.get("query").get("query_str").text().unwrap_or("");
    let url = match request.get("settings").get("url").text() {
        Some(url) => url,
        None => return Ok(Json::object([("label", services::label(question)?.into())])),
    };
    let (echo, never) = (format!("{}/echo", url), format!("{}/never", url));
    let mut post = host::HttpRequest::get(&echo);
    post.method = "POST";
    post.headers = &[("X-Word", "wörd")];
    post.body = &[0, 0xff, 0x7a];
    let one = host::http(&post);
    if one.body != [0, 0xff, 0x7a] {
        return Err("bytes".into());
    }
    let mut slow = host::HttpRequest::get(&never);
    slow.timeout_ms = 50;
    let late = host::http(&slow);
    let numbered = host::HttpRequest { headers: &[], body: b"{\"n\":1}", timeout_ms: 60000, ..post };
    let answers = host::http_batch(&[numbered, slow]);
    if host::kv_get("k").is_some() || !host::kv_set("k", b"stored") {
        return Err("kv".into());
    }
    let stored = String::from_utf8(host::kv_get("k").unwrap_or_default()).map_err(|e| e.to_string())?;
    host::kv_set("k", b"");
    let n = Json::parse(&String::from_utf8_lossy(&answers[0].body)).ok_or("no JSON")?.get("n").int().unwrap_or(0);
    let tokens = host::count_tokens(question);
    let label = format!(
        "{} {} {} {} {} {} {} {} {}",
        one.status,
        one.header("X-Word").unwrap_or(""),
        late.status,
        answers[0].status,
        n,
        answers[1].status,
        answers[1].error,
        stored,
        tokens
    );
    Ok(Json::object([("label", label.into())]))
}

fn keep(r: &Request) -> Result<Vec<u32>> {
    let stays = |row: &u32| r.meta(*row, "drop") == Json::Null && r.source(*row) != "tool" && r.embedding(*row).is_none() && !r.text(*row).is_empty();
    Ok(r.rows().filter(stays).collect())
}
