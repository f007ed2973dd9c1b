use std::borrow::Cow;
use std::cell::Cell;

use crate::batch::{Batch, Section};
use crate::host::log_warn;
use crate::{time, Json};

/// A request of the host: the rows, the query and how much is wanted. Rows are
/// numbered from 0. It is the same in both lanes.
pub struct Request<'a> {
    rows: u32,
    source: Source<'a>,
    settings: Json,
    /// The vectors of the rows, one after the other, zeros for a row that has none.
    vectors: Cow<'a, [f32]>,
    dimension: usize,
    /// The columns that were not sent, bit n for section n, without those that were read since.
    unsent: Cell<u32>,
}

/// The names of the columns, in the order of [`Section`].
const COLUMNS: [&str; 9] =
    ["id", "score", "text", "metadata", "source", "priority", "token_count", "created_at", "embedding"];

/// The set of the columns for which f is true.
fn columns(f: impl Fn(usize) -> bool) -> Cell<u32> {
    Cell::new((0..COLUMNS.len()).filter(|&n| f(n)).fold(0, |set, n| set | 1 << n))
}

// Only one request exists at a time, so its size does not matter.
#[allow(clippy::large_enum_variant)]
enum Source<'a> {
    Batch(Batch<'a>),
    Document(&'a Json),
}

fn numbers(list: &Json) -> Vec<f32> {
    list.list().iter().map(|v| v.number().unwrap_or(0.0) as f32).collect()
}

/// The vectors of items, zeros for one that has none, and how many numbers each has.
fn vectors(items: &[Json]) -> (Vec<f32>, usize) {
    let dimension = items.iter().map(|item| item.get("embedding").list().len()).find(|&n| n > 0).unwrap_or(0);
    let mut all = Vec::new();
    for item in items.iter().filter(|_| dimension > 0) {
        let mut vector = numbers(item.get("embedding"));
        vector.resize(dimension, 0.0);
        all.append(&mut vector);
    }
    (all, dimension)
}

impl<'a> Request<'a> {
    pub(crate) fn of_batch(batch: Batch<'a>) -> Option<Self> {
        let settings = match batch.field(Section::Settings) {
            "" => Json::Null,
            text => Json::parse(text)?,
        };
        let unsent = columns(|n| !batch.has(Section::COLUMNS[n]));
        let (vectors, dimension) = batch.vectors();
        let vectors = Cow::Borrowed(vectors);
        Some(Request { rows: batch.rows, source: Source::Batch(batch), settings, vectors, dimension, unsent })
    }

    /// Makes a request of a document of the JSON lane, for tests of a plugin.
    pub fn of_document(doc: &'a Json) -> Self {
        let items = doc.get("items").list();
        let rows = items.len() as u32;
        let (vectors, dimension) = vectors(items);
        // A document that does not say which columns it has may have all of them.
        let unsent = columns(|n| match doc.get("columns") {
            Json::List(sent) => !sent.iter().any(|name| name.text() == Some(COLUMNS[n])),
            _ => false,
        });
        let settings = doc.get("settings").clone();
        Request { rows, source: Source::Document(doc), settings, vectors: Cow::Owned(vectors), dimension, unsent }
    }

    /// Says once that the author reads a column that was not sent. The host knows the manifest, and
    /// warns if it does not name the column.
    #[inline]
    fn reads(&self, s: Section) {
        if self.unsent.get() >> s as u32 & 1 != 0 {
            self.tell(s);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell(&self, s: Section) {
        self.unsent.set(self.unsent.get() & !(1 << s as u32));
        log_warn(&["anchor: column ", COLUMNS[s as usize], " was not sent"].concat());
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Reports whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The numbers of all rows.
    pub fn rows(&self) -> std::ops::Range<u32> {
        0..self.rows
    }

    fn text_of(&self, s: Section, name: &str, row: u32) -> &str {
        self.reads(s);
        match &self.source {
            Source::Batch(b) => b.text(s, row),
            Source::Document(_) => self.cell(name, row).text().unwrap_or(""),
        }
    }

    fn cell(&self, name: &str, row: u32) -> &Json {
        match &self.source {
            Source::Document(doc) => {
                doc.get("items").list().get(row as usize).map_or(&Json::Null, |item| item.get(name))
            }
            Source::Batch(_) => &Json::Null,
        }
    }

    fn u32_of(&self, s: Section, name: &str, row: u32) -> u32 {
        self.reads(s);
        match &self.source {
            Source::Batch(b) => b.u32(s, row),
            Source::Document(_) => self.cell(name, row).int().unwrap_or(0) as u32,
        }
    }

    /// The text of a row.
    pub fn text(&self, row: u32) -> &str {
        self.text_of(Section::Text, "content", row)
    }

    /// The id of a row. Ids need not be unique.
    pub fn id(&self, row: u32) -> &str {
        self.text_of(Section::Id, "id", row)
    }

    /// Where a row comes from, such as `retrieval`.
    pub fn source(&self, row: u32) -> &str {
        self.text_of(Section::Source, "source", row)
    }

    /// The score of a row, 0 to 1.
    pub fn score(&self, row: u32) -> f64 {
        self.reads(Section::Score);
        match &self.source {
            Source::Batch(b) => f64::from_bits(b.bits(Section::Score, row)),
            Source::Document(_) => self.cell("score", row).number().unwrap_or(0.0),
        }
    }

    /// The priority of a row.
    pub fn priority(&self, row: u32) -> u32 {
        self.u32_of(Section::Priority, "priority", row)
    }

    /// The number of tokens of a row.
    pub fn token_count(&self, row: u32) -> u32 {
        self.u32_of(Section::TokenCount, "token_count", row)
    }

    /// When a row was made, in nanoseconds since 1970.
    pub fn created_at(&self, row: u32) -> Option<i64> {
        self.reads(Section::CreatedAt);
        let ns = match &self.source {
            Source::Batch(b) if !b.has(Section::CreatedAt) => time::NONE,
            Source::Batch(b) => b.bits(Section::CreatedAt, row) as i64,
            Source::Document(_) => time::parse(self.cell("created_at", row).text().unwrap_or("")),
        };
        (ns != time::NONE).then_some(ns)
    }

    /// A metadata value of a row, or [`Json::Null`] if there is none.
    pub fn meta(&self, row: u32, key: &str) -> Json {
        self.reads(Section::Metadata);
        match &self.source {
            Source::Batch(b) => {
                let m = b.metadata();
                let found = m.entries(row).find(|&e| m.key(e) == key);
                found.map_or(Json::Null, |e| m.value(e))
            }
            Source::Document(_) => self.cell("metadata", row).get(key).clone(),
        }
    }

    /// The metadata of a row, as an object.
    pub fn metadata(&self, row: u32) -> Json {
        self.reads(Section::Metadata);
        match &self.source {
            Source::Batch(b) => {
                let m = b.metadata();
                Json::Object(m.entries(row).map(|e| (m.key(e).into(), m.value(e))).collect())
            }
            Source::Document(_) => match self.cell("metadata", row) {
                Json::Null => Json::Object(Vec::new()),
                object => object.clone(),
            },
        }
    }

    fn query_member(&self, s: Section, name: &str) -> Json {
        match &self.source {
            Source::Batch(b) => Json::parse(b.field(s)).unwrap_or_default(),
            Source::Document(doc) => doc.get("query").get(name).clone(),
        }
    }

    /// The text of the query.
    pub fn query(&self) -> &str {
        match &self.source {
            Source::Batch(b) => b.field(Section::QueryText),
            Source::Document(doc) => doc.get("query").get("query_str").text().unwrap_or(""),
        }
    }

    /// The metadata of the query, as an object, or null.
    pub fn query_metadata(&self) -> Json {
        self.query_member(Section::QueryMetadata, "metadata")
    }

    /// The turns of the conversation, as a list, or null.
    pub fn chat_history(&self) -> Json {
        self.query_member(Section::ChatHistory, "chat_history")
    }

    /// The vector of a row, or `None` if it has none.
    pub fn embedding(&self, row: u32) -> Option<&[f32]> {
        self.reads(Section::Vectors);
        let vector = self.vectors.get(row as usize * self.dimension..)?.get(..self.dimension)?;
        vector.iter().any(|&f| f != 0.0).then_some(vector)
    }

    /// How many numbers the vectors of the rows have. 0: no row has one.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The vector of the query. It is empty if there is none.
    pub fn query_embedding(&self) -> Vec<f32> {
        match &self.source {
            Source::Batch(b) => b.embedding(),
            Source::Document(doc) => numbers(doc.get("query").get("embedding")),
        }
    }

    fn bound(&self, s: Section, name: &str) -> u32 {
        match &self.source {
            Source::Batch(b) => b.u32(s, 0),
            Source::Document(doc) => doc.get(name).int().unwrap_or(0) as u32,
        }
    }

    /// The most items wanted. 0 means that there is no bound.
    pub fn top_k(&self) -> u32 {
        self.bound(Section::TopK, "top_k")
    }

    /// The room in the window when the step begins, in tokens.
    pub fn tokens_left(&self) -> u32 {
        self.bound(Section::TokensLeft, "tokens_left")
    }

    /// A setting of the step, or [`Json::Null`] if it is not set.
    pub fn setting(&self, name: &str) -> &Json {
        self.settings.get(name)
    }
}
