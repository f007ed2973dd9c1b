//! What the host offers a plugin. All but the log and config need a permission in
//! plugin.yaml.

const memory = @import("memory.zig");
const kernel = @import("kernel.zig");
const services = @import("services.zig");
const Text = @import("text.zig").Text;
const Json = @import("json.zig").Json;

const env = kernel.env;
const block = kernel.block;
const unblock = kernel.unblock;

pub const embed = services.embed;
pub const Side = services.Side;
pub const Vectors = services.Vectors;
pub const search = services.search;
pub const Search = services.Search;
pub const Condition = services.Condition;
pub const Hit = services.Hit;
pub const llm = services.llm;
pub const llmBatch = services.llmBatch;
pub const LlmRequest = services.LlmRequest;
pub const LlmAnswer = services.LlmAnswer;
pub const Message = services.Message;
pub const Result = services.Result;
pub const ServiceFailure = services.ServiceFailure;
pub const ServiceWord = services.ServiceWord;

pub fn logDebug(text: []const u8) void {
    env.log_debug(block(text));
}
pub fn logInfo(text: []const u8) void {
    env.log_info(block(text));
}
pub fn logWarn(text: []const u8) void {
    env.log_warn(block(text));
}
pub fn logError(text: []const u8) void {
    env.log_error(block(text));
}

/// The value that the operator configured for a key.
pub fn config(key: []const u8) ?[]const u8 {
    const at = env.config_get(block(key));
    return if (at == 0) null else unblock(at);
}

/// The stored value of a key.
pub fn kvGet(key: []const u8) ?[]const u8 {
    const at = env.anchor_kv_get(block(key));
    return if (at == 0) null else unblock(at);
}

/// Stores a value. An empty value deletes the key. Returns false if there is
/// no room for it.
pub fn kvSet(key: []const u8, value: []const u8) bool {
    return env.anchor_kv_set(block(key), if (value.len == 0) 0 else block(value)) == 0;
}

/// The number of tokens of a text of at most 1 MiB, by the host's tokenizer.
pub fn countTokens(text: []const u8) u64 {
    return env.anchor_count_tokens(block(text));
}

/// A request for the host to send.
pub const Request = struct {
    method: []const u8 = "GET",
    url: []const u8,
    /// A JSON object of strings, or empty.
    headers: []const u8 = "",
    body: []const u8 = "",
    /// The milliseconds after which there is no answer. 0: the request has the time of the call.
    timeout_ms: u32 = 0,

    fn addTo(r: Request, text: *Text, body: u64) void {
        text.add("{");
        text.addName("method");
        text.addString(r.method);
        text.addName("url");
        text.addString(r.url);
        if (r.headers.len > 0) {
            text.addName("headers");
            text.add(r.headers);
        }
        if (r.timeout_ms > 0) {
            text.addName("timeout_ms");
            text.addInt(r.timeout_ms);
        }
        if (body > 0) {
            text.addName("body");
            text.addInt(@intCast(body));
        }
        text.add("}");
    }
};

/// The answer of a server.
pub const Answer = struct {
    /// 0: there is no answer.
    status: i32,
    /// An object of strings, whose names are in lower case: `answer.headers.get("etag").string()`.
    headers: Json = .{},
    body: []const u8 = "",
    /// Why there is no answer: timeout, dns, connect, certificate, tls, reset, short_body, too_large
    /// or network.
    failure: []const u8 = "",
};

fn blockOrNone(bytes: []const u8) u64 {
    return if (bytes.len == 0) 0 else block(bytes);
}

/// Sends a request.
pub fn http(request: Request) Answer {
    var text: Text = .{};
    request.addTo(&text, 0);
    const at = env.http_request(block(text.bytes()), blockOrNone(request.body));
    const status = env.http_status_code();
    const headers = env.http_headers();
    const all: Json = if (headers == 0) .{} else Json.parse(unblock(headers)) orelse .{};
    if (status == 0) return .{ .status = 0, .failure = all.get("anchor-error").string() orelse "" };
    return .{
        .status = status,
        .headers = all,
        .body = if (at == 0) "" else unblock(at),
    };
}

/// Sends up to 32 requests at the same time, and returns their answers in the same order. The
/// host's limits for bodies hold for those of the whole batch. Only anchor-host offers it.
pub fn httpBatch(requests: []const Request) []const Answer {
    var text: Text = .{};
    text.add("{\"requests\":[");
    for (requests) |r| {
        text.addComma();
        r.addTo(&text, blockOrNone(r.body));
    }
    text.add("]}");
    const at = env.anchor_http_batch(block(text.bytes()));
    const document = if (at == 0) Json{} else Json.parse(unblock(at)) orelse Json{};
    const answers = memory.alloc(Answer, requests.len);
    var responses = document.get("responses").each();
    for (answers) |*a| {
        const r = if (responses.next()) |m| m.value else Json{};
        const body: u64 = @intCast(r.get("body").int() orelse 0);
        a.* = .{
            .status = @intCast(r.get("status").int() orelse 0),
            .headers = r.get("headers"),
            .body = if (body == 0) "" else unblock(body),
            .failure = r.get("error").string() orelse "",
        };
    }
    return answers;
}
