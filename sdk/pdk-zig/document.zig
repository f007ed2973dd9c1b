//! Requests of the JSON lane, as if they were batches.

const std = @import("std");
const memory = @import("memory.zig");
const json = @import("json.zig");
const Json = json.Json;
const request = @import("request.zig");
const Request = request.Request;
const time = @import("time.zig");

/// The members of an item.
const Cells = struct {
    id: Json = .{},
    content: Json = .{},
    source: Json = .{},
    score: Json = .{},
    priority: Json = .{},
    token_count: Json = .{},
    metadata: Json = .{},
    created_at: Json = .{},
    embedding: Json = .{},
};

/// Reads a request.
pub fn open(doc: Json) Request {
    var r: Request = .{};
    var columns: Json = .{};
    var items: Json = .{};
    var it = doc.each();
    while (it.next()) |m| {
        const name = m.key.string() orelse "";
        if (std.mem.eql(u8, name, "query")) query(&r, m.value);
        if (std.mem.eql(u8, name, "columns")) columns = m.value;
        if (std.mem.eql(u8, name, "items")) items = m.value;
        if (std.mem.eql(u8, name, "settings")) r.settings = m.value;
        if (std.mem.eql(u8, name, "top_k")) r.top_k = natural(m.value);
        if (std.mem.eql(u8, name, "tokens_left")) r.tokens_left = natural(m.value);
    }
    const cells = cellsOf(items);
    r.rows = cells.len;
    it = columns.each();
    while (it.next()) |m| column(&r, m.value.string() orelse "", cells);
    return r;
}

fn natural(v: Json) u32 {
    return std.math.cast(u32, v.int() orelse 0) orelse 0;
}

fn query(r: *Request, v: Json) void {
    r.query = v.get("query_str").string() orelse "";
    r.query_metadata = v.get("metadata");
    r.chat_history = v.get("chat_history");
    const numbers = v.get("embedding");
    const embedding = memory.alloc(f32, numbers.count());
    floats(numbers, embedding);
    r.query_embedding = embedding;
}

/// Reads the numbers of a list, as many as there is room for.
fn floats(list: Json, to: []f32) void {
    var it = list.each();
    for (to) |*f| f.* = @floatCast((it.next() orelse return).value.number() orelse 0);
}

/// The vectors of the rows, zeros for a row that has none.
fn vectors(r: *Request, cells: []const Cells) void {
    for (cells) |c| {
        if (r.dimension == 0) r.dimension = c.embedding.count();
    }
    const all = memory.alloc(f32, std.math.mul(usize, cells.len, r.dimension) catch @trap());
    @memset(all, 0);
    for (cells, 0..) |c, row| floats(c.embedding, all[row * r.dimension ..][0..r.dimension]);
    r.vectors = all;
}

fn cellsOf(items: Json) []Cells {
    var list: std.ArrayList(Cells) = .empty;
    var it = items.each();
    while (it.next()) |item| {
        const row = list.addOne(memory.allocator) catch @trap();
        row.* = .{};
        var members = item.value.each();
        while (members.next()) |m| {
            const name = m.key.string() orelse "";
            inline for (std.meta.fields(Cells)) |f| {
                if (std.mem.eql(u8, name, f.name)) @field(row, f.name) = m.value;
            }
        }
    }
    return list.items;
}

fn column(r: *Request, name: []const u8, cells: []const Cells) void {
    if (std.mem.eql(u8, name, "id")) r.ids = strings(cells, "id");
    if (std.mem.eql(u8, name, "text")) r.texts = strings(cells, "content");
    if (std.mem.eql(u8, name, "source")) r.sources = strings(cells, "source");
    if (std.mem.eql(u8, name, "metadata")) r.metadata = metadata(cells);
    if (std.mem.eql(u8, name, "priority")) r.priorities = naturals(cells, "priority");
    if (std.mem.eql(u8, name, "embedding")) vectors(r, cells);
    if (std.mem.eql(u8, name, "token_count")) r.token_counts = naturals(cells, "token_count");
    if (std.mem.eql(u8, name, "score")) {
        const scores = memory.alloc(f64, cells.len);
        for (scores, cells) |*s, c| s.* = c.score.number() orelse 0;
        r.scores = scores;
    }
    if (std.mem.eql(u8, name, "created_at")) {
        const times = memory.alloc(i64, cells.len);
        for (times, cells) |*t, c| t.* = time.parse(c.created_at.string() orelse "");
        r.created_at = times;
    }
}

fn naturals(cells: []const Cells, comptime name: []const u8) []const u32 {
    const out = memory.alloc(u32, cells.len);
    for (out, cells) |*n, c| n.* = natural(@field(c, name));
    return out;
}

/// What JSON strings say, one after the other.
const Collector = struct {
    offsets: []u32,
    bytes: []u8,
    n: usize = 0,
    end: usize = 0,

    fn init(n: usize, size: usize) Collector {
        return .{ .offsets = memory.alloc(u32, n + 1), .bytes = memory.alloc(u8, size) };
    }

    fn add(c: *Collector, v: Json) void {
        c.offsets[c.n] = @intCast(c.end);
        c.n += 1;
        if (v.text.len >= 2 and v.text[0] == '"') c.end += json.unescape(c.bytes[c.end..], v.text[1 .. v.text.len - 1]);
    }

    fn done(c: *Collector) request.Strings {
        c.offsets[c.n] = @intCast(c.end);
        return .{ .offsets = c.offsets, .bytes = c.bytes[0..c.end] };
    }
};

fn strings(cells: []const Cells, comptime name: []const u8) request.Strings {
    var size: usize = 0;
    for (cells) |c| size += @field(c, name).text.len;
    var out = Collector.init(cells.len, size);
    for (cells) |c| out.add(@field(c, name));
    return out.done();
}

fn metadata(cells: []const Cells) request.Metadata {
    var entries: usize = 0;
    var size: usize = 0;
    for (cells) |c| {
        entries += c.metadata.count();
        size += c.metadata.text.len;
    }
    const rows = memory.alloc(u32, cells.len + 1);
    const bits = memory.alloc(u64, entries);
    const keys = memory.alloc(u32, entries);
    const kinds = memory.alloc(u8, entries);
    const values = memory.alloc(u8, size);
    var names = Collector.init(entries, size);
    var e: usize = 0;
    var end: usize = 0;
    for (cells, 0..) |c, row| {
        rows[row] = @intCast(e);
        var it = c.metadata.each();
        while (it.next()) |m| : (e += 1) {
            names.add(m.key);
            keys[e] = @intCast(e);
            const v = m.value.value();
            kinds[e] = @intFromEnum(v);
            bits[e] = switch (v) {
                .null => 0,
                .bool => |b| @intFromBool(b),
                .int => |i| @bitCast(i),
                .float => |f| @bitCast(f),
                .string, .json => |s| text: {
                    @memcpy(values[end..][0..s.len], s);
                    defer end += s.len;
                    break :text end | @as(u64, s.len) << 32;
                },
            };
        }
    }
    rows[cells.len] = @intCast(e);
    return .{ .cells = bits, .rows = rows, .keys = names.done(), .entry_keys = keys, .kinds = kinds, .values = values };
}
