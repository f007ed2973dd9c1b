//! Times are nanoseconds since 1970. In documents they are texts of RFC 3339.

const std = @import("std");
const Text = @import("text.zig").Text;

/// No time.
pub const none = std.math.minInt(i64);

/// Reads a text of RFC 3339. Any other text gives none.
pub fn parse(text: []const u8) i64 {
    if (text.len < 20) return none;
    const month = digits(text[5..7]);
    const y = digits(text[0..4]) - @as(i64, if (month <= 2) 1 else 0);
    const m = month + @as(i64, if (month <= 2) 12 else 0);
    var seconds = digits(text[11..13]) * 3600 + digits(text[14..16]) * 60 + digits(text[17..19]);
    var ns: i64 = 0;
    var unit: i64 = 100_000_000;
    var at: usize = 19;
    if (text[at] == '.') {
        at += 1;
        while (at < text.len and text[at] >= '0' and text[at] <= '9') : (at += 1) {
            ns += unit * (text[at] - '0');
            unit = @divTrunc(unit, 10);
        }
    }
    if (text.len - at >= 6) {
        const offset = digits(text[at + 1 ..][0..2]) * 3600 + digits(text[at + 4 ..][0..2]) * 60;
        seconds -= if (text[at] == '-') -offset else offset;
    }
    const days = 365 * y + @divTrunc(y, 4) - @divTrunc(y, 100) + @divTrunc(y, 400) +
        @divTrunc(153 * (m - 3) + 2, 5) + digits(text[8..10]) - 1 - 719_468;
    // The product may exceed the range by less than ns takes away again.
    return (days * 86_400 + seconds) *% 1_000_000_000 +% ns;
}

fn digits(text: []const u8) i64 {
    var v: i64 = 0;
    for (text) |c| v = v * 10 + (c -% '0');
    return v;
}

/// Adds a time as text of RFC 3339.
pub fn write(t: *Text, time: i64) void {
    const seconds = @mod(@divFloor(time, 1_000_000_000), 86_400);
    const days = @divFloor(time, 86_400_000_000_000) + 719_468;
    const era = @divTrunc(days, 146_097);
    const doe = @rem(days, 146_097);
    const yoe = @divTrunc(doe - @divTrunc(doe, 1460) + @divTrunc(doe, 36_524) - @divTrunc(doe, 146_096), 365);
    const doy = doe - (365 * yoe + @divTrunc(yoe, 4) - @divTrunc(yoe, 100));
    const mp = @divTrunc(5 * doy + 2, 153);
    const month = if (mp < 10) mp + 3 else mp - 9;
    const parts = [_]i64{
        yoe + era * 400 + @intFromBool(month <= 2), month,                            doy - @divTrunc(153 * mp + 2, 5) + 1,
        @divTrunc(seconds, 3600),                   @mod(@divTrunc(seconds, 60), 60), @mod(seconds, 60),
    };
    for (parts, "--T::.") |part, after| {
        t.addPadded(part, 2);
        t.addByte(after);
    }
    t.addPadded(@mod(time, 1_000_000_000), 9);
    t.addByte('Z');
}
