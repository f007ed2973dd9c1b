//! Finds the parts of the documents of a folder that match the query.

const std = @import("std");
const anchor = @import("anchor/anchor.zig");
const files = @import("files.zig");
const Index = @import("index.zig").Index;
const Sections = @import("sections.zig").Sections;

comptime {
    anchor.plugin(.{ .init = init, .retrieve = retrieve });
}

const endings = [_][]const u8{ ".md", ".markdown", ".txt", ".jsonl" };
const max_file_bytes = 32 << 20;
const default_top_k = 20;

/// So many warnings name what is left out. One more counts the rest.
const max_warnings = 20;

/// The files, folders and lines that are left out.
var left_out: usize = 0;

/// The host keeps what init leaves and gives it to every call.
var index: Index = undefined;

fn init(request: anchor.Json, _: *anchor.Text) anchor.Error!void {
    const settings = request.get("settings");
    index = .{ .allocator = anchor.allocator, .options = .{
        .k1 = settings.get("k1").number() orelse 0.9,
        .b = settings.get("b").number() orelse 0.4,
        .stop = settings.get("stop_words").boolean() orelse true,
        .stems = settings.get("stem").boolean() orelse true,
    } };
    const length: usize = @intCast(settings.get("section_bytes").int() orelse 1200);
    var reader: files.Reader = .{
        .allocator = anchor.allocator,
        .endings = &endings,
        .max_bytes = max_file_bytes,
        .leave_out = leaveOut,
        .buffer = anchor.alloc(u8, 64 << 10)[0 .. 64 << 10],
    };
    const found = reader.readAll() catch |err| return unread(err);
    for (found) |file| {
        if (std.ascii.endsWithIgnoreCase(file.path, ".jsonl")) addRecords(file) else addText(file, length);
    }
    index.finish() catch @trap();
    report(found.len);
    anchor.keepMemory();
}

/// Fails with what could not be read and what to do.
fn unread(err: files.Error) anchor.Error {
    return anchor.fail(switch (err) {
        error.NoFolder => "no folder to index: mount one (grants: {files: [{host: ./docs, guest: /docs, mode: ro}]})",
        error.Unreadable => "/docs: cannot be read (allow this user to read the folder that is mounted there)",
        error.OutOfMemory => "not enough memory (raise limits.memory)",
    });
}

/// Warns that a file, folder or line is not searched.
fn leaveOut(where: []const u8, why: []const u8) void {
    left_out += 1;
    if (left_out <= max_warnings) anchor.host.logWarn(join(&.{ "/docs/", where, ": is left out, because ", why }));
}

fn report(file_count: usize) void {
    if (left_out > max_warnings) {
        var rest: anchor.Text = .{};
        rest.addInt(@intCast(left_out - max_warnings));
        rest.add(" more files, folders and lines of /docs are left out");
        anchor.host.logWarn(rest.bytes());
    }
    var line: anchor.Text = .{};
    line.addInt(@intCast(index.documents.items.len));
    line.add(" sections and records of ");
    line.addInt(@intCast(file_count));
    line.add(" files are indexed");
    if (index.documents.items.len > 0) return anchor.host.logInfo(line.bytes());
    line.add(": /docs holds no .md, .markdown, .txt or .jsonl file with text");
    anchor.host.logWarn(line.bytes());
}

fn addText(file: files.File, length: usize) void {
    if (!std.unicode.utf8ValidateSlice(file.content)) return leaveOut(file.path, "it is not UTF-8");
    var sections: Sections = .{ .rest = file.content, .length = length };
    var n: usize = 1;
    while (sections.next()) |section| : (n += 1) {
        index.add(.{
            .id = numbered(file.path, "#", n),
            .path = file.path,
            .title = section.title(anchor.allocator) catch @trap(),
            .text = section.text,
        }) catch @trap();
    }
}

/// Adds the lines {"_id": "42", "title": "…", "text": "…"} of a file.
fn addRecords(file: files.File) void {
    var lines = std.mem.splitScalar(u8, file.content, '\n');
    var n: usize = 1;
    while (lines.next()) |untrimmed| : (n += 1) {
        const line = std.mem.trim(u8, untrimmed, " \t\r");
        if (line.len == 0) continue;
        const where = numbered(file.path, ":", n);
        if (!std.unicode.utf8ValidateSlice(line)) {
            leaveOut(where, "it is not UTF-8");
            continue;
        }
        const record = anchor.Json.parse(line) orelse anchor.Json{};
        const text = record.get("text").string() orelse {
            leaveOut(where, "it is no JSON object with a \"text\"");
            continue;
        };
        if (std.mem.trim(u8, text, " \t\r\n").len == 0) continue;
        const id = record.get("_id").string() orelse "";
        index.add(.{
            .id = if (id.len > 0) files.printable(anchor.allocator, id) catch @trap() else where,
            .path = file.path,
            .title = record.get("title").string() orelse "",
            .text = text,
        }) catch @trap();
    }
}

fn retrieve(r: *const anchor.Request, c: *anchor.Changes) anchor.Error!void {
    const most = if (r.top_k > 0) r.top_k else default_top_k;
    const hits = index.search(r.query, most) catch @trap();
    if (hits.len == 0) return error.NoChange;
    for (hits) |hit| {
        const d = index.documents.items[hit.document];
        _ = c.add(.{
            .key = d.id,
            .content = if (d.title.len > 0) join(&.{ d.title, "\n\n", d.text }) else d.text,
            .score = hit.score / hits[0].score,
            .metadata = &.{
                .{ .key = "doc_id", .value = .{ .string = d.id } },
                .{ .key = "path", .value = .{ .string = d.path } },
                .{ .key = "title", .value = .{ .string = d.title } },
                .{ .key = "retrieval_method", .value = .{ .string = "bm25" } },
                .{ .key = "bm25", .value = .{ .float = hit.score } },
            },
        });
    }
}

fn join(parts: []const []const u8) []const u8 {
    return std.mem.concat(anchor.allocator, u8, parts) catch @trap();
}

fn numbered(path: []const u8, mark: []const u8, n: usize) []const u8 {
    var text: anchor.Text = .{};
    text.add(path);
    text.add(mark);
    text.addInt(@intCast(n));
    return text.bytes();
}
