//! Converts numbers to text and back, exact to the last bit. It takes a tenth of the
//! code that the standard library would bring into a module.

const std = @import("std");

const Scaled = struct { bits: u64, exp: i32 };

/// Returns m * 2^two * 10^ten as 64 bits, the first of them set, and the power of
/// two they are to be multiplied by. The last bit is set if anything was cut
/// off. m is not 0, ten within ±400.
pub fn scale(m: u64, two: i32, ten: i32) Scaled {
    var words: [40]u32 = @splat(0);
    var left: u32 = @abs(ten);
    // Room for the quotient: 2.33 bits for each power of ten.
    const below: usize = if (ten < 0) left * 75 / 1024 + 3 else 0;
    words[below] = @truncate(m);
    words[below + 1] = @truncate(m >> 32);
    var len = below + 2;
    var rest: u64 = 0;
    while (left > 0) {
        const n = @min(left, 13);
        var five: u64 = 1;
        for (0..n) |_| five *= 5;
        left -= n;
        var carry: u64 = 0;
        if (ten > 0) {
            for (words[0..len]) |*w| {
                carry += w.* * five;
                w.* = @truncate(carry);
                carry >>= 32;
            }
            words[len] = @truncate(carry);
            len += 1;
        } else {
            var i = len;
            while (i > 0) : (carry %= five) {
                i -= 1;
                carry = carry << 32 | words[i];
                words[i] = @truncate(carry / five);
            }
            rest |= carry;
        }
        while (words[len - 1] == 0) len -= 1;
    }
    while (words[len - 1] == 0) len -= 1;
    var low: u64 = if (len > 2) words[len - 3] else 0;
    var top: u64 = @as(u64, words[len - 1]) << 32 | (if (len > 1) words[len - 2] else 0);
    const shift: u6 = @intCast(@clz(top));
    low <<= shift;
    top = top << shift | low >> 32;
    rest |= @as(u32, @truncate(low));
    for (words[0..len -| 3]) |w| rest |= w;
    const exp = two + ten + 32 * (@as(i32, @intCast(len)) - 2 - @as(i32, @intCast(below))) - shift;
    return .{ .bits = top | @intFromBool(rest != 0), .exp = exp };
}

const infinite: u64 = 0x7ff << 52;

/// Returns m * 10^ten, rounded to the nearest.
pub fn join(m: u64, ten: i32) f64 {
    if (m == 0 or ten < -400) return 0;
    if (ten > 310) return @bitCast(infinite);
    if (m >> 53 == 0 and @abs(ten) <= 22) { // both are exact: one rounding
        var p: f64 = 1;
        for (0..@abs(ten)) |_| p *= 10;
        const whole: f64 = @floatFromInt(m);
        return if (ten < 0) whole / p else whole * p;
    }
    const s = scale(m, 0, ten);
    const drop = if (s.exp < -1085) -1074 - s.exp else 11; // the first case is subnormal
    if (drop > 64) return 0;
    const wide = @as(u128, s.bits) << @intCast(64 - drop); // the kept bits, then 64 that are cut
    var kept: u64 = @truncate(wide >> 64);
    const cut: u64 = @truncate(wide);
    if (cut > 1 << 63 or (cut == 1 << 63 and kept & 1 == 1)) kept += 1;
    if (drop > 11) return @bitCast(kept); // a carry here gives the least normal number, which is right
    const carried: u6 = @intCast(kept >> 53);
    const biased: u64 = @intCast(s.exp + drop + 1075 + carried);
    if (biased >= 0x7ff) return @bitCast(infinite);
    return @bitCast(biased << 52 | (kept >> carried & ((1 << 52) - 1)));
}

pub const Number = union(enum) { int: i64, float: f64 };

/// Reads a JSON number. Null means that the text is not a number.
pub fn parse(text: []const u8) ?Number {
    const negative = text.len > 0 and text[0] == '-';
    const unsigned = text[@intFromBool(negative)..];
    const end = std.mem.indexOfAny(u8, unsigned, "eE") orelse unsigned.len;
    const point = std.mem.indexOfScalar(u8, unsigned[0..end], '.') orelse end;
    var m: u64 = 0;
    var ten: i32 = 0;
    for (unsigned[0..end], 0..) |c, i| {
        if (i == point) continue;
        if (c < '0' or c > '9') return null;
        if (i > point) ten -= 1;
        // 19 digits fit. Further digits only move the decimal point.
        if (m < 1_000_000_000_000_000_000) m = m * 10 + (c - '0') else ten += 1;
    }
    if (point == 0) return null;
    if (point == unsigned.len and ten == 0 and m <= @as(u64, std.math.maxInt(i64)) + @intFromBool(negative))
        return .{ .int = @bitCast(if (negative) 0 -% m else m) };
    if (end < unsigned.len) ten += exponent(unsigned[end + 1 ..]);
    const f = join(m, ten);
    return .{ .float = if (negative) -f else f };
}

/// The exponent after an e, limited to ±9999.
fn exponent(text: []const u8) i32 {
    var e: i32 = 0;
    for (text) |c| {
        if (c >= '0' and c <= '9' and e < 1000) e = e * 10 + (c - '0');
    }
    return if (text.len > 0 and text[0] == '-') -e else e;
}

pub const Digits = struct { digits: u64, ten: i32 };

/// Returns 17 digits and a power of ten such that digits / 10^ten rounds to f, which is
/// greater than 0. The last two digits are 0 if 15 are enough.
pub fn split(f: f64) Digits {
    const bits: u64 = @bitCast(f);
    const raw: i32 = @intCast(bits >> 52);
    const m = bits & ((1 << 52) - 1) | @as(u64, @intFromBool(raw > 0)) << 52;
    const two = @as(i32, @max(raw, 1)) - 1075;
    var ten = 16 - @divTrunc((two + 63 - @as(i32, @clz(m))) * 30103, 100_000);
    while (true) {
        const s = scale(m, two, ten);
        const shift: u6 = @intCast(-s.exp);
        const n = (s.bits >> shift) + (s.bits >> (shift - 1) & 1);
        if (n >= 100_000_000_000_000_000) {
            ten -= 1;
        } else if (n < 10_000_000_000_000_000) {
            ten += 1;
        } else {
            const fewer = (n + 50) / 100;
            if (join(fewer, 2 - ten) != f) return .{ .digits = n, .ten = ten };
            if (fewer == 1_000_000_000_000_000) return .{ .digits = 10_000_000_000_000_000, .ten = ten - 1 };
            return .{ .digits = fewer * 100, .ten = ten };
        }
    }
}

fn check(f: f64) !void {
    const d = split(f);
    try std.testing.expectEqual(f, join(d.digits, -d.ten));
    var buffer: [400]u8 = undefined;
    const text = try std.fmt.bufPrint(&buffer, "{e}", .{f});
    try std.testing.expectEqual(f, parse(text).?.float);
}

test "both ways" {
    for ([_]f64{ 1, 0.1, 1e22, 1e23, 123456, 1e16, 1e17, std.math.floatMax(f64), std.math.floatMin(f64), 5e-324, 2.2250738585072011e-308 }) |f| try check(f);
    var x: u64 = 1;
    for (0..20_000) |_| {
        x = x *% 6364136223846793005 +% 1442695040888963407;
        const f: f64 = @bitCast(x >> 1);
        if (std.math.isFinite(f)) try check(f);
        try check(@as(f64, @floatFromInt((x >> 11) + 1)) / (1 << 53));
    }
}

test "integers" {
    try std.testing.expectEqual(std.math.maxInt(i64), parse("9223372036854775807").?.int);
    try std.testing.expectEqual(std.math.minInt(i64), parse("-9223372036854775808").?.int);
    try std.testing.expectEqual(9223372036854775808.0, parse("9223372036854775808").?.float);
    for ([_][]const u8{ "", "-", "1x", ".5", "e1" }) |text| try std.testing.expectEqual(null, parse(text));
}
