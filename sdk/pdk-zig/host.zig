//! What the host offers a plugin. kv and countTokens need a permission in
//! plugin.yaml, and http too.

const memory = @import("memory.zig");
const Text = @import("text.zig").Text;

const env = struct {
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
    extern "extism:host/env" fn log_debug(u64) void;
    extern "extism:host/env" fn log_info(u64) void;
    extern "extism:host/env" fn log_warn(u64) void;
    extern "extism:host/env" fn log_error(u64) void;
    extern "extism:host/user" fn anchor_kv_get(u64) u64;
    extern "extism:host/user" fn anchor_kv_set(u64, u64) i32;
    extern "extism:host/user" fn anchor_count_tokens(u64) u64;
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

pub const Answer = struct { status: i32, body: []const u8 };

/// Sends a request; status 0 means that there was no answer. headers is a JSON
/// object of strings, or empty.
pub fn http(method: []const u8, url: []const u8, headers: []const u8, body: []const u8) Answer {
    var request: Text = .{};
    request.add("{\"method\":");
    request.addString(method);
    request.add(",\"url\":");
    request.addString(url);
    if (headers.len > 0) {
        request.add(",\"headers\":");
        request.add(headers);
    }
    request.add("}");
    const at = env.http_request(block(request.bytes()), if (body.len == 0) 0 else block(body));
    const status = env.http_status_code();
    return .{ .status = status, .body = if (at == 0 or status == 0) "" else unblock(at) };
}
