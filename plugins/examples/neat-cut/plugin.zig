//! Cuts long texts at the end of a sentence, a word or a piece of code.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");
const prose = @import("prose.zig");
const code = @import("code.zig");

pub const panic = anchor.panic;

comptime {
    anchor.plugin(.{ .process = process });
}

fn process(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    const most = std.math.cast(usize, r.setting("max_chars").int() orelse 1200) orelse 1200;
    const least = std.math.clamp(r.setting("least").number() orelse 0.5, 0, 1);
    const kind = r.setting("kind").string() orelse "auto";
    const mark = r.setting("mark").string() orelse " …";
    for (0..r.rows) |row| {
        const text = r.text(row);
        const end = prose.offset(text, most); // bytes of the first max_chars characters
        if (end == text.len) continue;
        const from = prose.offset(text[0..end], @intFromFloat(@as(f64, @floatFromInt(most)) * least));
        const is_code = std.mem.eql(u8, kind, "code") or std.mem.eql(u8, kind, "auto") and code.looksLike(text[0..end]);
        const at = if (is_code) code.cut(text, from, end) else prose.cut(text, from, end);
        c.setText(row, ended(std.mem.trimEnd(u8, text[0..at], &std.ascii.whitespace), mark));
    }
}

/// The text with the mark, and with the end of a block of Markdown that the cut opened.
fn ended(text: []const u8, mark: []const u8) []const u8 {
    var open = false;
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |line| {
        if (std.mem.startsWith(u8, std.mem.trimStart(u8, line, " "), "```")) open = !open;
    }
    const close = "\n```";
    const whole = anchor.alloc(u8, text.len + mark.len + if (open) close.len else 0);
    @memcpy(whole[0..text.len], text);
    @memcpy(whole[text.len..][0..mark.len], mark);
    if (open) @memcpy(whole[text.len + mark.len ..], close);
    return whole;
}
