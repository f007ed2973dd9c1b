//! Cuts text into words, and reduces English words to their stem.

const std = @import("std");

/// Longer words are cut here, so that they fit into a buffer.
pub const max_length = 64;

/// Steps through the words of a text: runs of ASCII letters, digits and bytes of other
/// scripts, in lower case and without their endings. Stop words are left out.
pub const Words = struct {
    rest: []const u8,
    stop: bool = true,
    stems: bool = true,
    buffer: [max_length]u8 = undefined,

    /// The next word, which is valid until the next call.
    pub fn next(w: *Words) ?[]const u8 {
        while (w.run()) |word| {
            if (w.stop and isStopWord(word)) continue;
            return if (w.stems) stem(word) else word;
        }
        return null;
    }

    fn run(w: *Words) ?[]u8 {
        var from: usize = 0;
        while (from < w.rest.len and !inWord(w.rest[from])) from += 1;
        var to = from;
        while (to < w.rest.len and inWord(w.rest[to])) to += 1;
        if (from == to) return null;
        const word = w.rest[from..@min(to, from + max_length)];
        w.rest = w.rest[to..];
        return std.ascii.lowerString(&w.buffer, word);
    }
};

fn inWord(c: u8) bool {
    return std.ascii.isAlphanumeric(c) or c >= 0x80;
}

const stop_words = " a about an and any are as at be been but by can did do does for from had has have how i if in " ++
    "into is it its me my no not of on or our s shall should so such t than that the their them then there these " ++
    "they this to us was we were what when where which who why will with would you your ";

fn isStopWord(word: []const u8) bool {
    if (word.len > 6) return false;
    var padded: [8]u8 = undefined;
    padded[0] = ' ';
    @memcpy(padded[1..][0..word.len], word);
    padded[word.len + 1] = ' ';
    return std.mem.indexOf(u8, stop_words, padded[0 .. word.len + 2]) != null;
}

/// Removes the endings of plurals and verbs, as step 1 of Porter's algorithm does, and a
/// final e: limit, limits, limited and limiting become limit.
fn stem(word: []u8) []const u8 {
    var w = word;
    if (w.len < 4) return plain(w);
    if (ends(w, "sses") or ends(w, "ies")) {
        w = w[0 .. w.len - 2];
    } else if (ends(w, "s") and !ends(w, "ss") and !ends(w, "us")) {
        w = w[0 .. w.len - 1];
    }
    if (ends(w, "eed")) {
        w = w[0 .. w.len - 1];
    } else if (ends(w, "ed") and hasVowel(w[0 .. w.len - 2])) {
        w = undouble(w[0 .. w.len - 2]);
    } else if (ends(w, "ing") and hasVowel(w[0 .. w.len - 3])) {
        w = undouble(w[0 .. w.len - 3]);
    }
    return plain(w);
}

/// Makes the end of a stem the same in all forms of its word: "retry" and "retri(es)",
/// "store" and "stor(ing)".
fn plain(w: []u8) []const u8 {
    if (w.len < 3) return w;
    const last = w.len - 1;
    if (w[last] == 'e' and w.len > 3) return w[0..last];
    if (w[last] == 'y' and !isVowel(w[last - 1])) w[last] = 'i';
    return w;
}

fn undouble(w: []u8) []u8 {
    if (w.len < 2) return w;
    const c = w[w.len - 1];
    const doubled = c == w[w.len - 2] and !isVowel(c) and c != 'l' and c != 's' and c != 'z';
    return if (doubled) w[0 .. w.len - 1] else w;
}

fn ends(w: []const u8, ending: []const u8) bool {
    return std.mem.endsWith(u8, w, ending);
}

fn hasVowel(w: []const u8) bool {
    for (w) |c| if (isVowel(c) or c == 'y') return true;
    return false;
}

fn isVowel(c: u8) bool {
    return std.mem.indexOfScalar(u8, "aeiou", c) != null;
}
