//! Scores items by the words they share with the query, rare words first.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");

comptime {
    anchor.plugin(.{ .rerank = rerank });
}

const max_terms = 32;

/// The tokens of a text: runs of ASCII letters and digits and of other scripts.
const Tokens = struct {
    rest: []const u8,

    fn next(t: *Tokens) ?[]const u8 {
        while (t.rest.len > 0 and !inWord(t.rest[0])) t.rest = t.rest[1..];
        var n: usize = 0;
        while (n < t.rest.len and inWord(t.rest[n])) n += 1;
        defer t.rest = t.rest[n..];
        return if (n == 0) null else t.rest[0..n];
    }
};

fn inWord(c: u8) bool {
    return std.ascii.isAlphanumeric(c) or c >= 0x80;
}

/// The number of the term that a token is, ASCII letters compared without case.
fn find(terms: []const []const u8, token: []const u8) ?usize {
    for (terms, 0..) |term, t| if (std.ascii.eqlIgnoreCase(term, token)) return t;
    return null;
}

fn rerank(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    var buffer: [max_terms][]const u8 = undefined;
    var terms: [][]const u8 = buffer[0..0];
    var tokens: Tokens = .{ .rest = r.query };
    while (tokens.next()) |token| {
        if (terms.len == max_terms or find(terms, token) != null) continue;
        terms = buffer[0 .. terms.len + 1];
        terms[terms.len - 1] = token;
    }

    var df: [max_terms]f64 = @splat(0); // items that hold each term
    const tfs = anchor.alloc(f64, r.rows * terms.len); // of each item and term
    const lens = anchor.alloc(f64, r.rows); // tokens of each item
    var total: f64 = 0;
    @memset(tfs, 0);
    for (lens, 0..) |*len, row| {
        tokens = .{ .rest = r.text(row) };
        len.* = 0;
        while (tokens.next()) |token| : (len.* += 1) {
            const t = find(terms, token) orelse continue;
            const tf = &tfs[row * terms.len + t];
            if (tf.* == 0) df[t] += 1;
            tf.* += 1;
        }
        total += len.*;
    }
    if (terms.len == 0 or total == 0) return error.NoChange;

    const count: f64 = @floatFromInt(r.rows);
    for (lens, 0..) |len, row| {
        const norm = 1.2 * (0.25 + 0.75 * len / (total / count));
        var sum: f64 = 0;
        var weights: f64 = 0;
        for (tfs[row * terms.len ..][0..terms.len], df[0..terms.len]) |tf, n| {
            const weight = 1 - n / (count + 1);
            sum += weight * tf / (tf + norm);
            weights += weight;
        }
        c.setScore(row, sum / weights);
    }
}
