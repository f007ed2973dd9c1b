use std::borrow::Cow;
use std::fmt::Write;

use crate::number;

/// A JSON value. A number without fraction and exponent is [`Json::Int`] if it
/// fits. Members keep their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Json {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// A value that does not exist reads as null.
static NULL: Json = Json::Null;

/// The host sends metadata of at most 64 levels, inside a few levels of its own.
const MAX_DEPTH: u32 = 100;

impl Json {
    /// Reads a document. `None` means that it is not valid JSON.
    pub fn parse(text: &str) -> Option<Json> {
        let mut p = Parser { text, at: 0 };
        let v = p.value(0)?;
        (p.peek() == 0 && p.at == text.len()).then_some(v)
    }

    /// The member of an object, or [`Json::Null`] if there is none.
    pub fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(members) => members.iter().find(|m| m.0 == name).map_or(&NULL, |m| &m.1),
            _ => &NULL,
        }
    }

    /// Sets the member of an object. A value of another kind becomes an object first.
    pub fn set(&mut self, name: &str, value: impl Into<Json>) {
        if !matches!(self, Json::Object(_)) {
            *self = Json::Object(Vec::new());
        }
        if let Json::Object(members) = self {
            match members.iter_mut().find(|m| m.0 == name) {
                Some(m) => m.1 = value.into(),
                None => members.push((name.into(), value.into())),
            }
        }
    }

    /// Makes an object of these members.
    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
        Json::Object(members.map(|(k, v)| (k.to_string(), v)).into())
    }

    /// The elements of a list. Other values have none.
    pub fn list(&self) -> &[Json] {
        match self {
            Json::List(list) => list,
            _ => &[],
        }
    }

    /// A string. It is `None` for a number, such as a version 1.26 in metadata: see [`Json::as_text`].
    pub fn text(&self) -> Option<&str> {
        match self {
            Json::Text(s) => Some(s),
            _ => None,
        }
    }

    /// The text of a string, and what JSON writes for a number or a boolean. It is empty for all else.
    pub fn as_text(&self) -> Cow<'_, str> {
        match self {
            Json::Text(s) => Cow::Borrowed(s),
            Json::Int(_) | Json::Float(_) | Json::Bool(_) => Cow::Owned(self.to_string()),
            _ => Cow::Borrowed(""),
        }
    }

    /// A number.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Json::Int(i) => Some(i as f64),
            Json::Float(f) => Some(f),
            _ => None,
        }
    }

    /// An integer.
    pub fn int(&self) -> Option<i64> {
        match *self {
            Json::Int(i) => Some(i),
            _ => None,
        }
    }

    /// A boolean.
    pub fn bool(&self) -> Option<bool> {
        match *self {
            Json::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// Adds the value as JSON. A number that is not finite becomes null.
    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
            Json::Int(i) => _ = write!(out, "{}", i),
            Json::Float(f) => number::write(out, *f),
            Json::Text(s) => string(out, s),
            Json::List(list) => {
                out.push('[');
                for v in list {
                    comma(out);
                    v.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (name, v) in members {
                    member(out, name);
                    v.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// Writes the value as JSON: `json.to_string()`. A number that is not finite becomes null.
impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        f.write_str(&out)
    }
}

impl From<&str> for Json {
    fn from(v: &str) -> Self {
        Json::Text(v.into())
    }
}
impl From<String> for Json {
    fn from(v: String) -> Self {
        Json::Text(v)
    }
}
impl From<i64> for Json {
    fn from(v: i64) -> Self {
        Json::Int(v)
    }
}
impl From<f64> for Json {
    fn from(v: f64) -> Self {
        Json::Float(v)
    }
}
impl From<bool> for Json {
    fn from(v: bool) -> Self {
        Json::Bool(v)
    }
}
impl From<Vec<Json>> for Json {
    fn from(v: Vec<Json>) -> Self {
        Json::List(v)
    }
}

/// Adds the comma before an element that is not the first.
pub(crate) fn comma(out: &mut String) {
    if !matches!(out.as_bytes().last(), None | Some(b'[' | b'{' | b':')) {
        out.push(',');
    }
}

/// Adds the name of a member.
pub(crate) fn member(out: &mut String, name: &str) {
    comma(out);
    string(out, name);
    out.push(':');
}

/// Adds a string.
pub(crate) fn string(out: &mut String, s: &str) {
    out.push('"');
    let mut done = 0;
    for (i, b) in s.bytes().enumerate() {
        if b >= 32 && b != b'"' && b != b'\\' {
            continue;
        }
        out.push_str(part(s, done, i));
        done = i + 1;
        if b < 32 {
            _ = write!(out, "\\u{:04x}", b);
        } else {
            out.push('\\');
            out.push(b as char);
        }
    }
    out.push_str(part(s, done, s.len()));
    out.push('"');
}

/// The bytes of s between from and end. Slicing would bring code for panics into the
/// module.
pub(crate) fn part(s: &str, from: usize, end: usize) -> &str {
    s.get(from..end).unwrap_or("")
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        part(self.text, self.at, self.text.len())
    }

    /// The next byte that is not white space, or 0 at the end.
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while matches!(bytes.get(self.at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or(0)
    }

    fn take(&mut self, b: u8) -> Option<()> {
        (self.peek() == b && self.at < self.text.len()).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str, v: Json) -> Option<Json> {
        self.rest().starts_with(word).then(|| self.at += word.len())?;
        Some(v)
    }

    fn value(&mut self, depth: u32) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.peek() {
            b'{' => self.object(depth),
            b'[' => self.list(depth),
            b'"' => self.string().map(Json::Text),
            b't' => self.word("true", Json::Bool(true)),
            b'f' => self.word("false", Json::Bool(false)),
            b'n' => self.word("null", Json::Null),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: u32) -> Option<Json> {
        let mut members = Vec::new();
        self.take(b'{')?;
        while self.peek() != b'}' {
            if !members.is_empty() {
                self.take(b',')?;
                self.peek();
            }
            let name = self.string()?;
            self.take(b':')?;
            members.push((name, self.value(depth + 1)?));
        }
        self.at += 1;
        Some(Json::Object(members))
    }

    fn list(&mut self, depth: u32) -> Option<Json> {
        let mut list = Vec::new();
        self.take(b'[')?;
        while self.peek() != b']' {
            if !list.is_empty() {
                self.take(b',')?;
            }
            list.push(self.value(depth + 1)?);
        }
        self.at += 1;
        Some(Json::List(list))
    }

    fn number(&mut self) -> Option<Json> {
        let rest = self.rest();
        let n = rest.bytes().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
        self.at += n;
        Some(match number::parse(part(rest, 0, n))? {
            Ok(i) => Json::Int(i),
            Err(f) => Json::Float(f),
        })
    }

    fn string(&mut self) -> Option<String> {
        if self.peek() != b'"' {
            return None;
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.rest();
            let n = rest.bytes().position(|b| b == b'"' || b == b'\\')?;
            out.push_str(part(rest, 0, n));
            self.at += n + 1;
            if rest.as_bytes().get(n) == Some(&b'"') {
                return Some(out);
            }
            out.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Option<char> {
        let b = *self.text.as_bytes().get(self.at)?;
        self.at += 1;
        Some(match b {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\x08',
            b'f' => '\x0c',
            b'u' => {
                let mut u = self.hex()?;
                if u >> 10 == 0x36 && self.rest().starts_with("\\u") {
                    let back = self.at;
                    self.at += 2;
                    match self.hex()? {
                        low if low >> 10 == 0x37 => u = 0x10000 + ((u & 0x3ff) << 10) + (low & 0x3ff),
                        _ => self.at = back,
                    }
                }
                char::from_u32(u).unwrap_or('\u{fffd}') // half of a pair
            }
            b'"' | b'\\' | b'/' => b as char,
            _ => return None,
        })
    }

    fn hex(&mut self) -> Option<u32> {
        let u = u32::from_str_radix(self.text.get(self.at..self.at + 4)?, 16).ok()?;
        self.at += 4;
        Some(u)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_text() {
        let v = Json::parse(r#"[1.26, 7, true, "s", null, [1], {"a": 1}]"#).unwrap();
        let texts: Vec<String> = v.list().iter().map(|one| one.as_text().into_owned()).collect();
        assert_eq!(texts, ["1.26", "7", "true", "s", "", "", ""]);
        assert_eq!(v.list()[0].text(), None);
    }

    fn round(text: &str) -> String {
        let mut out = String::new();
        match Json::parse(text) {
            Some(v) => {
                v.write(&mut out);
                assert_eq!(v.to_string(), out);
            }
            None => out.push_str("none"),
        }
        out
    }

    #[test]
    fn reads_and_writes() {
        for (text, want) in [
            ("{ \"a\" : [1, -2.0, 1e2, true, null], \"b\": {} }", "{\"a\":[1,-2.0,100.0,true,null],\"b\":{}}"),
            ("\"\\u00e9\\ud83d\\ude00\\ud83d\\n\\u0001\"", "\"é😀\u{fffd}\\u000a\\u0001\""),
            ("9223372036854775807", "9223372036854775807"),
            ("9223372036854775808", "9.2233720368547758e18"),
            ("1e-7", "1e-7"),
            ("", "none"),
            ("[1", "none"),
            ("[1,]", "none"),
            ("{\"a\" 1}", "none"),
            ("\"\\ud83d\\u", "none"),
            ("1 2", "none"),
        ] {
            assert_eq!(round(text), want, "{}", text);
        }
    }

    #[test]
    fn depth_is_bounded() {
        assert!(Json::parse(&"[".repeat(100_000)).is_none());
    }
}
