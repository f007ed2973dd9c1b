//! Plugins for anchor-host in Zig: one function per operation serves both lanes.
//!
//!     const anchor = @import("anchor/anchor.zig");
//!
//!     comptime {
//!         anchor.plugin(.{ .filter = keep });
//!     }
//!
//!     fn keep(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
//!         const min = r.setting("min").number() orelse 0.5;
//!         c.keepNone();
//!         for (0..r.rows) |row| if (r.scores[row] >= min) c.keep(row);
//!     }
//!
//! A column that plugin.yaml does not name under reads is empty. Everything that a
//! function receives or allocates is freed after the call.

const std = @import("std");
const memory = @import("memory.zig");

pub const host = @import("host.zig");
pub const mock = @import("mock.zig");
pub const Json = @import("json.zig").Json;
pub const Value = @import("json.zig").Value;
pub const Text = @import("text.zig").Text;
pub const Request = @import("request.zig").Request;
pub const Changes = @import("changes.zig").Changes;
pub const NewItem = @import("changes.zig").NewItem;
pub const Field = @import("changes.zig").Field;
const lanes = @import("lanes.zig");

/// The errors of a function. With NoChange everything stays as it is. With the other the
/// call fails with the message that was given to fail.
pub const Error = lanes.Error;
pub const fail = lanes.fail;

/// Allocates n elements, of undefined content, until the end of the call. The call ends in
/// a trap if there is no memory.
pub const alloc = memory.alloc;

/// The same memory, for containers of the standard library. Nothing needs to be freed.
pub const allocator = memory.allocator;

/// Logs why a plugin panics. Name it in plugin.zig: pub const panic = anchor.panic;
pub const panic = std.debug.FullPanic(struct {
    fn log(message: []const u8, _: ?usize) noreturn {
        host.logError(message);
        @trap();
    }
}.log);

/// Keeps for good what the running call has allocated, such as an index that init
/// builds.
pub const keepMemory = memory.keep;

/// Reads a request from its document, for tests: {"columns": ["text"], "items": […]}.
pub fn requestOf(document: []const u8) Request {
    return @import("document.zig").open(Json.parse(document) orelse .{});
}

/// Makes the exports of a plugin. Use it once per plugin, in a comptime block:
/// .{ .operation = function, … }. The functions of filter, rerank, retrieve and
/// process are fn (*const Request, *Changes) Error!void; those of the operations
/// that have only the JSON lane are fn (request: Json, reply: *Text) Error!void,
/// with the documents of ABI.md.
pub fn plugin(comptime operations: anytype) void {
    if (!memory.is_plugin) return; // a test calls the functions themselves
    const both = .{ "filter", "rerank", "retrieve", "process" };
    const documents = .{
        "init",    "observe", "transform_query", "classify",     "enrich_query", "memory", "compact",
        "distill", "extract", "provide",         "estimate_tokens", "format",       "count_tokens",
    };
    var batch = false;
    @export(&lanes.marker, .{ .name = "anchor_abi_1" });
    for (std.meta.fieldNames(@TypeOf(operations))) |name| {
        const function = @field(operations, name);
        const rows = for (both) |op| {
            if (std.mem.eql(u8, op, name)) break true;
        } else false;
        for (documents) |op| {
            if (rows or std.mem.eql(u8, op, name)) break;
        } else {
            comptime var known: []const u8 = "";
            inline for (both ++ documents) |op| known = known ++ ", " ++ op;
            @compileError("unknown operation ." ++ name ++ " (want one of " ++ known[2..] ++ ")");
        }
        if (rows) {
            batch = true;
            @export(&lanes.Rows(function).json, .{ .name = "anchor_" ++ name });
            @export(&lanes.Rows(function).batch, .{ .name = "anchor_batch_" ++ name });
        } else {
            @export(&lanes.Document(function).json, .{ .name = "anchor_" ++ name });
        }
    }
    if (batch) {
        @export(&lanes.mailbox, .{ .name = "anchor_mailbox" });
        @export(&lanes.reserve, .{ .name = "anchor_reserve" });
    }
}
