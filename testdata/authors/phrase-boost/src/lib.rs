//! phrase-boost raises items that have a quoted phrase of the query.

use anchor::{Error, Request, Result};

anchor::plugin! { rerank: boost }

fn boost(r: &Request) -> Result<Vec<f64>> {
    let by = r.setting("boost").number().unwrap_or(0.5);
    let query = r.query().to_lowercase();
    // The phrases are the odd pieces between quotes: a "b c" d
    let phrases: Vec<&str> = query.split('"').skip(1).step_by(2).filter(|p| !p.trim().is_empty()).collect();
    if phrases.is_empty() {
        return Err(Error::NoChange);
    }
    let scores = r.rows().map(|row| {
        let text = r.text(row).to_lowercase();
        let found = phrases.iter().any(|&p| text.contains(p));
        if found { r.score(row) + (1.0 - r.score(row)) * by } else { r.score(row) }
    });
    Ok(scores.collect())
}
