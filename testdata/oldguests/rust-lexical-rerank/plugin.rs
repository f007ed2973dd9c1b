//! Scores items by the words they share with the query, rare words first.

use anchor::{Error, Request, Result};

anchor::plugin! { rerank: score }

const MAX_TERMS: usize = 32;

/// The tokens of a text: runs of ASCII letters and digits and of other scripts.
fn tokens(text: &str) -> impl Iterator<Item = &[u8]> {
    let parts = text.as_bytes().split(|b| b.is_ascii() && !b.is_ascii_alphanumeric());
    parts.filter(|token| !token.is_empty())
}

/// The number of the term that a token is, ASCII letters compared without case.
fn find(terms: &[&[u8]], token: &[u8]) -> Option<usize> {
    terms.iter().position(|term| term.eq_ignore_ascii_case(token))
}

fn score(r: &Request) -> Result<Vec<f64>> {
    let mut terms: Vec<&[u8]> = Vec::new();
    for token in tokens(r.query()) {
        if terms.len() < MAX_TERMS && find(&terms, token).is_none() {
            terms.push(token);
        }
    }

    let mut df = vec![0.0; terms.len()]; // items that hold each term
    let mut items = Vec::with_capacity(r.len()); // tokens, and of each term
    for row in r.rows() {
        let (mut len, mut tf) = (0.0, vec![0.0; terms.len()]);
        for token in tokens(r.text(row)) {
            len += 1.0;
            if let Some(t) = find(&terms, token) {
                df[t] += if tf[t] == 0.0 { 1.0 } else { 0.0 };
                tf[t] += 1.0;
            }
        }
        items.push((len, tf));
    }
    let total: f64 = items.iter().map(|item| item.0).sum();
    if terms.is_empty() || total == 0.0 {
        return Err(Error::NoChange);
    }

    let count = items.len() as f64;
    let scores = items.iter().map(|(len, tf)| {
        let norm = 1.2 * (0.25 + 0.75 * len / (total / count));
        let (mut sum, mut weights) = (0.0, 0.0);
        for (n, df) in tf.iter().zip(&df) {
            let weight = 1.0 - df / (count + 1.0);
            sum += weight * n / (n + norm);
            weights += weight;
        }
        sum / weights
    });
    Ok(scores.collect())
}
