//! Keeps the items that hold any, or all, of the keywords.

use anchor::{Error, Request, Result};

anchor::plugin! { filter: keep }

fn keep(r: &Request) -> Result<Vec<u32>> {
    let keywords = r.setting("keywords").text().unwrap_or("");
    let words: Vec<&[u8]> = keywords.split(' ').filter(|w| !w.is_empty()).map(str::as_bytes).collect();
    if words.is_empty() {
        return Err(Error::NoChange);
    }
    let all = r.setting("match").text() == Some("all");
    let matches = |text: &[u8]| match all {
        true => words.iter().all(|w| holds(text, w)),
        false => words.iter().any(|w| holds(text, w)),
    };
    Ok(r.rows().filter(|&row| matches(r.text(row).as_bytes())).collect())
}

/// Reports whether text holds word, ASCII letters compared without case.
fn holds(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}
