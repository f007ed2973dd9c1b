//! Writes change sets, as the container of the batch lane and as the document of the
//! JSON lane.

const std = @import("std");
const memory = @import("memory.zig");
const time = @import("time.zig");
const Text = @import("text.zig").Text;
const changes = @import("changes.zig");
const Changes = changes.Changes;
const Field = changes.Field;
const NewItem = changes.NewItem;

const header_size = 32;
const entry_size = 16;
const max_sections = 17;

/// A container under construction. out begins at a multiple of 8.
const Container = struct {
    out: std.ArrayList(u8) = .empty,
    count: usize = 0,

    fn begin() Container {
        var w: Container = .{};
        w.room(header_size + entry_size * max_sections);
        return w;
    }

    /// Adds zero bytes.
    fn room(w: *Container, n: usize) void {
        w.out.appendNTimes(memory.allocator, 0, n) catch @trap();
    }

    fn raw(w: *Container, bytes: []const u8) void {
        w.out.appendSlice(memory.allocator, bytes) catch @trap();
    }

    /// Ends the section that begins at from.
    fn end(w: *Container, id: u32, kind: u32, from: usize) void {
        const size = w.out.items.len - from;
        const entry = [4]u32{ id | kind << 16, 0, @intCast(from), @intCast(size) };
        w.out.items[header_size + entry_size * w.count ..][0..entry_size].* = @bitCast(entry);
        w.count += 1;
        w.room((8 - size % 8) % 8);
    }

    fn list(w: *Container, id: u32, kind: u32, values: anytype) void {
        const from = w.out.items.len;
        w.raw(std.mem.sliceAsBytes(values));
        w.end(id, kind, from);
    }

    fn texts(w: *Container, id: u32, values: []const []const u8) void {
        const from = w.out.items.len;
        w.strings(values);
        w.end(id, 7, from);
    }

    fn offsets(w: *Container, values: []const []const u8) void {
        var at: u32 = 0;
        w.raw(std.mem.asBytes(&at));
        for (values) |s| {
            at += @intCast(s.len);
            w.raw(std.mem.asBytes(&at));
        }
    }

    fn strings(w: *Container, values: []const []const u8) void {
        w.offsets(values);
        for (values) |s| w.raw(s);
    }

    /// Writes one member of all items, if any item has it.
    fn member(w: *Container, id: u32, items: []const NewItem, comptime name: []const u8) void {
        const values = memory.alloc([]const u8, items.len);
        var any = false;
        for (values, items) |*v, *it| {
            v.* = @field(it, name);
            any = any or v.len > 0;
        }
        if (any) w.texts(id, values);
    }

    fn addItems(w: *Container, items: []const NewItem) void {
        const scores = memory.alloc(f64, items.len);
        const metadata = memory.alloc([]const Field, items.len);
        const priorities = memory.alloc(u32, items.len);
        const times = memory.alloc(i64, items.len);
        var any = [3]bool{ false, false, false };
        for (items, scores, metadata, priorities, times) |it, *s, *m, *p, *t| {
            s.* = it.score;
            m.* = it.metadata;
            p.* = it.priority;
            t.* = it.created_at orelse time.none;
            any = .{ any[0] or m.len > 0, any[1] or p.* > 0, any[2] or it.created_at != null };
        }
        w.member(1, items, "key");
        w.list(2, 6, scores);
        w.member(3, items, "content");
        if (any[0]) w.table(4, metadata);
        w.member(5, items, "source");
        if (any[1]) w.list(6, 3, priorities);
        if (any[2]) w.list(8, 4, times);
    }

    fn addParts(w: *Container, c: *const Changes) void {
        if (c.keeps) w.list(512, 3, c.kept.items);
        if (c.texts.rows.items.len > 0) {
            w.list(513, 3, c.texts.rows.items);
            w.texts(514, c.texts.values.items);
        }
        if (c.metadata.rows.items.len > 0) {
            w.list(515, 3, c.metadata.rows.items);
            w.table(516, c.metadata.values.items);
        }
        if (c.priorities.rows.items.len > 0) {
            w.list(517, 3, c.priorities.rows.items);
            w.list(518, 3, c.priorities.values.items);
        }
        if (c.scores.rows.items.len > 0) {
            w.list(519, 3, c.scores.rows.items);
            w.list(520, 6, c.scores.values.items);
        }
        if (c.ordered.items.len > 0) w.list(521, 3, c.ordered.items);
    }

    fn table(w: *Container, id: u32, rows: []const []const Field) void {
        var t: Table = .{};
        t.addRows(rows);
        const from = w.out.items.len;
        var key_bytes: usize = 0;
        for (t.keys.items) |k| key_bytes += k.len;
        for ([_]usize{ t.keys.items.len, t.cells.items.len, key_bytes, t.values.items.len }) |n| {
            w.raw(std.mem.asBytes(&@as(u32, @intCast(n))));
        }
        w.raw(std.mem.sliceAsBytes(t.cells.items));
        w.raw(std.mem.sliceAsBytes(t.rows.items));
        w.offsets(t.keys.items);
        w.raw(std.mem.sliceAsBytes(t.entry_keys.items));
        w.raw(t.kinds.items);
        for (t.keys.items) |k| w.raw(k);
        w.raw(t.values.items);
        w.end(id, 8, from);
    }
};

/// The parts of a metadata section.
const Table = struct {
    keys: std.ArrayList([]const u8) = .empty,
    rows: std.ArrayList(u32) = .empty,
    cells: std.ArrayList(u64) = .empty,
    entry_keys: std.ArrayList(u32) = .empty,
    kinds: std.ArrayList(u8) = .empty,
    values: std.ArrayList(u8) = .empty,

    fn append(list: anytype, value: anytype) void {
        list.append(memory.allocator, value) catch @trap();
    }

    fn addRows(t: *Table, rows: []const []const Field) void {
        append(&t.rows, 0);
        for (rows) |fields| {
            t.addKeys(fields);
            for (t.keys.items, 0..) |key, k| {
                for (fields) |f| if (std.mem.eql(u8, f.key, key)) t.add(@intCast(k), f);
            }
            append(&t.rows, @as(u32, @intCast(t.cells.items.len)));
        }
    }

    /// Adds the keys of a row that are new, sorted.
    fn addKeys(t: *Table, fields: []const Field) void {
        const known = t.keys.items.len;
        for (fields) |f| {
            var k: usize = 0;
            while (k < t.keys.items.len and !std.mem.eql(u8, t.keys.items[k], f.key)) k += 1;
            if (k < t.keys.items.len) continue;
            while (k > known and std.mem.lessThan(u8, f.key, t.keys.items[k - 1])) k -= 1;
            t.keys.insert(memory.allocator, k, f.key) catch @trap();
        }
    }

    fn add(t: *Table, key: u32, f: Field) void {
        const from: u64 = t.values.items.len;
        append(&t.entry_keys, key);
        append(&t.kinds, @as(u8, @intFromEnum(f.value)));
        append(&t.cells, switch (f.value) {
            .null => 0,
            .bool => |b| @intFromBool(b),
            .int => |i| @as(u64, @bitCast(i)),
            .float => |x| @as(u64, @bitCast(x)),
            .string, .json => |s| text: {
                t.values.appendSlice(memory.allocator, s) catch @trap();
                break :text from | @as(u64, s.len) << 32;
            },
        });
    }
};

/// The change set of the batch lane.
pub fn container(c: *const Changes) []const u8 {
    var w = Container.begin();
    const items = c.items.items;
    if (items.len > 0) w.addItems(items);
    w.addParts(c);
    const magic = 0x43434e41; // the bytes ANCC
    const size: u32 = @intCast(w.out.items.len);
    const head = [8]u32{ magic, 1, header_size, size, @intCast(items.len), @intCast(w.count), 0, 0 };
    w.out.items[0..header_size].* = @bitCast(head);
    return w.out.items;
}

/// The change set of the JSON lane.
pub fn document(c: *const Changes) []const u8 {
    var t: Text = .{};
    t.add("{");
    if (c.keeps) addRows(&t, "keep", c.kept.items);
    if (c.edits() > 0) {
        t.addName("edits");
        t.add("[");
        addEdits(&t, "content", c.texts);
        addEdits(&t, "metadata", c.metadata);
        addEdits(&t, "priority", c.priorities);
        t.add("]");
    }
    if (c.scores.rows.items.len > 0) {
        t.addName("scores");
        t.add("[");
        addEdits(&t, "score", c.scores);
        t.add("]");
    }
    if (c.items.items.len > 0) {
        t.addName("items");
        addItems(&t, c.items.items);
    }
    if (c.ordered.items.len > 0) addRows(&t, "order", c.ordered.items);
    t.add("}");
    return t.bytes();
}

fn addRows(t: *Text, name: []const u8, rows: []const u32) void {
    t.addName(name);
    t.add("[");
    for (rows) |row| {
        t.addComma();
        t.addInt(row);
    }
    t.add("]");
}

fn addEdits(t: *Text, name: []const u8, edits: anytype) void {
    for (edits.rows.items, edits.values.items) |row, value| {
        t.addComma();
        t.add("{");
        t.addName("row");
        t.addInt(row);
        t.addName(name);
        switch (@TypeOf(value)) {
            []const u8 => t.addString(value),
            []const Field => addFields(t, value),
            u32 => t.addInt(value),
            else => t.addFloat(value),
        }
        t.add("}");
    }
}

fn addFields(t: *Text, fields: []const Field) void {
    t.add("{");
    for (fields) |f| {
        t.addName(f.key);
        t.addValue(f.value);
    }
    t.add("}");
}

/// Adds new items as a JSON list, for memory and other replies that contain items.
pub fn addItems(t: *Text, items: []const NewItem) void {
    t.add("[");
    for (items) |it| {
        t.addComma();
        t.add("{");
        t.addName("content");
        t.addString(it.content);
        t.addName("score");
        t.addFloat(it.score);
        inline for (.{ "key", "source" }) |name| {
            if (@field(it, name).len > 0) {
                t.addName(name);
                t.addString(@field(it, name));
            }
        }
        if (it.priority > 0) {
            t.addName("priority");
            t.addInt(it.priority);
        }
        if (it.metadata.len > 0) {
            t.addName("metadata");
            addFields(t, it.metadata);
        }
        const at = it.created_at orelse time.none;
        if (at != time.none) {
            t.addName("created_at");
            t.add("\"");
            time.write(t, at);
            t.add("\"");
        }
        t.add("}");
    }
    t.add("]");
}
