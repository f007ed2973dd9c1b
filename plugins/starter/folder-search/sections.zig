//! Cuts a Markdown or plain text into sections: at its headings, between paragraphs where a
//! section is long, and between lines or words where a paragraph is.

const std = @import("std");

/// Headings end here. What is left of a longer one is text.
const max_heading = 200;

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
    /// The length in bytes after which a section ends with its paragraph. It has at most twice
    /// as many bytes.
    length: usize,
    headings: [6][]const u8 = @splat(""),
    /// Whether the rest begins inside of a code block.
    code: bool = false,

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
        const level = levelOf(s.rest);
        if (s.code or level == 0) return false;
        const line = firstLine(s.rest, level + 1 + max_heading);
        s.headings[level - 1] = std.mem.trim(u8, line[level..], " \t\r\n#");
        for (s.headings[level..]) |*h| h.* = "";
        s.rest = s.rest[line.len..];
        return true;
    }

    /// Takes the text up to the next heading, or the end of a paragraph when it is long
    /// enough. What looks like a heading inside of a code block is none.
    fn body(s: *Sections) []const u8 {
        var end: usize = 0;
        while (end < s.rest.len) {
            const rest = s.rest[end..];
            // Only a first line can have no room, and is cut. Others wait for the next section.
            const line = firstLine(rest, 2 * s.length);
            if (end > 0 and end + line.len > 2 * s.length) break;
            const blank = std.mem.trim(u8, line, " \t\r\n").len == 0;
            if (!s.code and end > 0 and (levelOf(rest) > 0 or (blank and end >= s.length))) break;
            if (std.mem.startsWith(u8, line, "```")) s.code = !s.code;
            end += line.len;
        }
        // A blank line that ends a section is taken with the section after it.
        defer s.rest = s.rest[end..];
        return s.rest[0..end];
    }
};

/// The first line of a text, with its end. A line of more than max bytes is cut before a space,
/// so that what follows does not look like a heading, or else before any character.
fn firstLine(text: []const u8, max: usize) []const u8 {
    const part = text[0..@min(text.len, max)];
    if (std.mem.indexOfScalar(u8, part, '\n')) |end| return part[0 .. end + 1];
    if (part.len == text.len) return part;
    const space = std.mem.lastIndexOfAny(u8, part, " \t") orelse 0;
    if (space > max / 2) return part[0..space];
    var end = part.len;
    while (end > part.len - 3 and text[end] & 0xc0 == 0x80) end -= 1;
    return part[0..end];
}

/// The level of the heading that begins a text, 1 to 6, or 0 if none does.
fn levelOf(text: []const u8) usize {
    var n: usize = 0;
    while (n < text.len and n <= 6 and text[n] == '#') n += 1;
    return if (n <= 6 and n < text.len and text[n] == ' ') n else 0;
}
