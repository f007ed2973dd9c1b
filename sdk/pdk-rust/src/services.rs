//! Vectors of texts, search in collections, and answers of models. Each needs the permission
//! `service` in plugin.yaml. The operator chooses which models and collections there are.

use std::fmt;

use crate::json::{comma, member, string};
use crate::kernel::{block, env, read, unblock_floats};
use crate::{number, Error, Json};

/// Why a service has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServiceWord {
    /// There was no answer in time.
    Timeout,
    /// The service cannot be reached, or refuses for now.
    Unavailable,
    /// The service refuses this request.
    Refused,
    /// The answer is not what was asked for, such as no JSON.
    Invalid,
    /// The calls or the tokens of the build are spent.
    Budget,
    /// There is no such collection.
    NotFound,
}

/// A service that has no answer. With `?` the call of the plugin fails with its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceError {
    pub word: ServiceWord,
    pub message: String,
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServiceError {}

impl From<ServiceError> for Error {
    fn from(e: ServiceError) -> Self {
        Error::Message(e.message)
    }
}

type Result<T> = core::result::Result<T, ServiceError>;

fn wrong(message: &str) -> ServiceError {
    ServiceError { word: ServiceWord::Invalid, message: message.into() }
}

/// The answer, unless it says why there is none.
fn sound(answer: &Json) -> Result<&Json> {
    let word = match answer.get("error").text() {
        None if *answer == Json::Null => return Err(wrong("the host has not answered")),
        None => return Ok(answer),
        Some("timeout") => ServiceWord::Timeout,
        Some("refused") => ServiceWord::Refused,
        Some("invalid") => ServiceWord::Invalid,
        Some("budget") => ServiceWord::Budget,
        Some("not_found") => ServiceWord::NotFound,
        Some(_) => ServiceWord::Unavailable, // and words of later hosts
    };
    Err(ServiceError { word, message: text(answer, "message") })
}

fn text(v: &Json, name: &str) -> String {
    v.get(name).text().unwrap_or("").into()
}

fn natural(v: &Json, name: &str) -> u32 {
    v.get(name).int().and_then(|i| u32::try_from(i).ok()).unwrap_or(0)
}

fn texts(v: &Json) -> Vec<String> {
    v.list().iter().filter_map(|t| t.text().map(Into::into)).collect()
}

/// Adds a member that is a text, unless the text is empty.
fn put(out: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        member(out, name);
        string(out, value);
    }
}

fn put_number(out: &mut String, name: &str, value: u64) {
    if value > 0 {
        member(out, name);
        out.push_str(&value.to_string());
    }
}

fn put_list<T>(out: &mut String, name: &str, list: &[T], write: impl Fn(&mut String, &T)) {
    member(out, name);
    out.push('[');
    for value in list {
        comma(out);
        write(out, value);
    }
    out.push(']');
}

/// What the texts of [`embed`] are. Many models have other vectors for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Questions, for which documents are looked for.
    Query,
    /// What is found.
    Document,
}

/// The vectors of texts, in the order of the texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vectors {
    /// The name of the model. Vectors of different models cannot be compared.
    pub model: String,
    /// How many numbers a vector has.
    pub dimension: usize,
    /// All vectors, one after the other.
    pub values: Vec<f32>,
}

impl Vectors {
    /// The vector of the text with number n. It is empty if there is no such text.
    pub fn at(&self, n: usize) -> &[f32] {
        let from = n.saturating_mul(self.dimension);
        self.values.get(from..).and_then(|rest| rest.get(..self.dimension)).unwrap_or(&[])
    }
}

/// Makes vectors of up to 1024 texts, with the permission `service: embed`.
pub fn embed(side: Side, texts: &[&str]) -> Result<Vectors> {
    let mut request = String::from("{");
    put(&mut request, "side", if side == Side::Query { "query" } else { "document" });
    put_list(&mut request, "texts", texts, |out, t| string(out, t));
    request.push('}');
    let answer = read(unsafe { env::anchor_embed(block(request.as_bytes())) });
    let answer = sound(&answer)?;
    let vectors = Vectors {
        model: text(answer, "model"),
        dimension: natural(answer, "dimension") as usize,
        values: unblock_floats(answer.get("vectors").int().unwrap_or(0) as u64),
    };
    if vectors.dimension == 0 && !texts.is_empty() || vectors.values.len() != vectors.dimension.saturating_mul(texts.len()) {
        return Err(wrong("the host has not answered with a vector for each text"));
    }
    Ok(vectors)
}

/// What to look for in a collection: `Search { text: "which fox?", ..Default::default() }`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search<'a> {
    /// The collection. Empty: the first that the operator grants.
    pub collection: &'a str,
    pub text: &'a str,
    /// The vector of what is looked for. Empty: the host makes one of the text if it needs one.
    pub vector: &'a [f32],
    /// `words`, `vectors` or `hybrid`. Empty: what the request and the collection have.
    pub by: &'a str,
    /// The most hits, up to 1000. 0: 10.
    pub k: u32,
    /// What each hit must be like.
    pub filter: &'a [Condition<'a>],
}

/// A condition of a search.
#[derive(Clone, Copy, Debug)]
pub struct Condition<'a> {
    /// `id`, `path`, `title`, `hash`, `time`, `heading`, `page`, `line`, or a name in the metadata.
    pub field: &'a str,
    /// `=`, `!=`, `prefix`, `>=`, `<=`, `>` or `<`.
    pub op: &'a str,
    pub values: &'a [&'a str],
}

/// A piece of a document that was found. What it does not have is empty or 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hit {
    pub document: String,
    /// The number of the piece in its document, from 1.
    pub chunk: u32,
    /// 0 to 1.
    pub score: f64,
    pub text: String,
    pub title: String,
    pub path: String,
    /// The headings above the piece, the highest first.
    pub headings: Vec<String>,
    pub page: u32,
    pub line_from: u32,
    pub line_to: u32,
    /// The metadata of the document, as an object, or null.
    pub metadata: Json,
}

impl Hit {
    fn of(v: &Json) -> Hit {
        Hit {
            document: text(v, "document"),
            chunk: natural(v, "chunk"),
            score: v.get("score").number().unwrap_or(0.0),
            text: text(v, "text"),
            title: text(v, "title"),
            path: text(v, "path"),
            headings: texts(v.get("headings")),
            page: natural(v, "page"),
            line_from: natural(v, "line_from"),
            line_to: natural(v, "line_to"),
            metadata: v.get("metadata").clone(),
        }
    }
}

/// Searches a collection, with the permission `service: search`. The best hit comes first.
pub fn search(query: &Search) -> Result<Vec<Hit>> {
    let mut request = String::from("{");
    put(&mut request, "collection", query.collection);
    put(&mut request, "text", query.text);
    if !query.vector.is_empty() {
        let bytes: Vec<u8> = query.vector.iter().flat_map(|f| f.to_le_bytes()).collect();
        put_number(&mut request, "vector", block(&bytes));
        put_number(&mut request, "dimension", query.vector.len() as u64);
    }
    put(&mut request, "by", query.by);
    put_number(&mut request, "k", query.k as u64);
    if !query.filter.is_empty() {
        put_list(&mut request, "filter", query.filter, |out, c| {
            out.push('{');
            put(out, "field", c.field);
            put(out, "op", c.op);
            put_list(out, "values", c.values, |out, v| string(out, v));
            out.push('}');
        });
    }
    request.push('}');
    let answer = read(unsafe { env::anchor_search(block(request.as_bytes())) });
    Ok(sound(&answer)?.get("hits").list().iter().map(Hit::of).collect())
}

/// A message for a model.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// `system`, `user` or `assistant`.
    pub role: &'a str,
    pub content: &'a str,
}

impl<'a> Message<'a> {
    /// What the model is and does.
    pub fn system(content: &'a str) -> Self {
        Message { role: "system", content }
    }
    /// What the model is asked.
    pub fn user(content: &'a str) -> Self {
        Message { role: "user", content }
    }
    /// What the model has answered.
    pub fn assistant(content: &'a str) -> Self {
        Message { role: "assistant", content }
    }
}

/// What to ask a model.
#[derive(Clone, Copy, Debug, Default)]
pub struct LlmRequest<'a> {
    /// The operator's name of the model. Empty: the first that is granted.
    pub model: &'a str,
    pub messages: &'a [Message<'a>],
    /// A JSON Schema of an object, as text. The answer is then JSON that fits it. Empty: any text.
    pub schema: &'a str,
    /// The most tokens of the answer. 0: what the operator allows.
    pub max_tokens: u32,
    /// How much chance there is in the answer, 0 to 2. `None`: the operator's value.
    pub temperature: Option<f64>,
}

impl LlmRequest<'_> {
    fn write(&self, out: &mut String) {
        out.push('{');
        put(out, "model", self.model);
        put_list(out, "messages", self.messages, |out, m| {
            out.push('{');
            put(out, "role", m.role);
            member(out, "content");
            string(out, m.content);
            out.push('}');
        });
        if !self.schema.is_empty() {
            member(out, "schema");
            out.push_str(self.schema);
        }
        put_number(out, "max_tokens", self.max_tokens as u64);
        if let Some(t) = self.temperature {
            member(out, "temperature");
            number::write(out, t);
        }
        out.push('}');
    }
}

/// What a model answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LlmAnswer {
    pub text: String,
    /// The answer to a request with a schema, of the form that it asks for. Else null.
    pub json: Json,
    /// The operator's name of the model.
    pub model: String,
    pub input_tokens: u32,
    pub output_tokens: u32,
    /// `stop`, or `length` if the answer was cut because it had the most tokens.
    pub finish: String,
}

/// Asks a model, with the permission `service: llm`.
pub fn llm(request: &LlmRequest) -> Result<LlmAnswer> {
    llm_batch(std::slice::from_ref(request)).pop().unwrap_or_else(|| Err(wrong("the host has not answered")))
}

/// Asks up to 32 times at the same time, and returns the answers in the same order. One that
/// fails does not stop the others.
pub fn llm_batch(requests: &[LlmRequest]) -> Vec<Result<LlmAnswer>> {
    let mut request = String::from("{");
    put_list(&mut request, "requests", requests, |out, r| r.write(out));
    request.push('}');
    let answer = read(unsafe { env::anchor_llm(block(request.as_bytes())) });
    let given = answer.get("responses").list();
    let one = |n| {
        let r = sound(given.get(n).unwrap_or(&Json::Null))?;
        Ok(LlmAnswer {
            text: text(r, "text"),
            json: r.get("json").clone(),
            model: text(r, "model"),
            input_tokens: natural(r, "input_tokens"),
            output_tokens: natural(r, "output_tokens"),
            finish: text(r, "finish"),
        })
    };
    (0..requests.len()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mock;

    #[test]
    fn vectors_are_those_of_the_texts() {
        mock::vectors(2, &[1.0, 0.5, -0.25, 0.0]);
        let v = embed(Side::Query, &["a \"b\"", ""]).unwrap();
        assert_eq!(mock::asked(), r#"{"side":"query","texts":["a \"b\"",""]}"#);
        assert_eq!((v.at(0), v.at(1), v.at(2)), (&[1.0, 0.5][..], &[-0.25, 0.0][..], &[][..]));
        assert_eq!(v.at(usize::MAX), []);
        mock::vectors(3, &[1.0, 0.5, -0.25]); // an odd number of them
        assert_eq!(embed(Side::Document, &["a"]).unwrap().values, [1.0, 0.5, -0.25]);
    }

    #[test]
    fn vectors_of_another_number_are_an_error() {
        for dimension in [0, 1, 3, u32::MAX] {
            mock::vectors(dimension, &[1.0, 0.5, -0.25, 0.0]);
            assert_eq!(embed(Side::Query, &["a", "b"]).unwrap_err().word, ServiceWord::Invalid);
        }
    }

    #[test]
    fn a_search_says_what_it_says() {
        mock::answer("search", r#"{"hits":[{"document":"d","chunk":3,"score":0.5,"text":"t","headings":["h","i"],"line_to":9,"metadata":{"k":"v"}},{}]}"#);
        let filter = [Condition { field: "path", op: "prefix", values: &["a/", "b"] }];
        let hits = search(&Search { text: "q", vector: &[0.5], k: 2, filter: &filter, ..Default::default() }).unwrap();
        let (asked, filter) = (mock::asked(), r#""dimension":1,"k":2,"filter":[{"field":"path","op":"prefix","values":["a/","b"]}]}"#);
        assert!(asked.starts_with(r#"{"text":"q","vector":"#) && asked.ends_with(filter), "{}", asked);
        assert_eq!((hits[0].chunk, hits[0].line_to, hits[0].headings[1].as_str()), (3, 9, "i"));
        assert_eq!(hits[0].metadata.get("k").text(), Some("v"));
        assert_eq!(hits[1], Hit::default());
    }

    #[test]
    fn one_answer_of_several_may_fail() {
        mock::answer("llm", r#"{"responses":[{"text":"{}","json":{"n":1},"output_tokens":4,"finish":"stop"},{"error":"budget","message":"spent"}]}"#);
        let messages = [Message::system("s"), Message::user("u\n")];
        let one = LlmRequest { messages: &messages, schema: "{\"type\":\"object\"}", temperature: Some(0.0), ..Default::default() };
        let answers = llm_batch(&[one, LlmRequest { model: "m", max_tokens: 7, ..Default::default() }, one]);
        let asked = r#"{"messages":[{"role":"system","content":"s"},{"role":"user","content":"u\u000a"}],"schema":{"type":"object"},"temperature":0.0}"#;
        assert_eq!(mock::asked(), format!(r#"{{"requests":[{},{{"model":"m","messages":[],"max_tokens":7}},{}]}}"#, asked, asked));
        assert_eq!(answers[0].as_ref().unwrap().json.get("n").int(), Some(1));
        assert_eq!(answers[1], Err(ServiceError { word: ServiceWord::Budget, message: "spent".into() }));
        assert_eq!(answers[2].as_ref().unwrap_err().word, ServiceWord::Invalid);
    }

    #[test]
    fn every_word_is_known() {
        for (word, want) in [("timeout", ServiceWord::Timeout), ("not_found", ServiceWord::NotFound), ("some day", ServiceWord::Unavailable)] {
            mock::answer("search", &format!(r#"{{"error":"{}","message":"why"}}"#, word));
            assert_eq!(search(&Search::default()), Err(ServiceError { word: want, message: "why".into() }));
            mock::answer("llm", &format!(r#"{{"responses":[{{"error":"{}"}}]}}"#, word));
            assert_eq!(llm(&LlmRequest::default()).unwrap_err().word, want);
        }
    }

    #[test]
    fn no_answer_is_an_error_and_an_empty_one_is_not() {
        assert_eq!(search(&Search::default()).unwrap_err().word, ServiceWord::Invalid);
        assert_eq!(embed(Side::Query, &[]).unwrap_err().word, ServiceWord::Invalid);
        mock::answer("search", "{}");
        assert_eq!(search(&Search::default()), Ok(vec![]));
        mock::answer("embed", "{}");
        assert_eq!(embed(Side::Query, &[]), Ok(Vectors::default()));
        assert_eq!(embed(Side::Query, &["a"]).unwrap_err().word, ServiceWord::Invalid);
    }
}
