//! The functions of the host. A module imports only those it uses.

const memory = @import("memory.zig");
const mock = @import("mock.zig");

pub const env = if (memory.is_plugin) imports else mock.env;

const imports = struct {
    pub extern "extism:host/env" fn alloc(u64) u64;
    pub extern "extism:host/env" fn length(u64) u64;
    pub extern "extism:host/env" fn load_u8(u64) u32;
    pub extern "extism:host/env" fn load_u64(u64) u64;
    pub extern "extism:host/env" fn store_u8(u64, u32) void;
    pub extern "extism:host/env" fn store_u64(u64, u64) void;
    pub extern "extism:host/env" fn input_length() u64;
    pub extern "extism:host/env" fn input_load_u8(u64) u32;
    pub extern "extism:host/env" fn input_load_u64(u64) u64;
    pub extern "extism:host/env" fn output_set(u64, u64) void;
    pub extern "extism:host/env" fn error_set(u64) void;
    pub extern "extism:host/env" fn config_get(u64) u64;
    pub extern "extism:host/env" fn http_request(u64, u64) u64;
    pub extern "extism:host/env" fn http_status_code() i32;
    pub extern "extism:host/env" fn http_headers() u64;
    pub extern "extism:host/env" fn log_debug(u64) void;
    pub extern "extism:host/env" fn log_info(u64) void;
    pub extern "extism:host/env" fn log_warn(u64) void;
    pub extern "extism:host/env" fn log_error(u64) void;
    pub extern "extism:host/user" fn anchor_kv_get(u64) u64;
    pub extern "extism:host/user" fn anchor_kv_set(u64, u64) i32;
    pub extern "extism:host/user" fn anchor_count_tokens(u64) u64;
    pub extern "extism:host/user" fn anchor_http_batch(u64) u64;
    pub extern "extism:host/user" fn anchor_embed(u64) u64;
    pub extern "extism:host/user" fn anchor_search(u64) u64;
    pub extern "extism:host/user" fn anchor_llm(u64) u64;
};

/// Copies bytes into a new block of the host.
pub fn block(bytes: []const u8) u64 {
    const at = env.alloc(bytes.len);
    var i: usize = 0;
    while (i + 8 <= bytes.len) : (i += 8) env.store_u64(at + i, @bitCast(bytes[i..][0..8].*));
    while (i < bytes.len) : (i += 1) env.store_u8(at + i, bytes[i]);
    return at;
}

/// The bytes of a block, at a multiple of 8.
pub fn unblock(at: u64) []align(8) u8 {
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
