//! The functions that the exports of a plugin call.

const batches = @import("batch.zig");
const documents = @import("document.zig");
const kernel = @import("kernel.zig");
const memory = @import("memory.zig");
const write = @import("write.zig");
const Changes = @import("changes.zig").Changes;
const json_text = @import("json.zig");
const Json = json_text.Json;
const requests = @import("request.zig");
const Request = requests.Request;
const Text = @import("text.zig").Text;

pub const Error = error{ NoChange, Failed };

const done = 0;
const no_change = 1;
const failed = -1;

/// Fails the call with a message: return anchor.fail("no index");
pub fn fail(message: []const u8) Error {
    kernel.setError(message);
    return error.Failed;
}

pub fn marker() callconv(.c) void {}

pub fn mailbox() callconv(.c) u32 {
    return @intCast(@intFromPtr(&memory.mailbox));
}

pub fn reserve(size: u32) callconv(.c) u32 {
    return memory.reserve(size);
}

fn status(result: Error!void) i32 {
    result catch |err| return if (err == error.NoChange) no_change else failed;
    return done;
}

const Handler = *const fn (*const Request, *Changes) Error!void;

/// Serves both lanes of an operation.
pub fn Rows(comptime f: Handler) type {
    return struct {
        pub fn json() callconv(.c) i32 {
            return status(inJson(f));
        }
        pub fn batch(at: u32, len: u32) callconv(.c) i32 {
            return status(inBatch(f, at, len));
        }
    };
}

fn run(f: Handler, r: *const Request) Error!Changes {
    requests.begin();
    var c: Changes = .{ .rows = r.rows };
    try f(r, &c);
    if (c.mistake()) |message| return fail(message);
    return if (c.isEmpty()) error.NoChange else c;
}

fn inJson(f: Handler) Error!void {
    const doc: Json = .{ .text = document() };
    if (!doc.isObject()) return fail("request: is not a JSON object");
    const r = documents.open(doc);
    const c = try run(f, &r);
    kernel.output(write.document(&c));
}

/// Begins a call, and returns its request document.
fn document() []const u8 {
    memory.begin();
    const text = kernel.input();
    json_text.index(text);
    return text;
}

fn inBatch(f: Handler, at: u32, len: u32) Error!void {
    memory.begin();
    json_text.index("");
    const data = memory.lent(at, len) orelse return fail("batch: is not in the room lent");
    const r = batches.open(data) catch return fail("batch: breaks the layout");
    const c = try run(f, &r);
    _ = memory.publish(write.container(&c));
}

const DocumentHandler = *const fn (Json, *Text) Error!void;

/// Serves an operation that has only the JSON lane.
pub fn Document(comptime f: DocumentHandler) type {
    return struct {
        pub fn json() callconv(.c) i32 {
            return status(inDocument(f));
        }
    };
}

fn inDocument(f: DocumentHandler) Error!void {
    var reply: Text = .{};
    try f(Json.parse(document()) orelse .{}, &reply);
    if (reply.bytes().len > 0) kernel.output(reply.bytes());
}
