//! cited-list formats the window as a numbered list, so that an answer can name its sources.

const anchor = @import("anchor/anchor.zig");

pub const panic = anchor.panic;

comptime {
    anchor.plugin(.{ .format = list });
}

fn list(request: anchor.Json, reply: *anchor.Text) anchor.Error!void {
    var output: anchor.Text = .{};
    var items = request.get("items").each();
    var n: i64 = 1;
    while (items.next()) |item| : (n += 1) {
        output.add("[");
        output.addInt(n);
        output.add("] ");
        output.add(item.value.get("content").string() orelse "");
        output.add("\n");
    }
    reply.add("{\"format_type\":\"cited-list\",\"output\":");
    reply.addString(output.bytes());
    reply.add("}");
}
