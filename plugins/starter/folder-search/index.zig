//! Which words stand in which documents, and the ranking of documents by BM25.

const std = @import("std");
const Words = @import("words.zig").Words;

/// What is found. All text outlives the index.
pub const Document = struct {
    id: []const u8,
    path: []const u8,
    title: []const u8,
    text: []const u8,
};

/// How words are read and documents are rated.
pub const Options = struct {
    k1: f64 = 0.9,
    b: f64 = 0.4,
    stop: bool = true,
    stems: bool = true,

    fn words(o: Options, text: []const u8) Words {
        return .{ .rest = text, .stop = o.stop, .stems = o.stems };
    }
};

/// A document that matches, with its BM25 score.
pub const Hit = struct { document: u32, score: f64 };

/// That a document holds a term so many times.
const Posting = struct { term: u32, document: u32, count: u32 };

/// Add all documents, then call finish, then search. What it allocates is never freed.
pub const Index = struct {
    allocator: std.mem.Allocator,
    options: Options,
    documents: std.ArrayList(Document) = .empty,
    /// The number of words of each document.
    lengths: std.ArrayList(u32) = .empty,
    words: u64 = 0,
    /// The number of each term.
    terms: std.StringHashMapUnmanaged(u32) = .empty,
    /// The last posting of each term, while documents are added.
    latest: std.ArrayList(u32) = .empty,
    /// By document while documents are added, by term after finish.
    postings: std.ArrayList(Posting) = .empty,
    /// The postings of term t are postings[starts[t]..starts[t + 1]].
    starts: []u32 = &.{},

    pub fn add(x: *Index, document: Document) !void {
        const number: u32 = @intCast(x.documents.items.len);
        const length = try x.count(number, document.title) + try x.count(number, document.text);
        try x.documents.append(x.allocator, document);
        try x.lengths.append(x.allocator, length);
        x.words += length;
    }

    /// Counts the words of a text of a document. Returns how many there are.
    fn count(x: *Index, document: u32, text: []const u8) !u32 {
        var words = x.options.words(text);
        var n: u32 = 0;
        while (words.next()) |word| : (n += 1) {
            const term = try x.terms.getOrPut(x.allocator, word);
            if (!term.found_existing) {
                term.key_ptr.* = try x.allocator.dupe(u8, word);
                term.value_ptr.* = @intCast(x.latest.items.len);
                try x.latest.append(x.allocator, std.math.maxInt(u32));
            }
            const latest = &x.latest.items[term.value_ptr.*];
            if (latest.* < x.postings.items.len and x.postings.items[latest.*].document == document) {
                x.postings.items[latest.*].count += 1;
                continue;
            }
            latest.* = @intCast(x.postings.items.len);
            try x.postings.append(x.allocator, .{ .term = term.value_ptr.*, .document = document, .count = 1 });
        }
        return n;
    }

    /// Sorts the postings by term. Those of a term stay in the order of the documents.
    pub fn finish(x: *Index) !void {
        x.starts = try x.allocator.alloc(u32, x.terms.count() + 1);
        @memset(x.starts, 0);
        for (x.postings.items) |p| x.starts[p.term + 1] += 1;
        for (1..x.starts.len) |t| x.starts[t] += x.starts[t - 1];
        const next = try x.allocator.dupe(u32, x.starts);
        const sorted = try x.allocator.alloc(Posting, x.postings.items.len);
        for (x.postings.items) |p| {
            sorted[next[p.term]] = p;
            next[p.term] += 1;
        }
        x.postings = .fromOwnedSlice(sorted);
    }

    /// Returns the best documents for a query, at most as many as asked for. Of documents
    /// with the same score, the one added first comes first.
    pub fn search(x: *const Index, query: []const u8, most: usize) ![]Hit {
        const scores = try x.allocator.alloc(f64, x.documents.items.len);
        @memset(scores, 0);
        var words = x.options.words(query);
        while (words.next()) |word| if (x.terms.get(word)) |term| x.rate(term, scores);

        const hits = try x.allocator.alloc(Hit, @min(most, scores.len));
        var n: usize = 0;
        for (scores, 0..) |score, document| {
            if (score == 0 or n == hits.len and (n == 0 or score <= hits[n - 1].score)) continue;
            if (n < hits.len) n += 1;
            var at = n - 1;
            while (at > 0 and hits[at - 1].score < score) : (at -= 1) hits[at] = hits[at - 1];
            hits[at] = .{ .document = @intCast(document), .score = score };
        }
        return hits[0..n];
    }

    /// Adds to the scores of the documents that hold a term, more for a rare one.
    fn rate(x: *const Index, term: u32, scores: []f64) void {
        const postings = x.postings.items[x.starts[term]..x.starts[term + 1]];
        const holding: f64 = @floatFromInt(postings.len);
        const all: f64 = @floatFromInt(scores.len);
        const average = @as(f64, @floatFromInt(x.words)) / all;
        const weight = @log(1 + (all - holding + 0.5) / (holding + 0.5));
        const o = x.options;
        for (postings) |p| {
            const n: f64 = @floatFromInt(p.count);
            const length: f64 = @floatFromInt(x.lengths.items[p.document]);
            scores[p.document] += weight * n / (n + o.k1 * (1 - o.b + o.b * length / average));
        }
    }
};
