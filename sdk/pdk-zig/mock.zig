//! Answers of the host in the tests of a plugin, which run without one: anchor.mock. Without
//! an answer, 0 stands for nothing.
//!
//!     anchor.mock.answer(.llm, "{\"responses\": [{\"text\": \"yes\"}]}");
//!     const answer = anchor.host.llm(.{ .messages = &.{.user("Is it?")} });
//!     try std.testing.expectEqualStrings("yes", answer.ok.text);

const std = @import("std");
const memory = @import("memory.zig");

pub const Service = enum { embed, search, llm };

var answers = std.EnumArray(Service, []const u8).initFill("");
var last: []const u8 = "";

/// Makes a document of ABI.md, section 7, the answer of a service. It stays so until the next
/// one. Empty text is no answer.
pub fn answer(service: Service, document: []const u8) void {
    answers.set(service, document);
}

/// Makes vectors the answer of the service embed: all their numbers, one vector after the other.
pub fn vectors(dimension: u32, values: []const f32) void {
    const bytes = std.mem.sliceAsBytes(values);
    const at = env.alloc(bytes.len);
    @memcpy(contents(at), bytes);
    answer(.embed, std.fmt.allocPrint(memory.allocator, "{{\"model\":\"test\",\"dimension\":{d},\"vectors\":{d}}}", .{ dimension, at }) catch @trap());
}

/// The document that a service was asked last.
pub fn asked() []const u8 {
    return last;
}

/// The bytes of a block, which lie after their number.
fn contents(at: u64) []u8 {
    const head: [*]const u64 = @ptrFromInt(at - 8);
    const bytes: [*]u8 = @ptrFromInt(at);
    return bytes[0..head[0]];
}

fn ask(comptime service: Service) fn (u64) u64 {
    return struct {
        fn f(request: u64) u64 {
            last = contents(request);
            const document = answers.get(service);
            if (document.len == 0) return 0;
            const at = env.alloc(document.len);
            @memcpy(contents(at), document);
            return at;
        }
    }.f;
}

/// The functions of the host. A handle is the address of a block.
pub const env = struct {
    pub fn alloc(n: u64) u64 {
        const words = memory.alloc(u64, n / 8 + 2);
        words[0] = n;
        return @intFromPtr(words.ptr) + 8;
    }
    pub fn length(at: u64) u64 {
        return contents(at).len;
    }
    pub fn store_u64(at: u64, word: u64) void {
        const p: *align(1) u64 = @ptrFromInt(at);
        p.* = word;
    }
    pub fn store_u8(at: u64, byte: u32) void {
        const p: *u8 = @ptrFromInt(at);
        p.* = @truncate(byte);
    }
    pub fn load_u64(at: u64) u64 {
        const p: *align(1) const u64 = @ptrFromInt(at);
        return p.*;
    }
    pub fn load_u8(at: u64) u32 {
        const p: *const u8 = @ptrFromInt(at);
        return p.*;
    }
    pub const anchor_embed = ask(.embed);
    pub const anchor_search = ask(.search);
    pub const anchor_llm = ask(.llm);

    pub fn http_request(_: u64, _: u64) u64 {
        return 0;
    }
    pub fn http_status_code() i32 {
        return 0;
    }
    pub fn http_headers() u64 {
        return 0;
    }
    pub fn anchor_kv_set(_: u64, _: u64) i32 {
        return 2;
    }
    pub const config_get = nothing;
    pub const anchor_kv_get = nothing;
    pub const anchor_count_tokens = nothing;
    pub const anchor_http_batch = nothing;
    fn nothing(_: u64) u64 {
        return 0;
    }
    pub const error_set = discard;
    pub const log_debug = discard;
    pub const log_info = discard;
    pub const log_warn = discard;
    pub const log_error = discard;
    fn discard(_: u64) void {}
};
