//! Reads batches in place: layout 1.0 of ABI.md, section 9.

use crate::Json;

const HEADER: usize = 32;
const ENTRY: usize = 16;
const MAX_ROWS: u32 = 1 << 20;
const MAX_DIMENSION: u32 = 1 << 14;
const REQUIRED: u32 = 1;

/// The numbers of sections.
#[derive(Clone, Copy)]
#[repr(usize)]
pub enum Section {
    Id,
    Score,
    Text,
    Metadata,
    Source,
    Priority,
    TokenCount,
    CreatedAt,
    Vectors,
    QueryText,
    QueryMetadata,
    ChatHistory,
    Embedding,
    Settings,
    TopK,
    TokensLeft,
}

impl Section {
    /// The columns, in the order of their ids.
    pub const COLUMNS: [Section; 9] = [
        Section::Id,
        Section::Score,
        Section::Text,
        Section::Metadata,
        Section::Source,
        Section::Priority,
        Section::TokenCount,
        Section::CreatedAt,
        Section::Vectors,
    ];
}

/// Id and type of each section, in the order of [`Section`].
const KNOWN: [(u32, u32); 16] = [
    (1, 7),
    (2, 6),
    (3, 7),
    (4, 8),
    (5, 7),
    (6, 3),
    (7, 3),
    (8, 4),
    (9, 9),
    (256, 1),
    (257, 2),
    (258, 2),
    (259, 5),
    (260, 2),
    (261, 3),
    (262, 3),
];

/// A batch whose layout was checked once.
pub struct Batch<'a> {
    pub rows: u32,
    sections: [&'a [u8]; 16],
    texts: [&'a str; 16],
}

/// The n-th u32 of a list, or 0 if the list is shorter.
fn u32_at(list: &[u8], n: usize) -> u32 {
    list.get(4 * n..4 * n + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

fn u64_at(list: &[u8], n: usize) -> u64 {
    u32_at(list, 2 * n) as u64 | (u32_at(list, 2 * n + 1) as u64) << 32
}

/// Reports whether n + 1 offsets begin with 0, never decrease and end with end.
fn rising(offsets: &[u8], n: usize, end: usize) -> bool {
    let mut last = 0;
    for i in 0..=n {
        let at = u32_at(offsets, i);
        if at < last {
            return false;
        }
        last = at;
    }
    u32_at(offsets, 0) == 0 && last as usize == end
}

impl<'a> Batch<'a> {
    /// Checks a batch. `None` means that it breaks the layout.
    pub fn open(data: &'a [u8]) -> Option<Batch<'a>> {
        let (directory, rows) = (u32_at(data, 2) as usize, u32_at(data, 4));
        if data.len() < HEADER || &data[..4] != b"ANCB" || u32_at(data, 1) & 0xffff != 1 {
            return None;
        }
        if u32_at(data, 3) as usize != data.len() || rows > MAX_ROWS || directory < HEADER {
            return None;
        }
        let mut b = Batch { rows, sections: [&[]; 16], texts: [""; 16] };
        let count = u32_at(data, 5) as usize;
        let entries = data.get(directory..)?;
        if count > entries.len() / ENTRY {
            return None;
        }
        let mut end = directory + count * ENTRY;
        for entry in entries.chunks_exact(ENTRY).take(count) {
            let (id, kind) = (u32_at(entry, 0) & 0xffff, u32_at(entry, 0) >> 16);
            let (at, size) = (u32_at(entry, 2) as usize, u32_at(entry, 3) as usize);
            if at < end || at % 8 != 0 {
                return None;
            }
            let section = data.get(at..)?.get(..size)?;
            end = at + size;
            match KNOWN.iter().position(|known| known.0 == id) {
                Some(n) if KNOWN[n].1 != kind => return None,
                Some(n) => b.section(n, section)?,
                None if u32_at(entry, 1) & REQUIRED != 0 => return None,
                None => {}
            }
        }
        Some(b)
    }

    fn section(&mut self, n: usize, bytes: &'a [u8]) -> Option<()> {
        let rows = self.rows as usize;
        let sound = match KNOWN[n].1 {
            7 => {
                let head = 4 * (rows + 1);
                self.texts[n] = std::str::from_utf8(bytes.get(head..)?).ok()?;
                rising(bytes, rows, bytes.len() - head)
            }
            8 => Metadata { bytes, rows }.sound(),
            1 | 2 => {
                self.texts[n] = std::str::from_utf8(bytes).ok()?;
                true
            }
            5 => bytes.len() % 4 == 0,
            9 => {
                let size = u32_at(bytes, 0) as u64 * 4 * rows as u64;
                bytes.len() >= 8 && u32_at(bytes, 0) <= MAX_DIMENSION && bytes.len() as u64 == 8 + size
            }
            _ if n > Section::Vectors as usize => bytes.len() == 4,
            3 => bytes.len() == 4 * rows,
            _ => bytes.len() == 8 * rows,
        };
        self.sections[n] = bytes;
        sound.then_some(())
    }

    /// The text of a row. It is empty if the column was not sent.
    pub fn text(&self, s: Section, row: u32) -> &'a str {
        let (offsets, row) = (self.sections[s as usize], row as usize);
        let span = u32_at(offsets, row) as usize..u32_at(offsets, row + 1) as usize;
        if row >= self.rows as usize {
            return "";
        }
        self.texts[s as usize].get(span).unwrap_or("")
    }

    /// The text of a field of the request.
    pub fn field(&self, s: Section) -> &'a str {
        self.texts[s as usize]
    }

    /// The u32 of a row, or 0 if the column was not sent. Fields are columns of one row.
    pub fn u32(&self, s: Section, row: u32) -> u32 {
        u32_at(self.sections[s as usize], row as usize)
    }

    /// The bits of a row's u64, i64 or f64, or 0 if the column was not sent.
    pub fn bits(&self, s: Section, row: u32) -> u64 {
        u64_at(self.sections[s as usize], row as usize)
    }

    /// Reports whether the section was sent.
    pub fn has(&self, s: Section) -> bool {
        !self.sections[s as usize].is_empty()
    }

    /// The numbers of the query's embedding.
    pub fn embedding(&self) -> Vec<f32> {
        let bytes = self.sections[Section::Embedding as usize];
        (0..bytes.len() / 4).map(|i| f32::from_bits(u32_at(bytes, i))).collect()
    }

    /// The vectors of all rows, one after the other, and how many numbers each has.
    pub fn vectors(&self) -> (&'a [f32], usize) {
        let bytes = self.sections[Section::Vectors as usize];
        // Safe: all bytes are valid numbers. A batch is read in place at a multiple of 8.
        let (before, values, _) = unsafe { bytes.get(8..).unwrap_or(&[]).align_to::<f32>() };
        if before.is_empty() {
            (values, u32_at(bytes, 0) as usize)
        } else {
            (&[], 0)
        }
    }

    pub fn metadata(&self) -> Metadata<'a> {
        Metadata { bytes: self.sections[Section::Metadata as usize], rows: self.rows as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch of two rows with a section of vectors.
    fn batch(dimension: u32, values: &[f32]) -> Vec<u8> {
        let size = 8 + 4 * values.len() as u32;
        let head = [0x42434e41, 1, 32, 48 + size, 2, 1, 0, 0, 9 | 9 << 16, 0, 48, size, dimension, 0];
        let words = head.iter().copied().chain(values.iter().map(|f| f.to_bits()));
        words.flat_map(u32::to_le_bytes).collect()
    }

    #[test]
    fn vectors_are_those_of_the_rows() {
        let words: Vec<u64> = batch(2, &[1.0, 0.5, 0.0, 0.0])
            .chunks_exact(8)
            .map(|b| u64::from_le_bytes(b.try_into().unwrap()))
            .collect();
        let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr() as *const u8, 8 * words.len()) };
        let r = crate::Request::of_batch(Batch::open(bytes).unwrap()).unwrap();
        assert_eq!((r.dimension(), r.embedding(0), r.embedding(1)), (2, Some(&[1.0, 0.5][..]), None));
        assert_eq!((r.embedding(2), r.embedding(u32::MAX)), (None, None));
        for (dimension, n) in [(0, 1), (2, 3), (2, 6), (1 << 14 | 1, 1 << 15 | 2), (u32::MAX, 4), (1 << 31, 0)] {
            assert!(Batch::open(&batch(dimension, &vec![1.0; n])).is_none(), "{} {}", dimension, n);
        }
        assert!(Batch::open(&batch(0, &[])).is_some());
    }
}

/// A metadata section.
pub struct Metadata<'a> {
    bytes: &'a [u8],
    rows: usize,
}

impl<'a> Metadata<'a> {
    fn head(&self, n: usize) -> u64 {
        u32_at(self.bytes, n) as u64
    }

    /// Where a part begins: 0 cells, 1 rows, 2 key offsets, 3 keys, 4 kinds,
    /// 5 key bytes, 6 value bytes, 7 the end.
    fn part(&self, n: usize) -> u64 {
        let (keys, entries) = (self.head(0), self.head(1));
        let sizes =
            [8 * entries, 4 * (self.rows as u64 + 1), 4 * (keys + 1), 4 * entries, entries, self.head(2), self.head(3)];
        16 + sizes[..n].iter().sum::<u64>()
    }

    fn slice(&self, n: usize) -> &'a [u8] {
        self.bytes.get(self.part(n) as usize..self.part(n + 1) as usize).unwrap_or(&[])
    }

    /// Checks what concerns all rows. What an entry points to is checked when it is used.
    fn sound(&self) -> bool {
        self.bytes.len() >= 16
            && self.part(7) == self.bytes.len() as u64
            && rising(self.slice(1), self.rows, self.head(1) as usize)
            && rising(self.slice(2), self.head(0) as usize, self.head(2) as usize)
    }

    /// The entries of a row.
    pub fn entries(&self, row: u32) -> std::ops::Range<usize> {
        let rows = self.slice(1);
        u32_at(rows, row as usize) as usize..u32_at(rows, row as usize + 1) as usize
    }

    pub fn key(&self, entry: usize) -> &'a str {
        let (k, offsets) = (u32_at(self.slice(3), entry) as usize, self.slice(2));
        let span = u32_at(offsets, k) as usize..u32_at(offsets, k + 1) as usize;
        std::str::from_utf8(self.slice(5).get(span).unwrap_or(&[])).unwrap_or("")
    }

    pub fn value(&self, entry: usize) -> Json {
        let cell = u64_at(self.slice(0), entry);
        let text = || {
            let (at, size) = (cell as u32 as usize, (cell >> 32) as usize);
            let bytes = self.slice(6).get(at..).and_then(|b| b.get(..size));
            std::str::from_utf8(bytes.unwrap_or(&[])).unwrap_or("")
        };
        match self.slice(4).get(entry) {
            Some(1) => Json::Bool(cell != 0),
            Some(2) => Json::Int(cell as i64),
            Some(3) => Json::Float(f64::from_bits(cell)),
            Some(4) => Json::Text(text().into()),
            Some(5) => Json::parse(text()).unwrap_or_default(),
            _ => Json::Null,
        }
    }
}
