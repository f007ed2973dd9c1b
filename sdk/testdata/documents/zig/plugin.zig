//! Uses init, an operation of the JSON lane alone, and the host.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");

comptime {
    anchor.plugin(.{ .init = init, .classify = classify });
}

var prefix: []const u8 = "";

fn init(request: anchor.Json, _: *anchor.Text) anchor.Error!void {
    prefix = request.get("settings").get("prefix").string() orelse return anchor.fail("no prefix");
    anchor.keepMemory();
}

fn classify(request: anchor.Json, reply: *anchor.Text) anchor.Error!void {
    const host = anchor.host;
    const query = request.get("query").get("query_str").string() orelse "";
    const suffix = request.get("settings").get("suffix").string() orelse "";
    const mode = host.config("mode") orelse return anchor.fail("config");
    if (host.config("absent") != null or host.kvGet("k") != null) return anchor.fail("there is something");
    if (!host.kvSet("k", query)) return anchor.fail("kv");
    var label: anchor.Text = .{};
    label.add(prefix);
    label.add(mode);
    label.add(":");
    label.add(host.kvGet("k") orelse "");
    label.add(":");
    label.addInt(@intCast(host.countTokens(query)));
    label.add(suffix);
    host.logInfo(suffix);
    _ = host.kvSet("k", "");
    reply.add("{");
    reply.addName("label");
    reply.addString(label.bytes());
    reply.add("}");
}
