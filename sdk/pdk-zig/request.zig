const std = @import("std");
const host = @import("host.zig");
const json = @import("json.zig");
const Json = json.Json;
const Value = json.Value;

/// The columns that report that they are read although they were not sent.
pub const Column = enum(u8) { none, id, text, source, metadata, embedding };

var told = [_]bool{false} ** std.enums.values(Column).len;

/// Forgets what was said in the call before.
pub fn begin() void {
    @memset(&told, false);
}

/// Says once in a call that the author reads a column that was not sent. The host knows the
/// manifest, and warns if it does not name the column.
fn unsent(column: Column) void {
    @branchHint(.cold);
    if (column == .none or told[@intFromEnum(column)]) return;
    told[@intFromEnum(column)] = true;
    switch (column) {
        inline else => |c| host.logWarn("anchor: column " ++ @tagName(c) ++ " was not sent"),
    }
}

/// A column of text. The text of row i is bytes[offsets[i]..offsets[i + 1]].
pub const Strings = struct {
    offsets: []const u32 = &.{},
    bytes: []const u8 = "",
    column: Column = .none,

    pub fn at(s: Strings, i: usize) []const u8 {
        if (s.offsets.len == 0) {
            unsent(s.column);
            return "";
        }
        return s.bytes[s.offsets[i]..s.offsets[i + 1]];
    }
};

/// A metadata column, as in a batch.
pub const Metadata = struct {
    cells: []align(4) const u64 = &.{},
    rows: []const u32 = &.{},
    keys: Strings = .{},
    entry_keys: []const u32 = &.{},
    kinds: []const u8 = "",
    values: []const u8 = "",

    /// The entries of a row.
    pub fn entries(m: *const Metadata, row: usize) struct { usize, usize } {
        if (m.rows.len > 0) return .{ m.rows[row], m.rows[row + 1] };
        unsent(.metadata);
        return .{ 0, 0 };
    }

    pub fn key(m: *const Metadata, entry: usize) []const u8 {
        return m.keys.at(m.entry_keys[entry]);
    }

    pub fn value(m: *const Metadata, entry: usize) Value {
        const cell = m.cells[entry];
        return switch (m.kinds[entry]) {
            1 => .{ .bool = cell != 0 },
            2 => .{ .int = @bitCast(cell) },
            3 => .{ .float = @bitCast(cell) },
            4 => .{ .string = m.text(cell) },
            5 => .{ .json = m.text(cell) },
            else => .null,
        };
    }

    fn text(m: *const Metadata, cell: u64) []const u8 {
        return m.values[@as(u32, @truncate(cell))..][0..@intCast(cell >> 32)];
    }
};

/// A request of the host: the rows, the query and how much is wanted. Rows are
/// numbered from 0. It is the same in both lanes. Columns that were not sent
/// are empty.
pub const Request = struct {
    rows: usize = 0,
    ids: Strings = .{ .column = .id },
    texts: Strings = .{ .column = .text },
    sources: Strings = .{ .column = .source },
    scores: []const f64 = &.{},
    priorities: []const u32 = &.{},
    token_counts: []const u32 = &.{},
    /// Nanoseconds since 1970, or the least i64 for none.
    created_at: []const i64 = &.{},
    metadata: Metadata = .{},
    query: []const u8 = "",
    query_metadata: Json = .{},
    chat_history: Json = .{},
    query_embedding: []const f32 = &.{},
    /// How many numbers the vectors of the rows have, and all of them. Null: they were not sent.
    dimension: usize = 0,
    vectors: ?[]const f32 = null,
    settings: Json = .{},
    /// The most items wanted, and the room in the window in tokens. 0 means not stated.
    top_k: u32 = 0,
    tokens_left: u32 = 0,

    pub fn text(r: *const Request, row: usize) []const u8 {
        return r.texts.at(row);
    }

    /// The vector of a row, or null if it has none.
    pub fn embedding(r: *const Request, row: usize) ?[]const f32 {
        const all = r.vectors orelse {
            unsent(.embedding);
            return null;
        };
        const vector = all[row * r.dimension ..][0..r.dimension];
        for (vector) |f| if (f != 0) return vector;
        return null;
    }

    /// A setting of the step. It is empty if it is not set.
    pub fn setting(r: *const Request, name: []const u8) Json {
        return r.settings.get(name);
    }

    /// A metadata value of a row, or null if there is none.
    pub fn meta(r: *const Request, row: usize, key: []const u8) ?Value {
        const first, const end = r.metadata.entries(row);
        for (first..end) |e| {
            if (std.mem.eql(u8, r.metadata.key(e), key)) return r.metadata.value(e);
        }
        return null;
    }
};
