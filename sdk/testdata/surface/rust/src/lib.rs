//! Uses every column and every kind of change.

use anchor::{Changes, Json, NewItem, Request, Result};

anchor::plugin! { process: process }

fn change(r: &Request, c: &mut Changes, row: u32) {
    let mut metadata = r.metadata(row);
    metadata.set("a row", row as i64);
    metadata.set("half", r.score(row) / 2.0);
    metadata.set("first", row == 0);
    metadata.set("was", r.text(row));
    c.keep(row);
    c.set_metadata(row, metadata);
    c.set_text(row, format!("{} {}/{}", r.id(row), r.text(row), r.source(row)));
    c.set_priority(row, 11 - r.priority(row));
    c.set_score(row, (1.0 - r.score(row)) * r.setting("factor").number().unwrap_or(1.0));
}

fn process(r: &Request, c: &mut Changes) -> Result<()> {
    if r.setting("loud").bool() != Some(true) {
        return Err("not loud".into());
    }
    let stays = |row: &u32| r.meta(*row, "drop") == Json::Null;
    r.rows().filter(stays).for_each(|row| change(r, c, row));
    let added = c.add(NewItem {
        key: "k".into(),
        content: format!("{}\n{}", r.query(), r.setting("suffix").text().unwrap_or("")),
        score: 0.25,
        priority: 3,
        metadata: Json::object([
            ("left", Json::Int(r.tokens_left() as i64)),
            ("tokens", Json::Int(r.token_count(0) as i64)),
            ("tenth", Json::Float(0.1)),
        ]),
        created_at: r.created_at(0),
        ..Default::default()
    });
    c.order(std::iter::once(added).chain(r.rows().rev().filter(stays)).collect());
    Ok(())
}
