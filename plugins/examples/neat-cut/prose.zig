//! Where texts of people may be cut: after a paragraph, a sentence, a word, or a character.

const std = @import("std");

/// A character, with where it begins and ends. Bytes that are not UTF-8 are one each.
const Char = struct { rune: u21, start: usize, end: usize };

/// The character at a position.
fn charAt(text: []const u8, at: usize) Char {
    const n = std.unicode.utf8ByteSequenceLength(text[at]) catch 1;
    if (at + n > text.len) return .{ .rune = text[at], .start = at, .end = at + 1 };
    const rune = std.unicode.utf8Decode(text[at..][0..n]) catch return .{ .rune = text[at], .start = at, .end = at + 1 };
    return .{ .rune = rune, .start = at, .end = at + n };
}

/// The number of bytes of the first n characters.
pub fn offset(text: []const u8, n: usize) usize {
    var at: usize = 0;
    for (0..n) |_| {
        if (at >= text.len) break;
        at = charAt(text, at).end;
    }
    return at;
}

/// The end of the best cut of a text within text[0..end]: the last end of a paragraph at or
/// after from, or else of a sentence, or else of a word, or else of a character.
pub fn cut(text: []const u8, from: usize, end: usize) usize {
    var paragraph: usize = 0;
    var sentence: usize = 0;
    var word: usize = 0;
    var letter: usize = 0;
    var last: Char = .{ .rune = 0, .start = 0, .end = 0 };
    var token: usize = 0; // where the word before begins
    var flags: usize = 0; // letters of flags in a row
    var begun = false; // there is something to keep
    var stopped = false; // a sentence has ended, and only closing marks came since
    while (last.end <= end) {
        const at = last.end;
        const next: Char = if (at < text.len) charAt(text, at) else .{ .rune = '\n', .start = at, .end = at };
        if (joins(last.rune, next.rune) or flag(next.rune) and flags % 2 == 1) {
            // No cut inside of what people see as one character.
        } else if (begun) {
            letter = at;
            if (isSpace(next.rune) or scriptWithoutSpaces(last.rune) and !closing(next.rune)) word = at;
            if (isSpace(next.rune) and stopped or wide(last.rune) and !closing(next.rune) and !wide(next.rune)) sentence = at;
            if (next.rune == '\n' and at + 1 < text.len and text[at + 1] == '\n') paragraph = at;
        }
        if (at >= text.len) break;
        if (wide(next.rune) or stops(next.rune) and !abbreviation(text[token..next.start], next.rune)) {
            stopped = true;
        } else if (!closing(next.rune)) stopped = false;
        if (isSpace(next.rune)) token = next.end;
        if (!isSpace(next.rune)) begun = true;
        flags = if (flag(next.rune)) flags + 1 else 0;
        last = next;
    }
    for ([_]usize{ paragraph, sentence, word }) |place| if (place > 0 and place >= from) return place;
    return if (letter > 0) letter else end;
}

/// Marks that end a sentence if a space follows: of Latin, Greek, Arabic, Urdu, Armenian,
/// Ethiopic, Myanmar, Khmer, Tibetan, Devanagari and related scripts.
fn stops(c: u21) bool {
    return switch (c) {
        '.', '!', '?', 0x2026, 0x203d, 0x37e, 0x589, 0x61f, 0x6d4, 0x964, 0x965, 0x1362, 0x1367, 0x104a, 0x104b, 0x17d4, 0x17d5, 0xf0d => true,
        else => false,
    };
}

/// Marks of Chinese and Japanese, after which no space stands.
fn wide(c: u21) bool {
    return switch (c) {
        0x3002, 0xff01, 0xff0e, 0xff1f, 0xff61 => true,
        else => false,
    };
}

/// What may stand between the end of a sentence and the space after it, and must not begin a line.
fn closing(c: u21) bool {
    return switch (c) {
        '"', '\'', ')', ']', '}', 0xbb, 0x2019, 0x201d, 0x203a => true,
        0x3001, 0x3009, 0x300b, 0x300d, 0x300f, 0x3011, 0x3015, 0xff09, 0xff0c, 0xff3d, 0xff5d => true,
        else => wide(c),
    };
}

/// Chinese, Japanese, Thai, Lao, Khmer and Myanmar put no spaces between words.
fn scriptWithoutSpaces(c: u21) bool {
    return switch (c) {
        0xe00...0xeff, 0x1000...0x109f, 0x1780...0x17ff, 0x3001...0x30ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xf900...0xfaff, 0xff00...0xffef, 0x20000...0x3ffff => true,
        else => false,
    };
}

fn isSpace(c: u21) bool {
    return switch (c) {
        '\t', '\n', '\r', ' ', 0xa0, 0x1680, 0x2000...0x200b, 0x2028, 0x2029, 0x3000 => true,
        else => false,
    };
}

/// Whether two characters are seen as one: the second combines with the first, or both are
/// parts of an emoji or a line break. The letters of flags are not here: they join in pairs.
fn joins(a: u21, b: u21) bool {
    if (a == '\r' and b == '\n') return true;
    if (a == 0x200d) return b > 0x2000; // the joiner of emojis
    return switch (b) {
        0x300...0x36f, 0x483...0x489, 0x591...0x5bd, 0x610...0x61a, 0x64b...0x65f, 0x670 => true,
        // Signs that follow their letter: of the scripts of India, and of Thai, Lao, Tibetan,
        // Myanmar and Khmer.
        0x900...0x903, 0x93a...0x94f, 0x981...0x983, 0x9bc...0x9cd, 0xa3c...0xa4d, 0xabc...0xacd, 0xb3c...0xb4d => true,
        0xbbe...0xbcd, 0xc3e...0xc4d, 0xcbc...0xccd, 0xd3b...0xd4d => true,
        0xe31, 0xe33...0xe3a, 0xe47...0xe4e, 0xeb1, 0xeb3...0xebc, 0xec8...0xece, 0xf71...0xf84, 0x102b...0x103e, 0x17b6...0x17d3 => true,
        0x1ab0...0x1aff, 0x1dc0...0x1dff, 0x20d0...0x20ff, 0x3099, 0x309a => true,
        0x200c, 0x200d, 0xfe00...0xfe0f, 0x1f3fb...0x1f3ff, 0xe0020...0xe007f, 0xe0100...0xe01ef => true,
        else => false,
    };
}

/// Flags are pairs of these letters.
fn flag(c: u21) bool {
    return c >= 0x1f1e6 and c <= 0x1f1ff;
}

/// Words that a full stop shortens. A single letter, and a part with a full stop inside such
/// as "e.g", is one as well. A number with a full stop may be the number of a list.
const shortened = [_][]const u8{
    "mr", "mrs", "ms", "dr", "prof", "st", "vs", "etc", "al", "fig", "no", "vol", "pp", "cf", "approx", "inc", "ltd",
    "bzw", "ca", "ggf", "nr", "usw", "vgl", "str", "sog", "evtl", "env", "mme", "mlle", "av", "sr", "sra", "ud",
};

/// The most bytes of an abbreviation, with the brackets before it.
const longest = 20;

/// Whether the full stop after a word does not end a sentence.
fn abbreviation(before: []const u8, mark: u21) bool {
    if (mark != '.' or before.len > longest) return false; // so that a text of full stops costs no more than others
    const word = std.mem.trimStart(u8, before, "(\"'[");
    if (word.len == 0) return false;
    if (offset(word, 1) == word.len) return std.ascii.isAlphanumeric(word[0]) or word[0] >= 0x80;
    if (std.mem.indexOfScalar(u8, word[0 .. word.len - 1], '.')) |dot| return dot > 0 and word.len <= 6;
    for (shortened) |known| if (std.ascii.eqlIgnoreCase(word, known)) return true;
    return false;
}
