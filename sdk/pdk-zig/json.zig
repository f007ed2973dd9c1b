const std = @import("std");
const memory = @import("memory.zig");
const number = @import("number.zig");

/// A metadata value. json is the text of a list or an object.
pub const Value = union(enum) { null, bool: bool, int: i64, float: f64, string: []const u8, json: []const u8 };

/// The text of one JSON value, which is decoded on use. It is empty if there is no value.
pub const Json = struct {
    text: []const u8 = "",

    /// The value at the start of a text, or null if it does not end.
    pub fn parse(text: []const u8) ?Json {
        const from = skipSpace(text, 0);
        const end = skip(text, from) orelse return null;
        return .{ .text = text[from..end] };
    }

    fn starts(v: Json, c: u8) bool {
        return v.text.len > 0 and v.text[0] == c;
    }

    pub fn isObject(v: Json) bool {
        return v.starts('{');
    }

    /// The member of an object. It is empty if there is none.
    pub fn get(v: Json, name: []const u8) Json {
        var it = v.each();
        while (it.next()) |m| {
            if (std.mem.eql(u8, m.key.string() orelse "", name)) return m.value;
        }
        return .{};
    }

    /// The elements of a list, or the members of an object.
    pub fn each(v: Json) Iterator {
        const open = v.text.len > 1 and (v.starts('[') or v.starts('{'));
        return .{ .text = v.text, .at = if (open) 1 else null };
    }

    pub fn count(v: Json) usize {
        var n: usize = 0;
        var it = v.each();
        while (it.next()) |_| n += 1;
        return n;
    }

    pub fn string(v: Json) ?[]const u8 {
        if (v.text.len < 2 or !v.starts('"')) return null;
        const raw = v.text[1 .. v.text.len - 1];
        if (std.mem.indexOfScalar(u8, raw, '\\') == null) return raw;
        const to = memory.alloc(u8, raw.len);
        return to[0..unescape(to, raw)];
    }

    pub fn number(v: Json) ?f64 {
        return switch (v.value()) {
            .int => |i| @floatFromInt(i),
            .float => |f| f,
            else => null,
        };
    }

    pub fn int(v: Json) ?i64 {
        return switch (v.value()) {
            .int => |i| i,
            else => null,
        };
    }

    pub fn boolean(v: Json) ?bool {
        return switch (v.value()) {
            .bool => |b| b,
            else => null,
        };
    }

    /// A number without fraction and exponent is int if it fits.
    pub fn value(v: Json) Value {
        if (v.text.len == 0) return .null;
        return switch (v.text[0]) {
            '"' => .{ .string = v.string() orelse "" },
            '{', '[' => .{ .json = v.text },
            't', 'f' => .{ .bool = v.text[0] == 't' },
            'n' => .null,
            else => switch (parseNumber(v.text) orelse return .null) {
                .int => |i| .{ .int = i },
                .float => |f| .{ .float = f },
            },
        };
    }
};

const parseNumber = number.parse;

pub const Member = struct { key: Json, value: Json };

pub const Iterator = struct {
    text: []const u8,
    at: ?usize,

    /// The next element. In a list its key is empty.
    pub fn next(it: *Iterator) ?Member {
        const first = it.part() orelse return null;
        const at = it.at orelse return null;
        if (at >= it.text.len or it.text[at] != ':') return .{ .key = .{}, .value = first };
        return .{ .key = first, .value = it.part() orelse return null };
    }

    fn part(it: *Iterator) ?Json {
        var from = skipSpace(it.text, it.at orelse return null);
        while (from < it.text.len and (it.text[from] == ',' or it.text[from] == ':')) from = skipSpace(it.text, from + 1);
        const end = skip(it.text, from) orelse {
            it.at = null;
            return null;
        };
        it.at = skipSpace(it.text, end);
        return .{ .text = it.text[from..end] };
    }
};

fn skipSpace(text: []const u8, from: usize) usize {
    return std.mem.indexOfNonePos(u8, text, from, " \n\t\r") orelse text.len;
}

/// Returns the position of the first quote or backslash at or after from, or the end. It
/// looks at eight bytes at a time, because most of a request is text.
fn plain(text: []const u8, from: usize) usize {
    const ones: u64 = 0x0101010101010101;
    var at = from;
    while (at + 8 <= text.len) : (at += 8) {
        const word: u64 = @bitCast(text[at..][0..8].*);
        const quote = word ^ ones * '"';
        const slash = word ^ ones * '\\';
        if (((quote -% ones) & ~quote | (slash -% ones) & ~slash) & ones << 7 != 0) break;
    }
    while (at < text.len and text[at] != '"' and text[at] != '\\') at += 1;
    return at;
}

/// Where long values of the request document end, so that a search for a member does not read
/// its long neighbours each time. Only the document is in it: nothing changes it during a call.
/// Of two values with the same place the longer one stays.
var ends: [64]struct { at: usize = 0, end: usize = 0 } = @splat(.{});
var document: []const u8 = "";

/// Names the request document of the call that begins.
pub fn index(text: []const u8) void {
    ends = @splat(.{});
    document = text;
}

/// Like scan, with what earlier calls found.
fn skip(text: []const u8, from: usize) ?usize {
    const base = @intFromPtr(text.ptr);
    const at = base + from;
    if (at -% @intFromPtr(document.ptr) >= document.len) return scan(text, from);
    const known = &ends[@as(u32, @truncate(at)) *% 0x9e3779b1 >> 26];
    if (known.at == at and known.end <= base + text.len) return known.end - base;
    const end = scan(text, from) orelse return null;
    if (end - from >= 64 and end - from > known.end - known.at) known.* = .{ .at = at, .end = base + end };
    return end;
}

/// Returns the end of the value that begins at from, or null.
fn scan(text: []const u8, from: usize) ?usize {
    var depth: usize = 0;
    var at = from;
    while (true) {
        if (at >= text.len) return null;
        const c = text[at];
        at += 1;
        switch (c) {
            '"' => {
                at = plain(text, at);
                while (at < text.len and text[at] != '"') at = plain(text, @min(at + 2, text.len));
                if (at >= text.len) return null;
                at += 1;
            },
            '{', '[' => depth += 1,
            '}', ']' => {
                if (depth == 0) return null;
                depth -= 1;
            },
            else => if (depth == 0) {
                while (at < text.len and text[at] > ' ' and text[at] != ',' and text[at] != '}' and text[at] != ']') at += 1;
            },
        }
        if (depth == 0) return at;
    }
}

/// Decodes the inside of a JSON string into to, which has room for as many bytes.
pub fn unescape(to: []u8, raw: []const u8) usize {
    var n: usize = 0;
    var at: usize = 0;
    while (at < raw.len) {
        const end = plain(raw, at);
        @memcpy(to[n..][0 .. end - at], raw[at..end]);
        n += end - at;
        at = end;
        if (at == raw.len) break;
        const c = raw[at];
        at += 1;
        if (c != '\\' or at == raw.len) {
            to[n] = c;
            n += 1;
            continue;
        }
        const escaped = raw[at];
        at += 1;
        if (escaped == 'u' and raw.len - at >= 4) {
            n += encode(to[n..], rune(raw, &at));
            continue;
        }
        to[n] = switch (escaped) {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => 8,
            'f' => 12,
            else => escaped,
        };
        n += 1;
    }
    return n;
}

/// Reads the four digits after \u, and the other half of a surrogate pair.
fn rune(raw: []const u8, at: *usize) u21 {
    const u = hex(raw[at.*..]);
    at.* += 4;
    const rest = raw[at.*..];
    if (u >> 10 == 0x36 and rest.len >= 6 and rest[0] == '\\' and rest[1] == 'u') {
        const low = hex(rest[2..]);
        if (low >> 10 == 0x37) {
            at.* += 6;
            return 0x10000 + (@as(u21, u & 0x3ff) << 10) + (low & 0x3ff);
        }
    }
    return if (u >> 11 == 0x1b) 0xfffd else u; // half of a pair
}

fn hex(text: []const u8) u16 {
    return std.fmt.parseInt(u16, text[0..4], 16) catch 0xfffd;
}

fn encode(to: []u8, c: u21) usize {
    return std.unicode.utf8Encode(c, to) catch 0;
}
