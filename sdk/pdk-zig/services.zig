//! Vectors of texts, search in collections, and answers of models. Each needs the permission
//! service in plugin.yaml. The operator chooses which models and collections there are. They
//! are part of anchor.host.

const std = @import("std");
const kernel = @import("kernel.zig");
const memory = @import("memory.zig");
const Json = @import("json.zig").Json;
const Text = @import("text.zig").Text;

/// Why a service has no answer.
pub const ServiceWord = enum {
    /// There was no answer in time.
    timeout,
    /// The service cannot be reached, or refuses for now.
    unavailable,
    /// The service refuses this request.
    refused,
    /// The answer is not what was asked for, such as no JSON.
    invalid,
    /// The calls or the tokens of the build are spent.
    budget,
    /// There is no such collection.
    not_found,
};

/// A service that has no answer.
pub const ServiceFailure = struct { word: ServiceWord, message: []const u8 };

/// An answer, or why there is none:
/// switch (host.search(.{ .text = text })) { .ok => |hits| …, .failed => |why| return anchor.fail(why.message) }.
pub fn Result(comptime T: type) type {
    return union(enum) { ok: T, failed: ServiceFailure };
}

fn wrong(message: []const u8) ServiceFailure {
    return .{ .word = .invalid, .message = message };
}

/// Why there is no answer, or null if there is one. Words of later hosts mean that the service
/// is unavailable.
fn failure(answer: Json) ?ServiceFailure {
    if (answer.text.len == 0) return wrong("the host has not answered");
    const word = answer.get("error").string() orelse return null;
    return .{ .word = std.meta.stringToEnum(ServiceWord, word) orelse .unavailable, .message = string(answer, "message") };
}

fn read(at: u64) Json {
    return if (at == 0) .{} else Json.parse(kernel.unblock(at)) orelse .{};
}

fn string(v: Json, name: []const u8) []const u8 {
    return v.get(name).string() orelse "";
}

fn natural(v: Json, name: []const u8) u32 {
    return std.math.cast(u32, v.get(name).int() orelse 0) orelse 0;
}

/// Adds a member that is a text, unless the text is empty.
fn put(text: *Text, name: []const u8, value: []const u8) void {
    if (value.len == 0) return;
    text.addName(name);
    text.addString(value);
}

fn putNumber(text: *Text, name: []const u8, value: u64) void {
    if (value == 0) return;
    text.addName(name);
    text.addInt(@intCast(value));
}

fn putTexts(text: *Text, name: []const u8, values: []const []const u8) void {
    text.addName(name);
    text.add("[");
    for (values) |v| {
        text.addComma();
        text.addString(v);
    }
    text.add("]");
}

/// What texts are. Many models have other vectors for each.
pub const Side = enum {
    /// Questions, for which documents are looked for.
    query,
    /// What is found.
    document,
};

/// The vectors of texts, in the order of the texts.
pub const Vectors = struct {
    /// The name of the model. Vectors of different models cannot be compared.
    model: []const u8 = "",
    /// How many numbers a vector has.
    dimension: usize = 0,
    /// All vectors, one after the other.
    values: []const f32 = &.{},

    /// The vector of text n.
    pub fn at(v: Vectors, n: usize) []const f32 {
        return v.values[n * v.dimension ..][0..v.dimension];
    }
};

/// Makes vectors of up to 1024 texts, with the permission service: embed.
pub fn embed(side: Side, texts: []const []const u8) Result(Vectors) {
    var text: Text = .{};
    text.add("{");
    put(&text, "side", @tagName(side));
    putTexts(&text, "texts", texts);
    text.add("}");
    const answer = read(kernel.env.anchor_embed(kernel.block(text.bytes())));
    if (failure(answer)) |why| return .{ .failed = why };
    const dimension: u64 = natural(answer, "dimension");
    const block: u64 = @intCast(@max(0, answer.get("vectors").int() orelse 0));
    const bytes: []align(8) const u8 = if (block == 0) &.{} else kernel.unblock(block);
    if ((dimension == 0 and texts.len > 0) or bytes.len != 4 * dimension * texts.len) {
        return .{ .failed = wrong("the host has not answered with a vector for each text") };
    }
    return .{ .ok = .{ .model = string(answer, "model"), .dimension = @intCast(dimension), .values = std.mem.bytesAsSlice(f32, bytes) } };
}

/// What to look for in a collection.
pub const Search = struct {
    /// The collection. Empty: the first that the operator grants.
    collection: []const u8 = "",
    text: []const u8 = "",
    /// The vector of what is looked for. Empty: the host makes one of the text if it needs one.
    vector: []const f32 = &.{},
    /// words, vectors or hybrid. Empty: what the request and the collection have.
    by: []const u8 = "",
    /// The most hits, up to 1000. 0: 10.
    k: u32 = 0,
    /// What each hit must be like.
    filter: []const Condition = &.{},
};

/// A condition of a search.
pub const Condition = struct {
    /// id, path, title, hash, time, heading, page, line, or a name in the metadata.
    field: []const u8,
    /// =, !=, prefix, >=, <=, > or <.
    op: []const u8,
    values: []const []const u8,
};

/// A piece of a document that was found. What it does not have is empty or 0.
pub const Hit = struct {
    document: []const u8,
    /// The number of the piece in its document, from 1.
    chunk: u32,
    /// 0 to 1.
    score: f64,
    text: []const u8,
    title: []const u8,
    path: []const u8,
    /// The headings above the piece, the highest first: a list of strings.
    headings: Json,
    page: u32,
    line_from: u32,
    line_to: u32,
    /// The metadata of the document: an object.
    metadata: Json,

    fn of(v: Json) Hit {
        var hit: Hit = undefined;
        inline for (std.meta.fields(Hit)) |f| {
            @field(hit, f.name) = switch (f.type) {
                u32 => natural(v, f.name),
                f64 => v.get(f.name).number() orelse 0,
                Json => v.get(f.name),
                else => string(v, f.name),
            };
        }
        return hit;
    }
};

/// Searches a collection, with the permission service: search. The best hit comes first.
pub fn search(query: Search) Result([]const Hit) {
    var text: Text = .{};
    text.add("{");
    put(&text, "collection", query.collection);
    put(&text, "text", query.text);
    if (query.vector.len > 0) {
        putNumber(&text, "vector", kernel.block(std.mem.sliceAsBytes(query.vector)));
        putNumber(&text, "dimension", query.vector.len);
    }
    put(&text, "by", query.by);
    putNumber(&text, "k", query.k);
    if (query.filter.len > 0) {
        text.addName("filter");
        text.add("[");
        for (query.filter) |c| {
            text.addComma();
            text.add("{");
            put(&text, "field", c.field);
            put(&text, "op", c.op);
            putTexts(&text, "values", c.values);
            text.add("}");
        }
        text.add("]");
    }
    text.add("}");
    const answer = read(kernel.env.anchor_search(kernel.block(text.bytes())));
    if (failure(answer)) |why| return .{ .failed = why };
    const list = answer.get("hits");
    const hits = memory.alloc(Hit, list.count());
    var it = list.each();
    for (hits) |*hit| hit.* = .of(it.next().?.value);
    return .{ .ok = hits };
}

/// A message for a model.
pub const Message = struct {
    role: enum { system, user, assistant },
    content: []const u8,

    /// What the model is and does.
    pub fn system(content: []const u8) Message {
        return .{ .role = .system, .content = content };
    }
    /// What the model is asked.
    pub fn user(content: []const u8) Message {
        return .{ .role = .user, .content = content };
    }
    /// What the model has answered.
    pub fn assistant(content: []const u8) Message {
        return .{ .role = .assistant, .content = content };
    }
};

/// What to ask a model.
pub const LlmRequest = struct {
    /// The operator's name of the model. Empty: the first that is granted.
    model: []const u8 = "",
    messages: []const Message,
    /// The JSON Schema of an object, as text. The answer is then JSON that fits it. Empty: any text.
    schema: []const u8 = "",
    /// The most tokens of the answer. 0: what the operator allows.
    max_tokens: u32 = 0,
    /// How much chance there is in the answer, 0 to 2. Null: the operator's value.
    temperature: ?f64 = null,

    fn addTo(r: LlmRequest, text: *Text) void {
        text.add("{");
        put(text, "model", r.model);
        text.addName("messages");
        text.add("[");
        for (r.messages) |m| {
            text.addComma();
            text.add("{");
            put(text, "role", @tagName(m.role));
            text.addName("content");
            text.addString(m.content);
            text.add("}");
        }
        text.add("]");
        if (r.schema.len > 0) {
            text.addName("schema");
            text.add(r.schema);
        }
        putNumber(text, "max_tokens", r.max_tokens);
        if (r.temperature) |t| {
            text.addName("temperature");
            text.addFloat(t);
        }
        text.add("}");
    }
};

/// What a model answered.
pub const LlmAnswer = struct {
    text: []const u8,
    /// The answer to a request with a schema, which fits it.
    json: Json,
    /// The operator's name of the model.
    model: []const u8,
    input_tokens: u32,
    output_tokens: u32,
    /// stop, or length if the answer was cut because it had the most tokens.
    finish: []const u8,
};

/// Asks a model, with the permission service: llm.
pub fn llm(request: LlmRequest) Result(LlmAnswer) {
    return llmBatch(&.{request})[0];
}

/// Asks up to 32 times at the same time, and returns the answers in the same order. One that
/// fails does not stop the others.
pub fn llmBatch(requests: []const LlmRequest) []const Result(LlmAnswer) {
    var text: Text = .{};
    text.add("{\"requests\":[");
    for (requests) |r| {
        text.addComma();
        r.addTo(&text);
    }
    text.add("]}");
    const answer = read(kernel.env.anchor_llm(kernel.block(text.bytes())));
    const answers = memory.alloc(Result(LlmAnswer), requests.len);
    var responses = answer.get("responses").each();
    for (answers) |*a| {
        const r = if (responses.next()) |m| m.value else Json{};
        a.* = if (failure(r)) |why| .{ .failed = why } else .{ .ok = .{
            .text = string(r, "text"),
            .json = r.get("json"),
            .model = string(r, "model"),
            .input_tokens = natural(r, "input_tokens"),
            .output_tokens = natural(r, "output_tokens"),
            .finish = string(r, "finish"),
        } };
    }
    return answers;
}
