//! Writes change sets, as the container of the batch lane and as the document of the
//! JSON lane.

use std::fmt::Write;

use crate::json::{comma, member, string};
use crate::metadata::Table;
use crate::{number, time, Changes, Json, NewItem};

const HEADER: usize = 32;
const ENTRY: usize = 16;
const MAX_SECTIONS: usize = 17;

/// A container under construction. It begins with room for the directory.
struct Container<'a> {
    out: &'a mut Vec<u8>,
    count: usize,
}

impl Container<'_> {
    fn section(&mut self, id: u32, kind: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        let at = self.out.len();
        fill(self.out);
        let entry = [id | kind << 16, 0, at as u32, (self.out.len() - at) as u32];
        self.put(HEADER + ENTRY * self.count, &entry);
        self.count += 1;
        self.out.resize((self.out.len() + 7) / 8 * 8, 0);
    }

    fn put(&mut self, at: usize, words: &[u32]) {
        for (to, w) in self.out[at..].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&w.to_le_bytes());
        }
    }

    fn u32s(&mut self, id: u32, list: impl Iterator<Item = u32>) {
        self.section(id, 3, |out| out.extend(list.flat_map(u32::to_le_bytes)));
    }

    fn f64s(&mut self, id: u32, list: impl Iterator<Item = f64>) {
        self.section(id, 6, |out| out.extend(list.flat_map(f64::to_le_bytes)));
    }

    fn texts<'s>(&mut self, id: u32, list: impl Iterator<Item = &'s str> + Clone) {
        self.section(id, 7, |out| {
            let mut at = 0u32;
            out.extend(at.to_le_bytes());
            for s in list.clone() {
                at += s.len() as u32;
                out.extend(at.to_le_bytes());
            }
            list.for_each(|s| out.extend(s.as_bytes()));
        });
    }

    fn table(&mut self, id: u32, table: &Table) {
        self.section(id, 8, |out| table.write(out));
    }

    fn items(&mut self, items: &[NewItem]) {
        let metadata = Table::of(items.iter().map(|i| &i.metadata));
        if items.iter().any(|i| !i.key.is_empty()) {
            self.texts(1, items.iter().map(|i| i.key.as_str()));
        }
        self.f64s(2, items.iter().map(|i| i.score));
        self.texts(3, items.iter().map(|i| i.content.as_str()));
        if !metadata.is_empty() {
            self.table(4, &metadata);
        }
        if items.iter().any(|i| !i.source.is_empty()) {
            self.texts(5, items.iter().map(|i| i.source.as_str()));
        }
        if items.iter().any(|i| i.priority != 0) {
            self.u32s(6, items.iter().map(|i| i.priority));
        }
        if items.iter().any(|i| i.created_at.is_some()) {
            let times = items.iter().map(|i| i.created_at.unwrap_or(time::NONE));
            self.section(8, 4, |out| out.extend(times.flat_map(i64::to_le_bytes)));
        }
    }

    fn edits(&mut self, c: &Changes) {
        if let Some(keep) = &c.keep {
            self.u32s(512, keep.iter().copied());
        }
        if !c.texts.is_empty() {
            self.u32s(513, c.texts.iter().map(|e| e.0));
            self.texts(514, c.texts.iter().map(|e| e.1.as_str()));
        }
        if !c.metadata.is_empty() {
            self.u32s(515, c.metadata.iter().map(|e| e.0));
            self.table(516, &Table::of(c.metadata.iter().map(|e| &e.1)));
        }
        if !c.priorities.is_empty() {
            self.u32s(517, c.priorities.iter().map(|e| e.0));
            self.u32s(518, c.priorities.iter().map(|e| e.1));
        }
        if !c.scores.is_empty() {
            self.u32s(519, c.scores.iter().map(|e| e.0));
            self.f64s(520, c.scores.iter().map(|e| e.1));
        }
        if let Some(order) = &c.order {
            self.u32s(521, order.iter().copied());
        }
    }
}

/// Writes a change set of the batch lane.
pub fn container(c: &Changes, out: &mut Vec<u8>) {
    out.clear();
    out.resize(HEADER + ENTRY * MAX_SECTIONS, 0);
    let mut w = Container { out, count: 0 };
    if !c.items.is_empty() {
        w.items(&c.items);
    }
    w.edits(c);
    let (size, count) = (w.out.len() as u32, w.count as u32);
    w.put(0, &[u32::from_le_bytes(*b"ANCC"), 1, HEADER as u32, size, c.items.len() as u32, count, 0, 0]);
}

/// Writes a change set of the JSON lane.
pub fn document(c: &Changes) -> String {
    let mut out = String::from("{");
    if let Some(keep) = &c.keep {
        rows(&mut out, "keep", keep);
    }
    if !c.texts.is_empty() || !c.metadata.is_empty() || !c.priorities.is_empty() {
        member(&mut out, "edits");
        out.push('[');
        edits(&mut out, "content", &c.texts, |out, text| string(out, text));
        edits(&mut out, "metadata", &c.metadata, object);
        edits(&mut out, "priority", &c.priorities, |out, p| _ = write!(out, "{}", p));
        out.push(']');
    }
    if !c.scores.is_empty() {
        member(&mut out, "scores");
        out.push('[');
        edits(&mut out, "score", &c.scores, |out, s| number::write(out, *s));
        out.push(']');
    }
    if !c.items.is_empty() {
        member(&mut out, "items");
        out.push('[');
        c.items.iter().for_each(|it| item(&mut out, it));
        out.push(']');
    }
    if let Some(order) = &c.order {
        rows(&mut out, "order", order);
    }
    out.push('}');
    out
}

fn rows(out: &mut String, name: &str, rows: &[u32]) {
    member(out, name);
    out.push('[');
    for row in rows {
        comma(out);
        _ = write!(out, "{}", row);
    }
    out.push(']');
}

fn object(out: &mut String, v: &Json) {
    match v {
        Json::Object(_) => v.write(out),
        _ => out.push_str("{}"),
    }
}

fn edits<T>(out: &mut String, name: &str, list: &[(u32, T)], value: impl Fn(&mut String, &T)) {
    for (row, v) in list {
        comma(out);
        _ = write!(out, "{{\"row\":{}", row);
        member(out, name);
        value(out, v);
        out.push('}');
    }
}

fn item(out: &mut String, it: &NewItem) {
    comma(out);
    out.push('{');
    member(out, "content");
    string(out, &it.content);
    member(out, "score");
    number::write(out, it.score);
    for (name, text) in [("key", &it.key), ("source", &it.source)] {
        if !text.is_empty() {
            member(out, name);
            string(out, text);
        }
    }
    if it.priority != 0 {
        member(out, "priority");
        _ = write!(out, "{}", it.priority);
    }
    if it.metadata != Json::Null {
        member(out, "metadata");
        object(out, &it.metadata);
    }
    if let Some(ns) = it.created_at {
        member(out, "created_at");
        out.push('"');
        time::write(out, ns);
        out.push('"');
    }
    out.push('}');
}
