//! Reads batches in place: layout 1.0 of ABI.md, section 9.

const std = @import("std");
const request = @import("request.zig");
const Request = request.Request;

const header_size = 32;
const entry_size = 16;
const max_rows = 1 << 20;
const max_dimension = 1 << 14;

const Malformed = error{Malformed};

/// The type that a section must have, or null if the section is unknown.
fn typeOf(id: u32) ?u32 {
    return switch (id) {
        1, 3, 5 => 7,
        2 => 6,
        4 => 8,
        6, 7, 261, 262 => 3,
        8 => 4,
        9 => 9,
        256 => 1,
        257, 258, 260 => 2,
        259 => 5,
        else => null,
    };
}

/// Checks a batch once. After that, everything can be read without checks for row
/// numbers below rows.
pub fn open(data: []align(8) const u8) Malformed!Request {
    if (data.len < header_size) return error.Malformed;
    const h: *const [8]u32 = @ptrCast(data.ptr);
    const directory, const total, const rows, const count = .{ h[2], h[3], h[4], h[5] };
    if (!std.mem.eql(u8, data[0..4], "ANCB") or h[1] & 0xffff != 1) return error.Malformed;
    if (total != data.len or rows > max_rows) return error.Malformed;
    if (directory < header_size or directory % 8 != 0 or directory > total) return error.Malformed;
    if (count > (total - directory) / entry_size) return error.Malformed;
    var r: Request = .{ .rows = rows };
    var end: u64 = directory + entry_size * count;
    var last: u32 = 0;
    for (0..count) |i| {
        const entry: *const [4]u32 = @ptrCast(@alignCast(data[directory + entry_size * i ..].ptr));
        const id, const from = .{ entry[0] & 0xffff, entry[2] };
        if (id <= last or from % 8 != 0 or from < end or @as(u64, from) + entry[3] > total) return error.Malformed;
        last = id;
        end = from + entry[3];
        if (typeOf(id)) |want| {
            if (entry[0] >> 16 != want) return error.Malformed;
            try section(&r, id, @alignCast(data[from..][0..entry[3]]));
        } else if (entry[1] & 1 != 0) return error.Malformed;
    }
    return r;
}

fn section(r: *Request, id: u32, bytes: []align(8) const u8) Malformed!void {
    switch (id) {
        1 => r.ids = try strings(bytes, r.rows),
        2 => r.scores = try list(f64, bytes, r.rows),
        3 => r.texts = try strings(bytes, r.rows),
        4 => r.metadata = try metadata(bytes, r.rows),
        5 => r.sources = try strings(bytes, r.rows),
        6 => r.priorities = try list(u32, bytes, r.rows),
        7 => r.token_counts = try list(u32, bytes, r.rows),
        8 => r.created_at = try list(i64, bytes, r.rows),
        9 => try vectors(r, bytes),
        256 => r.query = bytes,
        257 => r.query_metadata = .{ .text = bytes },
        258 => r.chat_history = .{ .text = bytes },
        259 => r.query_embedding = try list(f32, bytes, bytes.len / 4),
        260 => r.settings = .{ .text = bytes },
        261 => r.top_k = (try list(u32, bytes, 1))[0],
        262 => r.tokens_left = (try list(u32, bytes, 1))[0],
        else => {},
    }
}

fn list(comptime T: type, bytes: []align(8) const u8, n: usize) Malformed![]const T {
    if (bytes.len != n * @sizeOf(T)) return error.Malformed;
    return @as([*]const T, @ptrCast(bytes.ptr))[0..n];
}

fn vectors(r: *Request, bytes: []align(8) const u8) Malformed!void {
    if (bytes.len < 8) return error.Malformed;
    r.dimension = @as(*const u32, @ptrCast(bytes.ptr)).*;
    if (r.dimension > max_dimension or bytes.len != 8 + 4 * @as(u64, r.dimension) * r.rows) return error.Malformed;
    r.vectors = @as([*]const f32, @ptrCast(bytes.ptr + 8))[0 .. r.rows * r.dimension];
}

fn strings(bytes: []align(4) const u8, n: usize) Malformed!request.Strings {
    const head = 4 * (n + 1);
    if (bytes.len < head) return error.Malformed;
    const offsets = @as([*]const u32, @ptrCast(bytes.ptr))[0 .. n + 1];
    try rising(offsets, bytes.len - head);
    return .{ .offsets = offsets, .bytes = bytes[head..] };
}

/// Checks that offsets begin with 0, never decrease and end with end.
fn rising(offsets: []const u32, end: u64) Malformed!void {
    var last: u32 = 0;
    for (offsets) |at| {
        if (at < last) return error.Malformed;
        last = at;
    }
    if (offsets[0] != 0 or last != end) return error.Malformed;
}

fn metadata(bytes: []align(8) const u8, rows: usize) Malformed!request.Metadata {
    if (bytes.len < 16) return error.Malformed;
    const head: *const [4]u32 = @ptrCast(bytes.ptr);
    const keys: u64, const entries: u64, const key_bytes: u64, const value_bytes: u64 = head.*;
    const size = 16 + 13 * entries + 4 * (@as(u64, rows) + 1) + 4 * (keys + 1) + key_bytes + value_bytes;
    if (size != bytes.len) return error.Malformed;
    var at: [*]align(4) const u8 = @ptrCast(bytes[16..].ptr);
    var m: request.Metadata = .{};
    m.cells = cut(u64, &at, @intCast(entries));
    m.rows = cut(u32, &at, rows + 1);
    m.keys.offsets = cut(u32, &at, @intCast(keys + 1));
    m.entry_keys = cut(u32, &at, @intCast(entries));
    m.kinds = at[0..@intCast(entries)];
    m.keys.bytes = at[@intCast(entries)..][0..@intCast(key_bytes)];
    m.values = at[@intCast(entries + key_bytes)..][0..@intCast(value_bytes)];
    try rising(m.rows, entries);
    try rising(m.keys.offsets, key_bytes);
    for (m.entry_keys, m.kinds, m.cells) |key, kind, cell| {
        if (key >= keys or kind > 5) return error.Malformed;
        if (kind >= 4 and (cell & 0xffffffff) + (cell >> 32) > value_bytes) return error.Malformed;
    }
    return m;
}

fn cut(comptime T: type, at: *[*]align(4) const u8, n: usize) []align(4) const T {
    const part = @as([*]align(4) const T, @ptrCast(at.*))[0..n];
    at.* = @alignCast(at.* + n * @sizeOf(T));
    return part;
}

/// A batch of two rows with a section of vectors, for tests.
fn withVectors(comptime n: usize, dimension: u32) Malformed!Request {
    var words: [14 + n]u32 align(8) = @splat(@bitCast(@as(f32, 0.5)));
    const size = 8 + 4 * n;
    words[0..14].* = .{ 0x42434e41, 1, 32, 48 + size, 2, 1, 0, 0, 9 | 9 << 16, 0, 48, size, dimension, 0 };
    return open(std.mem.sliceAsBytes(words[0..]));
}

test "vectors are those of the rows" {
    const r = try withVectors(4, 2);
    try std.testing.expectEqual(.{ 2, 4 }, .{ r.dimension, r.vectors.?.len });
    try std.testing.expectEqual(null, (try withVectors(0, 0)).embedding(1));
    try std.testing.expectError(error.Malformed, withVectors(2, 0));
    try std.testing.expectError(error.Malformed, withVectors(3, 2));
    try std.testing.expectError(error.Malformed, withVectors(2 << 14 | 2, 1 << 14 | 1));
    try std.testing.expectError(error.Malformed, withVectors(4, std.math.maxInt(u32)));
}
