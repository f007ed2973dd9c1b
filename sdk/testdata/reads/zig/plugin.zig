//! Reads columns that its manifest does not name.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");

comptime {
    anchor.plugin(.{ .filter = keep });
}

fn keep(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    c.keepNone();
    for (0..r.rows) |row| {
        if (r.meta(row, "drop") == null and !std.mem.eql(u8, r.sources.at(row), "tool") and r.text(row).len > 0) c.keep(row);
    }
}
