//! What the host offers a plugin. kv and countTokens need a permission in
//! plugin.yaml, and http too.

const memory = @import("memory.zig");
const Text = @import("text.zig").Text;
const Json = @import("json.zig").Json;

const env = if (memory.is_plugin) imports else absent;

const imports = struct {
    extern "extism:host/env" fn alloc(u64) u64;
    extern "extism:host/env" fn length(u64) u64;
    extern "extism:host/env" fn load_u8(u64) u32;
    extern "extism:host/env" fn load_u64(u64) u64;
    extern "extism:host/env" fn store_u8(u64, u32) void;
    extern "extism:host/env" fn store_u64(u64, u64) void;
    extern "extism:host/env" fn input_length() u64;
    extern "extism:host/env" fn input_load_u8(u64) u32;
    extern "extism:host/env" fn input_load_u64(u64) u64;
    extern "extism:host/env" fn output_set(u64, u64) void;
    extern "extism:host/env" fn error_set(u64) void;
    extern "extism:host/env" fn config_get(u64) u64;
    extern "extism:host/env" fn http_request(u64, u64) u64;
    extern "extism:host/env" fn http_status_code() i32;
    extern "extism:host/env" fn http_headers() u64;
    extern "extism:host/env" fn log_debug(u64) void;
    extern "extism:host/env" fn log_info(u64) void;
    extern "extism:host/env" fn log_warn(u64) void;
    extern "extism:host/env" fn log_error(u64) void;
    extern "extism:host/user" fn anchor_kv_get(u64) u64;
    extern "extism:host/user" fn anchor_kv_set(u64, u64) i32;
    extern "extism:host/user" fn anchor_count_tokens(u64) u64;
    extern "extism:host/user" fn anchor_http_batch(u64) u64;
};

/// What tests have in its place. 0 stands for nothing.
const absent = struct {
    fn alloc(_: u64) u64 {
        return 0;
    }
    fn store_u64(_: u64, _: u64) void {}
    fn store_u8(_: u64, _: u32) void {}
    fn load_u64(_: u64) u64 {
        return 0;
    }
    fn load_u8(_: u64) u32 {
        return 0;
    }
    fn http_request(_: u64, _: u64) u64 {
        return 0;
    }
    fn http_status_code() i32 {
        return 0;
    }
    fn http_headers() u64 {
        return 0;
    }
    fn anchor_kv_set(_: u64, _: u64) i32 {
        return 2;
    }
    const length = alloc;
    const config_get = alloc;
    const anchor_kv_get = alloc;
    const anchor_count_tokens = alloc;
    const anchor_http_batch = alloc;
    const error_set = discard;
    const log_debug = discard;
    const log_info = discard;
    const log_warn = discard;
    const log_error = discard;
    fn discard(_: u64) void {}
};

/// Copies bytes into a new block of the host.
fn block(bytes: []const u8) u64 {
    const at = env.alloc(bytes.len);
    var i: usize = 0;
    while (i + 8 <= bytes.len) : (i += 8) env.store_u64(at + i, @bitCast(bytes[i..][0..8].*));
    while (i < bytes.len) : (i += 1) env.store_u8(at + i, bytes[i]);
    return at;
}

fn unblock(at: u64) []u8 {
    const bytes = memory.alloc(u8, @intCast(env.length(at)));
    var i: usize = 0;
    while (i + 8 <= bytes.len) : (i += 8) bytes[i..][0..8].* = @bitCast(env.load_u64(at + i));
    while (i < bytes.len) : (i += 1) bytes[i] = @truncate(env.load_u8(at + i));
    return bytes;
}

/// The request of a call of the JSON lane.
pub fn input() []const u8 {
    if (memory.takeDocument()) |document| return document;
    const bytes = memory.alloc(u8, @intCast(env.input_length()));
    var i: usize = 0;
    while (i + 8 <= bytes.len) : (i += 8) bytes[i..][0..8].* = @bitCast(env.input_load_u64(i));
    while (i < bytes.len) : (i += 1) bytes[i] = @truncate(env.input_load_u8(i));
    return bytes;
}

/// The answer of a call of the JSON lane.
pub fn output(bytes: []const u8) void {
    if (!memory.publish(bytes)) env.output_set(block(bytes), bytes.len);
}

pub fn setError(message: []const u8) void {
    env.error_set(block(message));
}

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
    /// Why a request of a batch has no answer: timeout, dns, connect, certificate or network.
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
    if (status == 0) return .{ .status = 0 };
    return .{
        .status = status,
        .headers = if (headers == 0) .{} else Json.parse(unblock(headers)) orelse .{},
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
