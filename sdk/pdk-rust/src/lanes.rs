//! The functions that the exports of a plugin call.

use std::cell::UnsafeCell;

use crate::batch::Batch;
use crate::{kernel, write, Changes, Error, Json, Request, Result};

const DONE: i32 = 0;
const NO_CHANGE: i32 = 1;
const FAILED: i32 = -1;

const MAX_BATCH: u32 = 256 << 20;

/// The numbers of the words of a mailbox.
const IN_ADDR: usize = 1;
const IN_CAP: usize = 2;
const OUT_ADDR: usize = 3;
const OUT_LEN: usize = 4;
const DOCUMENT: usize = 6;

/// The memory that the host may write to. The input begins at a multiple of 8.
struct Lent {
    mailbox: [u32; 7],
    input: Vec<u64>,
    output: Vec<u8>,
    hooked: bool,
}

struct Shared(UnsafeCell<Lent>);

// An instance runs one call at a time, in one thread.
unsafe impl Sync for Shared {}

static LENT: Shared = Shared(UnsafeCell::new(Lent {
    mailbox: [28, 0, 0, 0, 0, 0, 0],
    input: Vec::new(),
    output: Vec::new(),
    hooked: false,
}));

/// No caller keeps the result while another one calls this.
fn lent() -> &'static mut Lent {
    unsafe { &mut *LENT.0.get() }
}

/// The address of the mailbox.
pub fn mailbox() -> u32 {
    lent().mailbox.as_ptr() as usize as u32
}

/// Makes room for n bytes and returns its address, or 0 if there is no memory.
pub fn reserve(size: u32) -> u32 {
    if size > MAX_BATCH {
        return 0;
    }
    let lent = lent();
    let words = (size as usize + 0xffff) / 0x10000 * 0x2000;
    if words > lent.input.len() {
        lent.input = Vec::new(); // first, so that the old and the new room need not fit together
        lent.mailbox[IN_CAP] = 0;
        if lent.input.try_reserve_exact(words).is_err() {
            return 0;
        }
        lent.input.resize(words, 0);
    }
    lent.mailbox[IN_ADDR] = lent.input.as_ptr() as usize as u32;
    lent.mailbox[IN_CAP] = 8 * lent.input.len() as u32;
    lent.mailbox[IN_ADDR]
}

/// Sets the scores of all rows. A list of another length would leave rows with their old scores.
pub fn score_each(r: &Request, c: &mut Changes, scores: Vec<f64>) -> Result<()> {
    if scores.len() != r.len() {
        return Err(format!("rerank: {} scores for {} rows (return a score for each row)", scores.len(), r.len()).into());
    }
    for (row, score) in scores.into_iter().enumerate() {
        c.set_score(row as u32, score);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_of_another_length_fail() {
        let doc = Json::parse("{\"columns\": [\"text\"], \"items\": [{\"content\": \"a\"}, {\"content\": \"b\"}]}").unwrap();
        let r = Request::of_document(&doc);
        for scores in [vec![], vec![0.5], vec![0.5; 3]] {
            let mut c = Changes::of(&r);
            assert!(matches!(score_each(&r, &mut c, scores), Err(Error::Message(m)) if m.contains("for 2 rows")));
        }
        let mut c = Changes::of(&r);
        assert!(score_each(&r, &mut c, vec![0.5, 0.25]).is_ok());
    }
}

/// Logs where a panic happened. The call then ends in a trap.
fn hook() {
    let lent = lent();
    if !lent.hooked {
        lent.hooked = true;
        std::panic::set_hook(Box::new(|info| crate::host::log_error(&info.to_string())));
    }
}

fn status(result: Result<()>) -> i32 {
    match result {
        Ok(()) => DONE,
        Err(Error::NoChange) => NO_CHANGE,
        Err(Error::Message(message)) => {
            kernel::error(&message);
            FAILED
        }
    }
}

/// The author's function for an operation on rows.
type Handler<'a> = &'a mut dyn FnMut(&Request, &mut Changes) -> Result<()>;

fn run(f: Handler, r: &Request) -> Result<Changes> {
    let mut c = Changes::of(r);
    f(r, &mut c)?;
    c.check()?;
    if c.is_empty() {
        return Err(Error::NoChange);
    }
    Ok(c)
}

/// Takes the document from the memory lent to the host, if the host wrote it there.
fn take() -> Option<&'static [u8]> {
    let lent = lent();
    // Volatile, because the host writes here and the compiler cannot see it.
    let size = unsafe { std::ptr::read_volatile(&lent.mailbox[DOCUMENT]) };
    lent.mailbox[DOCUMENT] = 0;
    if size == 0 || size > lent.mailbox[IN_CAP] {
        return None;
    }
    let words: &'static [u64] = &lent.input;
    // Safe: all words are valid bytes.
    Some(unsafe { std::slice::from_raw_parts(words.as_ptr() as *const u8, size as usize) })
}

/// Answers a document with a text, in the way the document came: through the memory lent
/// to the host, or through Extism. An empty text is no answer.
fn exchange(f: impl FnOnce(&Json) -> Result<String>) -> i32 {
    hook();
    let taken = take();
    lent().mailbox[OUT_LEN] = 0;
    status((|| {
        let read;
        let bytes = match taken {
            Some(bytes) => bytes,
            None => {
                read = kernel::input();
                &read
            }
        };
        let text = std::str::from_utf8(bytes).map_err(|_| "request: is not UTF-8")?;
        let reply = f(&Json::parse(text).ok_or("request: is not JSON")?)?;
        if taken.is_some() {
            publish(reply.into_bytes());
        } else if !reply.is_empty() {
            kernel::output(reply.as_bytes());
        }
        Ok(())
    })())
}

/// States the output in the mailbox, and keeps it for the host to read.
fn publish(output: Vec<u8>) {
    let lent = lent();
    lent.output = output;
    lent.mailbox[OUT_ADDR] = lent.output.as_ptr() as usize as u32;
    lent.mailbox[OUT_LEN] = lent.output.len() as u32;
}

/// Serves a call of the JSON lane.
pub fn json(f: Handler) -> i32 {
    exchange(|doc| Ok(write::document(&run(f, &Request::of_document(doc))?)))
}

/// Serves a call of the batch lane.
pub fn batch(f: Handler, address: u32, length: u32) -> i32 {
    hook();
    lent().mailbox[OUT_LEN] = 0;
    status(answer(f, address, length))
}

fn answer(f: Handler, address: u32, length: u32) -> Result<()> {
    let lent = lent();
    if address != lent.mailbox[IN_ADDR] || length > lent.mailbox[IN_CAP] {
        return Err("batch: is not in the room lent".into());
    }
    let words: &'static [u64] = &lent.input;
    // Safe: all bytes are valid words, and all words are valid bytes.
    let bytes = unsafe { std::slice::from_raw_parts(words.as_ptr() as *const u8, length as usize) };
    let r = Batch::open(bytes).and_then(Request::of_batch).ok_or("batch: breaks the layout")?;
    write::container(&run(f, &r)?, &mut lent.output);
    lent.mailbox[OUT_ADDR] = lent.output.as_ptr() as usize as u32;
    lent.mailbox[OUT_LEN] = lent.output.len() as u32;
    Ok(())
}

/// Serves a call of an operation that has only the JSON lane.
pub fn document(f: &mut dyn FnMut(&Json) -> Result<Json>) -> i32 {
    exchange(|doc| {
        let reply = f(doc)?;
        let mut text = String::new();
        if reply != Json::Null {
            reply.write(&mut text);
        }
        Ok(text)
    })
}
