const std = @import("std");
const memory = @import("memory.zig");
const number = @import("number.zig");
const Value = @import("json.zig").Value;

/// Text under construction, mostly JSON.
pub const Text = struct {
    list: std.ArrayList(u8) = .empty,

    pub fn bytes(t: *const Text) []const u8 {
        return t.list.items;
    }

    /// Adds text as it is.
    pub fn add(t: *Text, text: []const u8) void {
        t.list.appendSlice(memory.allocator, text) catch @trap();
    }

    pub fn addByte(t: *Text, b: u8) void {
        t.add(&.{b});
    }

    pub fn addInt(t: *Text, i: i64) void {
        var buffer: [20]u8 = undefined;
        var at: usize = buffer.len;
        var rest = @abs(i);
        while (true) {
            at -= 1;
            buffer[at] = @intCast('0' + rest % 10);
            rest /= 10;
            if (rest == 0) break;
        }
        if (i < 0) t.addByte('-');
        t.add(buffer[at..]);
    }

    /// Adds an integer, padded with zeros to a number of digits.
    pub fn addPadded(t: *Text, i: i64, digits: usize) void {
        var limit: i64 = 1;
        for (1..digits) |_| {
            limit *= 10;
            if (i < limit) t.addByte('0');
        }
        t.addInt(i);
    }

    /// Adds a number with a fraction or an exponent, so that it reads back as the same
    /// bits. A number that is not finite becomes null.
    pub fn addFloat(t: *Text, f: f64) void {
        if (!std.math.isFinite(f)) return t.add("null");
        if (std.math.signbit(f)) t.addByte('-');
        if (f == 0) return t.add("0.0");
        const d = number.split(@abs(f));
        var written: Text = .{};
        written.addInt(@intCast(d.digits));
        const digits = std.mem.trimEnd(u8, written.bytes(), "0");
        const point = 17 - d.ten; // f is 0.digits * 10^point
        if (point < -4 or point > 17) {
            t.add(digits[0..1]);
            if (digits.len > 1) t.addByte('.');
            t.add(digits[1..]);
            t.addByte('e');
            return t.addInt(point - 1);
        }
        if (point <= 0) {
            t.add("0.0000"[0..@intCast(2 - point)]);
            return t.add(digits);
        }
        const whole: usize = @intCast(point);
        t.add(digits[0..@min(whole, digits.len)]);
        for (digits.len..@max(whole, digits.len)) |_| t.addByte('0');
        t.addByte('.');
        t.add(if (whole < digits.len) digits[whole..] else "0");
    }

    /// Adds a JSON string.
    pub fn addString(t: *Text, text: []const u8) void {
        var done: usize = 0;
        t.addByte('"');
        for (text, 0..) |b, i| {
            if (b >= 32 and b != '"' and b != '\\') continue;
            t.add(text[done..i]);
            done = i + 1;
            if (b < 32) {
                const hex = "0123456789abcdef";
                t.add("\\u00");
                t.add(&.{ hex[b >> 4], hex[b & 15] });
            } else t.add(&.{ '\\', b });
        }
        t.add(text[done..]);
        t.addByte('"');
    }

    /// Adds the name of a member, and the comma before it.
    pub fn addName(t: *Text, name: []const u8) void {
        t.addComma();
        t.addString(name);
        t.addByte(':');
    }

    /// Adds the comma before an element that is not the first.
    pub fn addComma(t: *Text) void {
        const last = t.list.getLastOrNull() orelse return;
        if (last != '{' and last != '[' and last != ':') t.addByte(',');
    }

    /// Adds any value.
    pub fn addValue(t: *Text, v: Value) void {
        switch (v) {
            .null => t.add("null"),
            .bool => |b| t.add(if (b) "true" else "false"),
            .int => |i| t.addInt(i),
            .float => |f| t.addFloat(f),
            .string => |s| t.addString(s),
            .json => |json| t.add(json),
        }
    }
};
