//! Cuts a Markdown or plain text into sections: at its headings, and between paragraphs
//! where a section is long.

const std = @import("std");

pub const Section = struct {
    /// The headings above the text, outermost first.
    headings: [6][]const u8 = @splat(""),
    text: []const u8,

    /// Writes the headings into a text of the form "Guide > Limits > Memory".
    pub fn title(s: *const Section, allocator: std.mem.Allocator) ![]const u8 {
        var out: std.ArrayList(u8) = .empty;
        for (s.headings) |h| {
            if (h.len == 0) continue;
            if (out.items.len > 0) try out.appendSlice(allocator, " > ");
            try out.appendSlice(allocator, h);
        }
        return out.items;
    }
};

/// Steps through the sections of a text, none of them empty.
pub const Sections = struct {
    rest: []const u8,
    /// The length in bytes after which a section ends with its paragraph.
    length: usize,
    headings: [6][]const u8 = @splat(""),

    pub fn next(s: *Sections) ?Section {
        while (s.rest.len > 0) {
            if (s.takeHeading()) continue;
            const text = std.mem.trim(u8, s.body(), " \t\r\n");
            if (text.len > 0) return .{ .headings = s.headings, .text = text };
        }
        return null;
    }

    /// Takes a heading off the front of the text, if there is one.
    fn takeHeading(s: *Sections) bool {
        const line = firstLine(s.rest);
        const level = levelOf(line);
        if (level == 0) return false;
        s.headings[level - 1] = std.mem.trim(u8, line[level..], " \t\r\n#");
        for (s.headings[level..]) |*h| h.* = "";
        s.rest = s.rest[line.len..];
        return true;
    }

    /// Takes the text up to the next heading, or the end of a paragraph when it is long
    /// enough. What looks like a heading inside of a code block is none.
    fn body(s: *Sections) []const u8 {
        var end: usize = 0;
        var code = false;
        while (end < s.rest.len) {
            const line = firstLine(s.rest[end..]);
            const blank = std.mem.trim(u8, line, " \t\r\n").len == 0;
            if (std.mem.startsWith(u8, line, "```")) code = !code;
            if (!code and (levelOf(line) > 0 or (blank and end >= s.length))) break;
            end += line.len;
        }
        // A blank line that ends a section is taken with the section after it.
        if (end == 0) end = firstLine(s.rest).len;
        defer s.rest = s.rest[end..];
        return s.rest[0..end];
    }
};

/// The first line of a text, with its end.
fn firstLine(text: []const u8) []const u8 {
    const end = std.mem.indexOfScalar(u8, text, '\n') orelse return text;
    return text[0 .. end + 1];
}

/// The level of a heading, 1 to 6, or 0 if the line is none.
fn levelOf(line: []const u8) usize {
    var n: usize = 0;
    while (n < line.len and line[n] == '#') n += 1;
    return if (n <= 6 and n < line.len and line[n] == ' ') n else 0;
}
