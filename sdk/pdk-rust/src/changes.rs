use crate::{Json, Request, Result};

/// An item that a plugin adds. Only `content` is required.
#[derive(Clone, Debug, Default)]
pub struct NewItem {
    /// Tells items of one plugin apart. If it is empty, the content does.
    pub key: String,
    pub content: String,
    /// Where the item comes from. Empty means the default of the step.
    pub source: String,
    /// From 0 to 1.
    pub score: f64,
    /// From 1 to 10. 0 means the default of the source.
    pub priority: u32,
    /// An object, or null.
    pub metadata: Json,
    /// When the item was made, in nanoseconds since 1970.
    pub created_at: Option<i64>,
}

/// The changes that a function makes to the rows of its request. What is not mentioned
/// stays as it is.
#[derive(Debug, Default)]
pub struct Changes {
    pub(crate) rows: u32,
    pub(crate) keep: Option<Vec<u32>>,
    pub(crate) texts: Vec<(u32, String)>,
    pub(crate) metadata: Vec<(u32, Json)>,
    pub(crate) priorities: Vec<(u32, u32)>,
    pub(crate) scores: Vec<(u32, f64)>,
    pub(crate) items: Vec<NewItem>,
    pub(crate) order: Option<Vec<u32>>,
}

impl Changes {
    /// Makes changes to a request, for tests of a plugin. Functions receive theirs.
    pub fn of(r: &Request) -> Changes {
        Changes { rows: r.len() as u32, ..Default::default() }
    }

    /// Keeps a row. After the first call, rows that no call names are dropped.
    pub fn keep(&mut self, row: u32) {
        self.keep.get_or_insert_with(Vec::new).push(row);
    }

    /// The rows to keep, in ascending order.
    pub fn keep_rows(&mut self, rows: Vec<u32>) {
        self.keep = Some(rows);
    }

    /// Replaces the text of a row.
    pub fn set_text(&mut self, row: u32, text: impl Into<String>) {
        self.texts.push((row, text.into()));
    }

    /// Replaces all metadata of a row, by an object.
    pub fn set_metadata(&mut self, row: u32, metadata: Json) {
        self.metadata.push((row, metadata));
    }

    /// Replaces the priority of a row, 1 to 10.
    pub fn set_priority(&mut self, row: u32, priority: u32) {
        self.priorities.push((row, priority));
    }

    /// Replaces the score of a row, 0 to 1.
    pub fn set_score(&mut self, row: u32, score: f64) {
        self.scores.push((row, score));
    }

    /// Adds an item and returns its row number, for [`Changes::order`].
    pub fn add(&mut self, item: NewItem) -> u32 {
        self.items.push(item);
        self.rows + self.items.len() as u32 - 1
    }

    /// The new order of all rows that are kept, new items included.
    pub fn order(&mut self, rows: Vec<u32>) {
        self.order = Some(rows);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.keep.is_none()
            && self.order.is_none()
            && self.texts.len() + self.metadata.len() + self.priorities.len() == 0
            && self.scores.len() + self.items.len() == 0
    }

    /// Finds the mistakes that only one of the two lanes could express.
    pub(crate) fn check(&self) -> Result<()> {
        let scores = self.scores.iter().map(|s| s.1).chain(self.items.iter().map(|i| i.score));
        if !scores.into_iter().all(|score| (0.0..=1.0).contains(&score)) {
            return Err("reply: a score that is not within 0..1".into());
        }
        let mut objects = self.metadata.iter().map(|m| &m.1).chain(self.items.iter().map(|i| &i.metadata));
        match objects.any(twice) {
            true => Err("reply: a metadata key twice in a row".into()),
            false => Ok(()),
        }
    }
}

/// Reports whether a key occurs twice.
fn twice(object: &Json) -> bool {
    match object {
        Json::Object(members) => (1..members.len()).any(|i| members[..i].iter().any(|m| m.0 == members[i].0)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_comes_once() {
        let member = |key: &str| (key.to_string(), Json::Null);
        for (keys, ok) in [(vec!["a", "b"], true), (vec!["a", "b", "a"], false), (vec![], true)] {
            let mut c = Changes::default();
            c.set_metadata(0, Json::Object(keys.into_iter().map(member).collect()));
            assert_eq!(c.check().is_ok(), ok);
        }
    }
}
