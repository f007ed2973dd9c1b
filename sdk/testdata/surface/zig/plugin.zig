//! Uses every column and every kind of change.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");

comptime {
    anchor.plugin(.{ .process = process });
}

fn change(r: *const anchor.Request, c: *anchor.Changes, row: usize) void {
    const text = r.text(row);
    c.keep(row);
    c.setMetadata(row, anchor.Changes.fieldsOf(r, row, &.{
        .{ .key = "a row", .value = .{ .int = @intCast(row) } },
        .{ .key = "half", .value = .{ .float = r.scores[row] / 2 } },
        .{ .key = "first", .value = .{ .bool = row == 0 } },
        .{ .key = "was", .value = .{ .string = text } },
    }));
    c.setText(row, std.mem.concat(anchor.allocator, u8, &.{ r.ids.at(row), " ", text, "/", r.sources.at(row) }) catch @trap());
    c.setPriority(row, 11 - r.priorities[row]);
    c.setScore(row, (1 - r.scores[row]) * (r.setting("factor").number() orelse 1));
}

fn process(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    if (!(r.setting("loud").boolean() orelse false)) return anchor.fail("not loud");
    for (0..r.rows) |row| if (r.meta(row, "drop") == null) change(r, c, row);
    const suffix = r.setting("suffix").string() orelse "";
    c.order(c.add(.{
        .key = "k",
        .content = std.mem.concat(anchor.allocator, u8, &.{ r.query, "\n", suffix }) catch @trap(),
        .score = 0.25,
        .priority = 3,
        .metadata = &.{
            .{ .key = "left", .value = .{ .int = r.tokens_left } },
            .{ .key = "tokens", .value = .{ .int = r.token_counts[0] } },
            .{ .key = "tenth", .value = .{ .float = 0.1 } },
        },
        .created_at = r.created_at[0],
    }));
    var row = r.rows;
    while (row > 0) {
        row -= 1;
        if (r.meta(row, "drop") == null) c.order(row);
    }
}
