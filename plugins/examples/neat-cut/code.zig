//! Where source code may be cut: between functions and types, at an empty line, or at the end
//! of a line.

const std = @import("std");
const prose = @import("prose.zig");

/// Whether most lines look like source code: they end or begin as lines of code do, or are
/// indented.
pub fn looksLike(text: []const u8) bool {
    var all: usize = 0;
    var like: usize = 0;
    var lines = std.mem.splitScalar(u8, text, '\n');
    while (lines.next()) |whole| {
        const line = std.mem.trim(u8, whole, &std.ascii.whitespace);
        if (line.len == 0) continue;
        all += 1;
        like += @intFromBool(isCode(line));
    }
    return all >= 3 and like * 2 > all;
}

const beginnings = [_][]const u8{
    "func ", "def ", "class ", "import ", "from ", "package ", "#include", "use ", "fn ", "pub ", "let ", "const ", "var ", "return",
    "if (", "for (", "while (", "} ", "//", "/*", "* ", "#!", "@", "public ", "private ", "static ", "export ", "function ", "struct ",
    "type ", "impl ", "async ", "elif ", "else:", "try:", "except", "with ",
};

fn isCode(line: []const u8) bool {
    for (beginnings) |b| if (std.mem.startsWith(u8, line, b)) return true;
    if (std.mem.indexOf(u8, line, " = ") != null or std.mem.indexOf(u8, line, " := ") != null or std.mem.indexOf(u8, line, "();") != null) return true;
    return switch (line[line.len - 1]) {
        '{', '}', ';', '(', '[' => true,
        ')', ':' => std.mem.indexOfScalar(u8, line, '(') != null and std.mem.indexOfScalar(u8, line, ' ') == null or std.mem.endsWith(u8, line, "):"),
        else => false,
    };
}

/// The end of the best cut of code within text[0..end]: the last place at or after from at which a
/// declaration at the outermost level has ended, or else before an empty line, or else the end of a
/// line, wherever that is. A single line is cut as prose is.
pub fn cut(text: []const u8, from: usize, end: usize) usize {
    var outer: usize = 0;
    var blank: usize = 0;
    var line_end: usize = 0;
    var scan: Scanner = .{};
    var at: usize = 0;
    while (at < end) {
        const stop = std.mem.indexOfScalarPos(u8, text, at, '\n') orelse text.len;
        if (stop > end) break;
        scan.line(text[at..stop]);
        const here = std.mem.trim(u8, text[at..stop], &std.ascii.whitespace).len > 0;
        if (here) {
            line_end = stop;
            const next = followingLine(text, stop);
            if (scan.depth == 0 and !scan.inside and next.indent == 0 and !closes(next.text)) {
                if (next.blank) outer = stop;
            }
            if (next.blank) blank = stop;
        }
        at = stop + 1;
    }
    for ([_]usize{ outer, blank, line_end }) |place| if (place > 0 and place >= from) return place;
    if (line_end > 0) return line_end;
    return prose.cut(text, from, end);
}

const Following = struct { text: []const u8, indent: usize, blank: bool };

/// The next line that has something, and whether an empty line stands before it.
fn followingLine(text: []const u8, stop: usize) Following {
    var blank = false;
    var at = stop + 1;
    while (at < text.len) {
        const end = std.mem.indexOfScalarPos(u8, text, at, '\n') orelse text.len;
        const line = std.mem.trimEnd(u8, text[at..end], &std.ascii.whitespace);
        const body = std.mem.trimStart(u8, line, " \t");
        if (body.len > 0) return .{ .text = body, .indent = line.len - body.len, .blank = blank };
        blank = true;
        at = end + 1;
    }
    return .{ .text = "", .indent = 0, .blank = true };
}

/// Whether a line belongs to what is before it.
fn closes(line: []const u8) bool {
    return line.len > 0 and (line[0] == '}' or line[0] == ')' or line[0] == ']' or std.mem.startsWith(u8, line, "else"));
}

/// Counts the brackets that are open, outside of strings and comments.
const Scanner = struct {
    depth: usize = 0,
    /// Inside of a comment or a string of several lines.
    inside: bool = false,
    ends: []const u8 = "",

    fn line(s: *Scanner, text: []const u8) void {
        var i: usize = 0;
        while (i < text.len) {
            if (s.inside) {
                const found = std.mem.indexOfPos(u8, text, i, s.ends) orelse return;
                i = found + s.ends.len;
                s.inside = false;
                continue;
            }
            const rest = text[i..];
            if (std.mem.startsWith(u8, rest, "//") or rest[0] == '#' and i == std.mem.indexOfNone(u8, text, " \t")) return;
            inline for (.{ .{ "/*", "*/" }, .{ "\"\"\"", "\"\"\"" }, .{ "'''", "'''" }, .{ "`", "`" } }) |pair| {
                if (!s.inside and std.mem.startsWith(u8, rest, pair[0])) {
                    s.inside = true;
                    s.ends = pair[1];
                    i += pair[0].len;
                }
            }
            if (s.inside) continue;
            switch (text[i]) {
                '{', '(', '[' => s.depth += 1,
                '}', ')', ']' => s.depth -|= 1,
                '"', '\'' => i = skipString(text, i),
                else => {},
            }
            i += 1;
        }
    }

    /// The end of a string of one line. A quotation mark without another one is only a sign.
    fn skipString(text: []const u8, start: usize) usize {
        var i = start + 1;
        while (i < text.len) : (i += 1) {
            if (text[i] == '\\') i += 1 else if (text[i] == text[start]) return i;
        }
        return start;
    }
};
