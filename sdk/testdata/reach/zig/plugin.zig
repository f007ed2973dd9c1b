//! Uses everything that the host offers, and reads columns that its manifest does not name.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");
const services = @import("services.zig");
const host = anchor.host;

comptime {
    anchor.plugin(.{ .classify = classify, .filter = keep, .rerank = services.rate });
}

fn path(url: []const u8, end: []const u8) []const u8 {
    return std.mem.concat(anchor.allocator, u8, &.{ url, end }) catch @trap();
}

fn classify(request: anchor.Json, reply: *anchor.Text) anchor.Error!void {
    const question = request.get("query").get("query_str").string() orelse "";
    var label: anchor.Text = .{};
    if (request.get("settings").get("url").string()) |url| try use(url, question, &label) else try services.label(question, &label);
    reply.add("{");
    reply.addName("label");
    reply.addString(label.bytes());
    reply.add("}");
}

fn use(url: []const u8, question: []const u8, label: *anchor.Text) anchor.Error!void {
    const bytes = "\x00\xffz";
    const one = host.http(.{ .method = "POST", .url = path(url, "/echo"), .headers = "{\"X-Word\":\"wörd\"}", .body = bytes });
    if (!std.mem.eql(u8, one.body, bytes)) return anchor.fail("bytes");
    const slow: host.Request = .{ .url = path(url, "/never"), .timeout_ms = 50 };
    const late = host.http(slow);
    const answers = host.httpBatch(&.{ .{ .method = "POST", .url = path(url, "/echo"), .body = "{\"n\":1}", .timeout_ms = 60000 }, slow });
    if (host.kvGet("k") != null or !host.kvSet("k", "stored")) return anchor.fail("kv");
    const stored = host.kvGet("k") orelse "";
    _ = host.kvSet("k", "");
    const n = (anchor.Json.parse(answers[0].body) orelse return anchor.fail("no JSON")).get("n").int() orelse 0;
    const tokens = host.countTokens(question);
    for ([_]i64{ one.status, -1, late.status, answers[0].status, n, answers[1].status }) |number| {
        if (number < 0) label.add(one.headers.get("x-word").string() orelse "") else label.addInt(number);
        label.add(" ");
    }
    label.add(answers[1].failure);
    label.add(" ");
    label.add(stored);
    label.add(" ");
    label.addInt(@intCast(tokens));
}

fn keep(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    c.keepNone();
    for (0..r.rows) |row| {
        if (r.meta(row, "drop") == null and !std.mem.eql(u8, r.sources.at(row), "tool") and r.embedding(row) == null and r.text(row).len > 0) c.keep(row);
    }
}

test {
    _ = services;
}
