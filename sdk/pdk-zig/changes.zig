const std = @import("std");
const memory = @import("memory.zig");
const Value = @import("json.zig").Value;
const Request = @import("request.zig").Request;

/// A metadata value with its key.
pub const Field = struct { key: []const u8, value: Value };

/// An item that a plugin adds. Only content is required.
pub const NewItem = struct {
    /// Tells items of one plugin apart. If it is empty, the content does.
    key: []const u8 = "",
    content: []const u8,
    /// Where the item comes from. Empty means the default of the step.
    source: []const u8 = "",
    /// From 0 to 1.
    score: f64 = 0,
    /// From 1 to 10. 0 means the default of the source.
    priority: u32 = 0,
    metadata: []const Field = &.{},
    /// When the item was made, in nanoseconds since 1970.
    created_at: ?i64 = null,
};

/// Rows, each with its new value.
pub fn Edits(comptime T: type) type {
    return struct {
        rows: std.ArrayList(u32) = .empty,
        values: std.ArrayList(T) = .empty,

        fn add(e: *@This(), row: usize, value: T) void {
            push(&e.rows, row);
            e.values.append(memory.allocator, value) catch @trap();
        }
    };
}

fn push(rows: *std.ArrayList(u32), row: usize) void {
    rows.append(memory.allocator, @intCast(row)) catch @trap();
}

/// Copies fields, because the caller's may lie on the stack.
fn copy(fields: []const Field) []const Field {
    const to = memory.alloc(Field, fields.len);
    @memcpy(to, fields);
    return to;
}

/// The changes that a function makes to the rows of its request. What is not mentioned
/// stays as it is. Text must outlive the function: from the request, from
/// anchor.alloc, or a literal.
pub const Changes = struct {
    rows: usize,
    keeps: bool = false,
    kept: std.ArrayList(u32) = .empty,
    texts: Edits([]const u8) = .{},
    metadata: Edits([]const Field) = .{},
    priorities: Edits(u32) = .{},
    scores: Edits(f64) = .{},
    items: std.ArrayList(NewItem) = .empty,
    ordered: std.ArrayList(u32) = .empty,

    /// Drops all rows but those that keep names.
    pub fn keepNone(c: *Changes) void {
        c.keeps = true;
    }

    /// Keeps a row. Calls name rows in ascending order. Rows that no call names are dropped.
    pub fn keep(c: *Changes, row: usize) void {
        c.keeps = true;
        push(&c.kept, row);
    }

    /// Replaces the text of a row.
    pub fn setText(c: *Changes, row: usize, text: []const u8) void {
        c.texts.add(row, text);
    }

    /// Replaces all metadata of a row.
    pub fn setMetadata(c: *Changes, row: usize, fields: []const Field) void {
        c.metadata.add(row, copy(fields));
    }

    /// The metadata of a row as fields, followed by room for more.
    pub fn fieldsOf(r: *const Request, row: usize, more: []const Field) []Field {
        const first, const end = r.metadata.entries(row);
        const fields = memory.alloc(Field, end - first + more.len);
        for (first..end, fields[0 .. end - first]) |e, *f| f.* = .{ .key = r.metadata.key(e), .value = r.metadata.value(e) };
        @memcpy(fields[end - first ..], more);
        return fields;
    }

    /// Replaces the priority of a row, 1 to 10.
    pub fn setPriority(c: *Changes, row: usize, priority: u32) void {
        c.priorities.add(row, priority);
    }

    /// Replaces the score of a row, 0 to 1.
    pub fn setScore(c: *Changes, row: usize, score: f64) void {
        c.scores.add(row, score);
    }

    /// Adds an item and returns its row number, for order.
    pub fn add(c: *Changes, item: NewItem) usize {
        var copied = item;
        copied.metadata = copy(item.metadata);
        c.items.append(memory.allocator, copied) catch @trap();
        return c.rows + c.items.items.len - 1;
    }

    /// Appends a row to the new order. It must name all rows that are kept, new items included.
    pub fn order(c: *Changes, row: usize) void {
        push(&c.ordered, row);
    }

    pub fn edits(c: *const Changes) usize {
        return c.texts.rows.items.len + c.metadata.rows.items.len + c.priorities.rows.items.len;
    }

    pub fn isEmpty(c: *const Changes) bool {
        return !c.keeps and c.edits() + c.scores.rows.items.len + c.items.items.len + c.ordered.items.len == 0;
    }

    /// Returns the mistake that only one of the two lanes could express, or null.
    pub fn mistake(c: *const Changes) ?[]const u8 {
        for (c.scores.values.items) |s| if (!(s >= 0 and s <= 1)) return bad_score;
        for (c.items.items) |it| if (!(it.score >= 0 and it.score <= 1)) return bad_score;
        for (c.metadata.values.items) |fields| if (twice(fields)) return same_key;
        for (c.items.items) |it| if (twice(it.metadata)) return same_key;
        return null;
    }
};

/// Reports whether a key occurs twice.
fn twice(fields: []const Field) bool {
    for (fields, 0..) |f, i| {
        for (fields[0..i]) |other| if (std.mem.eql(u8, f.key, other.key)) return true;
    }
    return false;
}

const same_key = "reply: a metadata key twice in a row";

const bad_score = "reply: a score that is not within 0..1";
