//! Asks for vectors, searches and answers of models, and compares vectors.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");
const host = anchor.host;

/// Adds words and numbers, with a space after each.
fn add(to: *anchor.Text, parts: anytype) void {
    inline for (parts) |part| {
        switch (@typeInfo(@TypeOf(part))) {
            .int => to.addInt(@intCast(part)),
            .float => to.addInt(@intFromFloat(4 * part)),
            else => to.add(part),
        }
        to.add(" ");
    }
}

/// Labels a question by what the services answer.
pub fn label(question: []const u8, to: *anchor.Text) anchor.Error!void {
    if (host.embed(.document, &.{}).ok.values.len != 0) return anchor.fail("vectors of no texts");
    const v = switch (host.embed(.query, &.{ question, "" })) {
        .ok => |v| v,
        .failed => |why| return anchor.fail(why.message),
    };
    add(to, .{ v.model, v.dimension, v.at(0)[0], v.at(1)[1] });
    try addHits(to, question, v.at(0));
    try addAnswers(to, question);
}

fn addHits(to: *anchor.Text, question: []const u8, vector: []const f32) anchor.Error!void {
    const filter = [_]host.Condition{.{ .field = "path", .op = "prefix", .values = &.{ "a/", "b\"" } }};
    const hits = switch (host.search(.{ .collection = "docs", .text = question, .vector = vector, .by = "hybrid", .k = 2, .filter = &filter })) {
        .ok => |hits| hits,
        .failed => |why| return anchor.fail(why.message),
    };
    const h = hits[0];
    add(to, .{ h.text, h.document, h.title, h.path, h.chunk, h.score, h.page, h.line_from, h.line_to });
    var headings = h.headings.each();
    while (headings.next()) |m| add(to, .{m.value.string() orelse ""});
    add(to, .{ h.metadata.get("k").string() orelse "", hits[1].document, hits[1].page });
    switch (host.search(.{ .collection = "gone", .text = question })) {
        .ok => return anchor.fail("found in a collection that is gone"),
        .failed => |why| if (why.word == .not_found) add(to, .{why.message}),
    }
    add(to, .{host.search(.{ .text = question }).ok.len});
}

fn addAnswers(to: *anchor.Text, question: []const u8) anchor.Error!void {
    const talk = [_]host.Message{ .system("Be brief.\n"), .user(question), .assistant("") };
    var strict: host.LlmRequest = .{ .model = "small", .messages = &talk, .schema = "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"number\"}}}", .max_tokens = 50, .temperature = 0 };
    const both = host.llmBatch(&.{ strict, .{ .messages = &.{.user("spend")} } });
    const one = both[0].ok;
    add(to, .{ one.json.get("n").int() orelse 0, one.model, one.finish, one.input_tokens, one.output_tokens });
    if (both[1].failed.word == .budget) add(to, .{both[1].failed.message});
    const plain = switch (host.llm(.{ .messages = talk[1..2] })) {
        .ok => |a| a,
        .failed => |why| return anchor.fail(why.message),
    };
    strict.max_tokens = 0;
    strict.temperature = null;
    add(to, .{ plain.text, host.llm(strict).ok.text });
}

/// Rates items by their vectors.
pub fn rate(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    if (r.dimension != r.query_embedding.len) return anchor.fail("dimensions");
    for (0..r.rows) |row| {
        const v = r.embedding(row) orelse {
            c.setScore(row, 0.25);
            continue;
        };
        var score: f64 = 0;
        for (r.query_embedding, v) |a, b| score += a * b;
        c.setScore(row, score);
    }
}

test "a test answers for the host" {
    var to: anchor.Text = .{};
    anchor.mock.answer(.llm, "{\"responses\":[{\"json\":{\"n\":1}},{\"error\":\"budget\",\"message\":\"spent\"}]}");
    try addAnswers(&to, "q");
    try std.testing.expectEqualStrings("1   0 0 spent   ", to.bytes());
    try std.testing.expect(std.mem.startsWith(u8, anchor.mock.asked(), "{\"requests\":[{\"model\":\"small\""));
}
