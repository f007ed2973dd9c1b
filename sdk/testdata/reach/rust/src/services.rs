//! Asks for vectors, searches and answers of models, and compares vectors.

use anchor::host::{self, Condition, LlmRequest, Message, Search, ServiceWord, Side};
use anchor::{Request, Result};

/// What the answers of models must be like.
const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"number"}}}"#;

/// Labels a question by what the services answer.
pub fn label(question: &str) -> Result<String> {
    if !host::embed(Side::Document, &[])?.values.is_empty() {
        return Err("vectors of no texts".into());
    }
    let v = host::embed(Side::Query, &[question, ""])?;
    let mut label = format!("{} {} {} {} ", v.model, v.dimension, (4.0 * v.at(0)[0]) as i64, (4.0 * v.at(1)[1]) as i64);
    label.push_str(&found(question, v.at(0))?);
    label.push_str(&answers(question)?);
    Ok(label)
}

fn found(question: &str, vector: &[f32]) -> Result<String> {
    let filter = [Condition { field: "path", op: "prefix", values: &["a/", "b\""] }];
    let hits = host::search(&Search { collection: "docs", text: question, vector, by: "hybrid", k: 2, filter: &filter })?;
    let h = hits.first().ok_or("no hit")?;
    let lines = format!("{} {} {} {} {}", h.chunk, (4.0 * h.score) as i64, h.page, h.line_from, h.line_to);
    let gone = match host::search(&Search { collection: "gone", text: question, ..Default::default() }) {
        Err(e) if e.word == ServiceWord::NotFound => e.message,
        other => return Err(format!("{:?}", other).into()),
    };
    Ok(format!(
        "{} {} {} {} {} {} {} {} {} {} {} ",
        h.text,
        h.document,
        h.title,
        h.path,
        lines,
        h.headings.join(" "),
        h.metadata.get("k").text().unwrap_or(""),
        hits[1].document,
        hits[1].page,
        gone,
        host::search(&Search { text: question, ..Default::default() })?.len()
    ))
}

fn answers(question: &str) -> Result<String> {
    let talk = [Message::system("Be brief.\n"), Message::user(question), Message::assistant("")];
    let spend = [Message::user("spend")];
    let strict = LlmRequest { model: "small", messages: &talk, schema: SCHEMA, max_tokens: 50, temperature: Some(0.0) };
    let both = host::llm_batch(&[strict, LlmRequest { messages: &spend, ..Default::default() }]);
    let one = both[0].clone()?;
    let spent = match &both[1] {
        Err(e) if e.word == ServiceWord::Budget => &e.message,
        other => return Err(format!("{:?}", other).into()),
    };
    let plain = host::llm(&LlmRequest { messages: &talk[1..2], ..Default::default() })?;
    let warm = host::llm(&LlmRequest { max_tokens: 0, temperature: None, ..strict })?;
    let n = one.json.get("n").int().unwrap_or(0);
    Ok(format!(
        "{} {} {} {} {} {} {} {} ",
        n, one.model, one.finish, one.input_tokens, one.output_tokens, spent, plain.text, warm.text
    ))
}

/// Rates items by their vectors.
pub fn rate(r: &Request) -> Result<Vec<f64>> {
    let query = r.query_embedding();
    if r.dimension() != query.len() {
        return Err("dimensions".into());
    }
    let rated = |v: &[f32]| v.iter().zip(&query).map(|(a, b)| (a * b) as f64).sum();
    Ok(r.rows().map(|row| r.embedding(row).map_or(0.25, rated)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anchor::mock;

    #[test]
    fn a_test_answers_for_the_host() {
        mock::answer("search", r#"{"hits":[{"text":"t","headings":["h"]},{"document":"d"}]}"#);
        assert!(found("q", &[0.5]).is_err(), "the collection is not gone");
        assert!(mock::asked().contains(r#""collection":"gone""#));
        mock::answer("llm", r#"{"responses":[{"json":{"n":1}},{"error":"budget","message":"spent"}]}"#);
        assert!(answers("q").unwrap().starts_with("1   0 0 spent"));
    }
}
