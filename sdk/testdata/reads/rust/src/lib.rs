//! Reads columns that its manifest does not name.

use anchor::{Json, Request, Result};

anchor::plugin! { filter: keep }

fn keep(r: &Request) -> Result<Vec<u32>> {
    let stays = |row: &u32| r.meta(*row, "drop") == Json::Null && r.source(*row) != "tool" && !r.text(*row).is_empty();
    Ok(r.rows().filter(stays).collect())
}
