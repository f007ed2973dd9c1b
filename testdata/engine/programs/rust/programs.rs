//! Programs that compute in Rust, each of the size its input says. They answer a
//! checksum.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

#[link(wasm_import_module = "extism:host/env")]
extern "C" {
    fn alloc(size: u64) -> u64;
    fn store_u64(at: u64, bytes: u64);
    fn input_load_u64(at: u64) -> u64;
    fn output_set(at: u64, size: u64);
}

fn size() -> usize {
    unsafe { input_load_u64(0) as usize }
}

fn answer(sum: u64) -> i32 {
    unsafe {
        let at = alloc(8);
        store_u64(at, sum);
        output_set(at, 8);
    }
    0
}

struct Numbers(u32);

impl Iterator for Numbers {
    type Item = u32;
    fn next(&mut self) -> Option<u32> {
        self.0 = self.0.wrapping_mul(1664525).wrapping_add(1013904223);
        Some(self.0)
    }
}

fn folded(xs: impl Iterator<Item = u32>) -> u64 {
    xs.fold(0, |sum, x| (sum as u64).wrapping_mul(31).wrapping_add(x as u64))
}

/// Sorts n numbers.
#[no_mangle]
pub extern "C" fn sort() -> i32 {
    let mut xs: Vec<u32> = Numbers(7).take(size()).collect();
    xs.sort();
    answer(folded(xs.into_iter()))
}

/// Keeps n keys in a tree.
#[no_mangle]
pub extern "C" fn tree() -> i32 {
    let mut tree = BTreeMap::new();
    for (i, key) in Numbers(3).take(size()).enumerate() {
        tree.insert(key % 50_000, i as u32);
    }
    answer(folded(tree.range(1000..).map(|(k, v)| k ^ v)))
}

#[derive(Default)]
struct Fnv(u64);

impl std::hash::Hasher for Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ *b as u64).wrapping_mul(0x100000001b3);
        }
    }
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Counts the words of a text of n lines in a hash map.
#[no_mangle]
pub extern "C" fn words() -> i32 {
    let text = "the window of a model holds what retrieval found and memory kept\n".repeat(size());
    let mut counts: HashMap<&str, u32, BuildHasherDefault<Fnv>> = HashMap::default();
    for word in text.split_whitespace() {
        *counts.entry(word).or_default() += 1;
    }
    answer(counts["window"] as u64 * 1000 + counts.len() as u64)
}

/// A parser of JSON that keeps nothing but sums: n documents.
#[no_mangle]
pub extern "C" fn json() -> i32 {
    let text = r#"{"id": "doc", "score": 0.75, "meta": {"path": "a/b", "tags": ["x", "y\n", null, true]}, "n": 123}"#;
    let mut sum = 0;
    for _ in 0..size() {
        let mut p = Parser { bytes: text.as_bytes(), at: 0, sum: 0 };
        p.value();
        sum += p.sum;
    }
    answer(sum)
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
    sum: u64,
}

impl Parser<'_> {
    fn peek(&mut self) -> u8 {
        while self.bytes[self.at] == b' ' {
            self.at += 1;
        }
        self.bytes[self.at]
    }

    fn value(&mut self) {
        match self.peek() {
            b'{' => self.list(b'}', true),
            b'[' => self.list(b']', false),
            b'"' => self.string(),
            b't' | b'n' => self.at += 4,
            b'f' => self.at += 5,
            _ => self.number(),
        }
    }

    fn list(&mut self, end: u8, keyed: bool) {
        self.at += 1;
        while self.peek() != end {
            if keyed {
                self.string();
                self.peek();
                self.at += 1;
            }
            self.value();
            if self.peek() == b',' {
                self.at += 1;
                self.peek();
            }
        }
        self.at += 1;
        self.sum += 1;
    }

    fn string(&mut self) {
        self.at += 1;
        let mut out = String::new();
        while self.bytes[self.at] != b'"' {
            if self.bytes[self.at] == b'\\' {
                self.at += 1;
            }
            out.push(self.bytes[self.at] as char);
            self.at += 1;
        }
        self.at += 1;
        self.sum += out.len() as u64;
    }

    fn number(&mut self) {
        let from = self.at;
        while matches!(self.bytes[self.at], b'0'..=b'9' | b'.' | b'-') {
            self.at += 1;
        }
        let text = std::str::from_utf8(&self.bytes[from..self.at]).unwrap();
        self.sum += (text.parse::<f64>().unwrap() * 100.0) as u64;
    }
}
