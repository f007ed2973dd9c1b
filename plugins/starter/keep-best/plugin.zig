//! Keeps the items whose score comes close to the best one.

const anchor = @import("anchor/anchor.zig");

comptime {
    anchor.plugin(.{ .filter = filter });
}

fn filter(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    const share = r.setting("share").number() orelse 0.5;
    var best: f64 = 0;
    for (r.scores) |score| best = @max(best, score);
    c.keepNone();
    for (r.scores, 0..) |score, row| if (score >= share * best) c.keep(row);
}
