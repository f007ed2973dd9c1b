//! Finds documents in an index of OpenSearch or Elasticsearch.

use anchor::{host, Json, NewItem, Request, Result};

anchor::plugin! { retrieve: find }

fn find(r: &Request) -> Result<Vec<NewItem>> {
    let query = r.query().trim();
    if query.is_empty() || r.top_k() == 0 {
        return Ok(Vec::new());
    }
    let s = Settings::of(r);
    let body = s.body(query, r.top_k()).to_string();
    let address = format!("{}/{}/_search", s.url.trim_end_matches('/'), s.index);
    let answer = host::http(&host::HttpRequest {
        method: "POST",
        headers: &[("content-type", "application/json")],
        body: body.as_bytes(),
        timeout_ms: s.timeout_ms,
        ..host::HttpRequest::get(&address)
    });
    let (items, warning) = s.items(answer.status, &String::from_utf8_lossy(&answer.body), r.top_k())?;
    if let Some(warning) = warning {
        host::log_warn(&warning);
    }
    Ok(items)
}

/// The settings of a step. The schema in plugin.yaml describes them.
struct Settings {
    url: String,
    index: String,
    fields: Vec<Json>,
    text: String,
    title: String,
    link: String,
    passages: i64,
    passage_size: i64,
    filter: Json,
    timeout_ms: u32,
}

impl Settings {
    fn of(r: &Request) -> Settings {
        let text = |name, fallback: &str| r.setting(name).text().unwrap_or(fallback).to_string();
        let number = |name, fallback| r.setting(name).int().unwrap_or(fallback);
        let fields = match r.setting("fields").list() {
            [] => vec!["title^2".into(), "content".into()],
            list => list.to_vec(),
        };
        Settings {
            url: text("url", "http://localhost:9200"),
            index: text("index", "*"),
            fields,
            text: text("text_field", "content"),
            title: text("title_field", "title"),
            link: text("url_field", "url"),
            passages: number("passages", 3),
            passage_size: number("passage_size", 500),
            filter: r.setting("filter").clone(),
            timeout_ms: number("timeout_ms", 1500).clamp(1, u32::MAX as i64) as u32,
        }
    }

    /// The body of a search. The server sends no field that is not needed.
    fn body(&self, query: &str, top_k: u32) -> Json {
        let words = Json::object([("query", query.into()), ("fields", self.fields.clone().into())]);
        let mut clauses = Json::object([("must", Json::object([("multi_match", words)]))]);
        if self.filter != Json::Null {
            clauses.set("filter", self.filter.clone());
        }
        let source = [&self.text, &self.title, &self.link].into_iter().filter(|f| !f.is_empty());
        let mut body = Json::object([
            ("size", i64::from(top_k).into()),
            ("query", Json::object([("bool", clauses)])),
            ("_source", source.map(|f| f.as_str().into()).collect::<Vec<Json>>().into()),
            ("timeout", format!("{}ms", self.timeout_ms).into()),
        ]);
        if self.passages > 0 {
            let how = Json::object([
                ("number_of_fragments", self.passages.into()),
                ("fragment_size", self.passage_size.into()),
                // Without a match in the field, the beginning of the text.
                ("no_match_size", (self.passages.saturating_mul(self.passage_size)).into()),
                ("pre_tags", vec!["".into()].into()),
                ("post_tags", vec!["".into()].into()),
            ]);
            body.set("highlight", Json::object([("fields", Json::object([(self.text.as_str(), how)]))]));
        }
        body
    }

    /// The items of an answer, and what the log should say of it.
    fn items(&self, status: u16, body: &str, top_k: u32) -> Result<(Vec<NewItem>, Option<String>)> {
        let answer = Json::parse(body).unwrap_or(Json::Null);
        if status != 200 {
            return Err(failure(status, self.timeout_ms, &answer).into());
        }
        let found = match answer.get("hits").get("hits") {
            Json::List(hits) => hits,
            _ => return Err("the answer is not that of a search: it has no hits (is url the address of the server?)".into()),
        };
        let best = found.iter().filter_map(score).fold(0.0, f64::max);
        let mut items: Vec<NewItem> = Vec::new();
        for hit in found {
            if items.len() == top_k as usize {
                break;
            }
            if let Some(mut item) = self.item(hit) {
                item.score = match score(hit) {
                    Some(rated) if best > 0.0 => (rated / best).clamp(0.0, 1.0),
                    _ => 1.0 / (items.len() + 1) as f64,
                };
                items.push(item);
            }
        }
        // An item must not have a better score than the one before it.
        items.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok((items, warning(&answer, found.len())))
    }

    fn item(&self, hit: &Json) -> Option<NewItem> {
        let source = hit.get("_source");
        let passages = texts(hit.get("highlight").get(&self.text), " … ");
        let text = passages.or_else(|| texts(at(source, &self.text), "\n"))?;
        let title = texts(at(source, &self.title), " ");
        let mut metadata = Json::object([("index", hit.get("_index").clone()), ("id", hit.get("_id").clone())]);
        if let Some(link) = texts(at(source, &self.link), " ") {
            metadata.set("url", link);
        }
        if let Some(title) = &title {
            metadata.set("title", title.as_str());
        }
        let id = format!("{}/{}", hit.get("_index").text()?, hit.get("_id").text()?);
        Some(NewItem {
            key: if id.chars().any(unfit) { String::new() } else { id },
            content: match title {
                Some(title) => format!("{title}\n{text}"),
                None => text,
            },
            metadata,
            ..Default::default()
        })
    }
}

/// Says why there is no answer.
fn failure(status: u16, timeout_ms: u32, answer: &Json) -> String {
    let error = answer.get("error");
    let reason = error.get("root_cause").list().first().map_or(error, |cause| cause).get("reason");
    let reason = reason.text().or_else(|| error.text()).unwrap_or("");
    let advice = match status {
        0 => return format!("no answer from the search server within {timeout_ms} ms (see the log, or raise timeout_ms)"),
        401 | 403 => "let the host send the credentials: grants.http.headers",
        404 => "is index right?",
        429 => "the server wants a pause",
        _ => "want 200",
    };
    format!("the search server answers with status {status}: {reason} ({advice})")
}

/// Says that the answer may lack documents.
fn warning(answer: &Json, found: usize) -> Option<String> {
    let failed = answer.get("_shards").get("failed").int().unwrap_or(0);
    if failed > 0 {
        return Some(format!("{failed} shards of the index failed; {found} documents are from the others"));
    }
    (answer.get("timed_out").bool() == Some(true)).then(|| format!("the server stopped early, with {found} documents"))
}

fn score(hit: &Json) -> Option<f64> {
    hit.get("_score").number().filter(|s| s.is_finite())
}

/// The field of a document. It may be named as it is, or lie in objects.
fn at<'a>(source: &'a Json, field: &str) -> &'a Json {
    match source.get(field) {
        Json::Null => field.split('.').fold(source, |object, name| object.get(name)),
        value => value,
    }
}

/// A text, or the texts of a list. None if there is nothing but white space.
fn texts(value: &Json, between: &str) -> Option<String> {
    let parts: Vec<&str> = match value {
        Json::Text(text) => vec![text.trim()],
        Json::List(list) => list.iter().filter_map(Json::text).map(str::trim).filter(|t| !t.is_empty()).collect(),
        _ => return None,
    };
    let text = parts.join(between);
    (!text.is_empty()).then_some(text)
}

/// Characters that a key must not have.
fn unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        let doc = Json::parse(&format!(r#"{{"query": {{}}, "settings": {text}}}"#)).unwrap();
        Settings::of(&Request::of_document(&doc))
    }

    #[test]
    fn asks_for_passages_and_the_filter() {
        let body = settings(r#"{"filter": {"term": {"lang": "en"}}}"#).body("a \"b\"", 4).to_string();
        assert!(body.starts_with(
            r#"{"size":4,"query":{"bool":{"must":{"multi_match":{"query":"a \"b\"","fields":["title^2","content"]}},"filter":{"term":{"lang":"en"}}}}"#
        ));
        assert!(body.contains(r#""highlight":{"fields":{"content":{"number_of_fragments":3,"fragment_size":500"#));
        assert!(!settings(r#"{"passages": 0}"#).body("a", 1).to_string().contains("highlight"));
    }

    #[test]
    fn strange_answers_do_not_panic() {
        let s = settings("{}");
        for body in [
            "", "[]", "{}", r#"{"hits": 1}"#, r#"{"hits": {"hits": [1, null, {}, {"_source": 3}]}}"#,
            r#"{"hits": {"hits": [{"_index": "i", "_id": "\u0000", "_score": -1e400, "_source": {"content": ["", {"a": 1}]}}]}}"#,
        ] {
            if let Ok((items, _)) = s.items(200, body, 3) {
                assert!(items.is_empty(), "{body}");
            }
        }
    }

    #[test]
    fn a_key_has_no_control_characters() {
        let hit = r#"{"hits": {"hits": [{"_index": "i", "_id": "a\u202eb", "_score": 2.0, "_source": {"content": "x"}}]}}"#;
        let (items, _) = settings("{}").items(200, hit, 3).unwrap();
        assert_eq!((items[0].key.as_str(), items[0].score), ("", 1.0));
    }
}
