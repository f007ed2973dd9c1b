//! Keeps the items that hold any, or all, of the keywords.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");

comptime {
    anchor.plugin(.{ .filter = filter });
}

fn filter(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    const keywords = r.setting("keywords").string() orelse "";
    const all = std.mem.eql(u8, r.setting("match").string() orelse "any", "all");
    var words = std.mem.tokenizeScalar(u8, keywords, ' ');
    if (words.peek() == null) return error.NoChange;
    c.keepNone();
    for (0..r.rows) |row| {
        words.reset();
        if (matches(r.text(row), &words, all)) c.keep(row);
    }
}

fn matches(text: []const u8, words: *std.mem.TokenIterator(u8, .scalar), all: bool) bool {
    while (words.next()) |word| {
        if (holds(text, word) != all) return !all;
    }
    return all;
}

/// Reports whether text holds word, ASCII letters compared without case.
fn holds(text: []const u8, word: []const u8) bool {
    return std.ascii.indexOfIgnoreCase(text, word) != null;
}
