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

const expectEqualStrings = std.testing.expectEqualStrings;

test "vectors are those of the texts" {
    anchor.mock.vectors(2, &.{ 1, 0.5, -0.25, 0 });
    const v = host.embed(.query, &.{ "a \"b\"", "" }).ok;
    try expectEqualStrings("{\"side\":\"query\",\"texts\":[\"a \\\"b\\\"\",\"\"]}", anchor.mock.asked());
    try std.testing.expectEqualSlices(f32, &.{ -0.25, 0 }, v.at(1));
    anchor.mock.vectors(3, &.{ 1, 0.5, -0.25 });
    try std.testing.expectEqualSlices(f32, &.{ 1, 0.5, -0.25 }, host.embed(.document, &.{"a"}).ok.at(0));
    for ([_]u32{ 0, 2, 4, std.math.maxInt(u32) }) |dimension| {
        anchor.mock.vectors(dimension, &.{ 1, 0.5, -0.25 });
        try std.testing.expectEqual(.invalid, host.embed(.query, &.{"a"}).failed.word);
    }
}

test "a search says what it says" {
    anchor.mock.answer(.search, "{\"hits\":[{\"document\":\"d\",\"chunk\":3,\"score\":0.5,\"headings\":[\"h\",\"i\"],\"metadata\":{\"k\":\"v\"}},{}]}");
    const hits = host.search(.{ .text = "q", .vector = &.{0.5}, .k = 2, .filter = &.{.{ .field = "path", .op = "prefix", .values = &.{ "a/", "b" } }} }).ok;
    try std.testing.expect(std.mem.startsWith(u8, anchor.mock.asked(), "{\"text\":\"q\",\"vector\":"));
    try std.testing.expect(std.mem.endsWith(u8, anchor.mock.asked(), ",\"dimension\":1,\"k\":2,\"filter\":[{\"field\":\"path\",\"op\":\"prefix\",\"values\":[\"a/\",\"b\"]}]}"));
    try expectEqualStrings("d", hits[0].document);
    try expectEqualStrings("v", hits[0].metadata.get("k").string().?);
    try std.testing.expectEqual(.{ 3, 2, 0, 0.5 }, .{ hits[0].chunk, hits[0].headings.count(), hits[1].chunk, hits[0].score });
}

test "one answer of several may fail" {
    anchor.mock.answer(.llm, "{\"responses\":[{\"text\":\"{}\",\"json\":{\"n\":1},\"output_tokens\":4},{\"error\":\"budget\",\"message\":\"spent\"}]}");
    const one: host.LlmRequest = .{ .messages = &.{ .system("s"), .user("u\n") }, .schema = "{\"type\":\"object\"}", .temperature = 0 };
    const answers = host.llmBatch(&.{ one, .{ .model = "m", .messages = &.{}, .max_tokens = 7 }, one });
    const written = "{\"messages\":[{\"role\":\"system\",\"content\":\"s\"},{\"role\":\"user\",\"content\":\"u\\u000a\"}],\"schema\":{\"type\":\"object\"},\"temperature\":0.0}";
    try expectEqualStrings("{\"requests\":[" ++ written ++ ",{\"model\":\"m\",\"messages\":[],\"max_tokens\":7}," ++ written ++ "]}", anchor.mock.asked());
    try std.testing.expectEqual(1, answers[0].ok.json.get("n").int().?);
    try expectEqualStrings("spent", answers[1].failed.message);
    try std.testing.expectEqual(.invalid, answers[2].failed.word);
}

test "no answer is an error and an empty one is not" {
    anchor.mock.answer(.search, "");
    try std.testing.expectEqual(.invalid, host.search(.{}).failed.word);
    anchor.mock.answer(.search, "{\"error\":\"some day\",\"message\":\"why\"}");
    try std.testing.expectEqual(.unavailable, host.search(.{}).failed.word);
    anchor.mock.answer(.search, "{}");
    try std.testing.expectEqual(0, host.search(.{}).ok.len);
    anchor.mock.answer(.embed, "{}");
    try std.testing.expectEqual(0, host.embed(.query, &.{}).ok.dimension);
    try std.testing.expectEqual(.invalid, host.embed(.query, &.{"a"}).failed.word);
    anchor.mock.answer(.llm, "{\"responses\":[{\"error\":\"not_found\"}]}");
    try std.testing.expectEqual(.not_found, host.llm(.{ .messages = &.{} }).failed.word);
}
