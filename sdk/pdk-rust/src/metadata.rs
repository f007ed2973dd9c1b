//! Metadata sections of a change set.

use crate::Json;

/// The metadata of rows, in the order of the layout.
#[derive(Default)]
pub struct Table {
    keys: Vec<String>,
    rows: Vec<u32>,
    cells: Vec<u64>,
    entry_keys: Vec<u32>,
    kinds: Vec<u8>,
    values: String,
}

impl Table {
    /// A table of rows, each an object.
    pub fn of<'a>(rows: impl Iterator<Item = &'a Json>) -> Table {
        let mut t = Table { rows: vec![0], ..Default::default() };
        for row in rows {
            t.add(row);
            t.rows.push(t.cells.len() as u32);
        }
        t
    }

    /// Reports whether no row has an entry.
    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Adds a row. Keys that are known come first, by number, then the new ones, sorted.
    fn add(&mut self, row: &Json) {
        let members = match row {
            Json::Object(members) => members,
            _ => return,
        };
        let mut entries: Vec<(usize, &str, &Json)> = Vec::new();
        for (key, value) in members {
            let k = self.keys.iter().position(|known| known == key);
            entries.push((k.unwrap_or(usize::MAX), key, value));
        }
        entries.sort_by_key(|e| (e.0, e.1));
        for (known, key, value) in entries {
            let k = if known < usize::MAX { known } else { self.keys.len() };
            if k == self.keys.len() {
                self.keys.push(key.into());
            }
            self.entry_keys.push(k as u32);
            self.push(value);
        }
    }

    fn push(&mut self, value: &Json) {
        let start = self.values.len();
        let (kind, cell) = match value {
            Json::Null => (0, 0),
            Json::Bool(b) => (1, *b as u64),
            Json::Int(i) => (2, *i as u64),
            Json::Float(f) => (3, f.to_bits()),
            Json::Text(s) => {
                self.values.push_str(s);
                (4, start as u64)
            }
            nested => {
                nested.write(&mut self.values);
                (5, start as u64)
            }
        };
        self.kinds.push(kind);
        self.cells.push(cell | ((self.values.len() - start) as u64) << (32 * (kind > 3) as u32));
    }

    /// Appends the section.
    pub fn write(&self, out: &mut Vec<u8>) {
        let key_bytes: usize = self.keys.iter().map(String::len).sum();
        for n in [self.keys.len(), self.cells.len(), key_bytes, self.values.len()] {
            out.extend((n as u32).to_le_bytes());
        }
        out.extend(self.cells.iter().flat_map(|c| c.to_le_bytes()));
        out.extend(self.rows.iter().flat_map(|r| r.to_le_bytes()));
        let mut at = 0u32;
        out.extend(at.to_le_bytes());
        for key in &self.keys {
            at += key.len() as u32;
            out.extend(at.to_le_bytes());
        }
        out.extend(self.entry_keys.iter().flat_map(|k| k.to_le_bytes()));
        out.extend(&self.kinds);
        out.extend(self.keys.iter().flat_map(|k| k.bytes()));
        out.extend(self.values.as_bytes());
    }
}
