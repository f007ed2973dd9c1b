//! Reads the folders that the host has mounted, through WASI.

const std = @import("std");

/// The functions of WASI that are used, with numbers for its types. All return 0 or an
/// error number.
const wasi = struct {
    extern "wasi_snapshot_preview1" fn fd_prestat_get(fd: u32, out: *[2]u32) u32;
    extern "wasi_snapshot_preview1" fn fd_filestat_get(fd: u32, out: *Stat) u32;
    extern "wasi_snapshot_preview1" fn fd_readdir(fd: u32, buf: [*]u8, len: u32, cookie: u64, used: *u32) u32;
    extern "wasi_snapshot_preview1" fn path_open(
        fd: u32,
        lookup: u32,
        path: [*]const u8,
        len: u32,
        open: u32,
        rights: u64,
        inheriting: u64,
        flags: u32,
        out: *u32,
    ) u32;
    extern "wasi_snapshot_preview1" fn fd_read(fd: u32, parts: *const Part, count: u32, read: *u32) u32;
    extern "wasi_snapshot_preview1" fn fd_close(fd: u32) u32;

    const Part = extern struct { ptr: [*]u8, len: u32 };
    const Stat = extern struct { device: u64, inode: u64, kind: u64, links: u64, size: u64, times: [3]u64 };
    const folder = 2; // as a flag of path_open: it must be a folder
    const read_right = 1 << 1 | 1 << 14 | 1 << 21; // fd_read, fd_readdir and fd_filestat_get
    const mounted = 3;

    // The kinds of entries of a folder.
    const kind_folder = 3;
    const kind_file = 4;
    const kind_link = 7;
};

/// Folders within folders are followed this far.
const max_depth = 32;

pub const File = struct {
    /// The path below /docs, with slashes. It can be shown on one line.
    path: []const u8,
    /// Without a byte order mark.
    content: []const u8,
};

/// NoFolder: none is mounted. Unreadable: the mounted folder cannot be read.
pub const Error = error{ NoFolder, Unreadable, OutOfMemory };

/// The files of the folder that is mounted at /docs, the only one that the manifest asks for.
pub const Reader = struct {
    allocator: std.mem.Allocator,
    /// Files whose name ends in none of these are left out.
    endings: []const []const u8,
    max_bytes: usize,
    /// Is called for each file and folder that is left out, with its path and the reason.
    leave_out: *const fn (path: []const u8, why: []const u8) void,
    /// What WASI reads goes through here. A part of a listing is as large as this.
    buffer: *[64 << 10]u8,
    files: std.ArrayList(File) = .empty,

    /// Reads all files, sorted by their path. Hidden files and folders are left out.
    pub fn readAll(r: *Reader) Error![]File {
        var prestat: [2]u32 = undefined;
        if (wasi.fd_prestat_get(wasi.mounted, &prestat) != 0) return error.NoFolder;
        // Reading a folder changes its descriptor. The host resets a guest only if that of the
        // mounted folder is as it made it, so it is opened once more.
        r.inside(wasi.mounted, ".", "", 0) catch |err| return if (err == error.OutOfMemory) error.OutOfMemory else error.Unreadable;
        std.sort.heap(File, r.files.items, {}, before);
        return r.files.items;
    }

    fn before(_: void, a: File, b: File) bool {
        return std.mem.lessThan(u8, a.path, b.path);
    }

    /// Why a file or folder is left out.
    const Bad = error{ Unreadable, NotFile, TooDeep, TooLarge, OutOfMemory };

    fn reason(err: Bad) []const u8 {
        return switch (err) {
            error.Unreadable => "it cannot be read (a link must lead to a file within the folder, and a name must be UTF-8)",
            error.NotFile => "it is no file",
            error.TooDeep => std.fmt.comptimePrint("it is more than {d} folders deep", .{max_depth}),
            error.TooLarge => "it is too large (split it)",
            error.OutOfMemory => "there is not enough memory",
        };
    }

    /// Reads the files of an open folder, whose path is empty or ends in a slash. One file that
    /// cannot be read does not keep the others from being found.
    fn folder(r: *Reader, fd: u32, path: []const u8, depth: usize) Bad!void {
        if (depth > max_depth) return error.TooDeep;
        for (try r.list(fd)) |entry| {
            const is_folder = entry.kind == wasi.kind_folder;
            if (!is_folder and !r.wanted(entry.name)) continue;
            const end = if (is_folder) "/" else "";
            const inner = try std.mem.concat(r.allocator, u8, &.{ path, try printable(r.allocator, entry.name), end });
            const read = if (is_folder) r.inside(fd, entry.name, inner, depth + 1) else r.file(fd, entry.name, inner);
            read catch |err| if (err == error.OutOfMemory) return err else r.leave_out(inner, reason(err));
        }
    }

    const Entry = struct { name: []const u8, kind: u8 };

    /// The files and folders in an open folder. WASI gives them in parts as large as the buffer.
    fn list(r: *Reader, fd: u32) Bad![]Entry {
        var out: std.ArrayList(Entry) = .empty;
        var cookie: u64 = 0;
        while (true) {
            var used: u32 = 0;
            if (wasi.fd_readdir(fd, r.buffer, r.buffer.len, cookie, &used) != 0) return error.Unreadable;
            const before_part = cookie;
            try r.entries(&out, r.buffer[0..used], &cookie);
            if (used < r.buffer.len or cookie == before_part) return out.items;
        }
    }

    /// Adds the entries that a part of a folder's listing names. The last one may be cut off;
    /// the cookie is that of the last whole one.
    fn entries(r: *Reader, out: *std.ArrayList(Entry), listing: []const u8, cookie: *u64) Bad!void {
        const header = 24; // cookie, inode, length of the name, kind, padding
        var rest = listing;
        while (rest.len >= header) {
            const length = std.mem.readInt(u32, rest[16..20], .little);
            if (rest.len - header < length) return;
            cookie.* = std.mem.readInt(u64, rest[0..8], .little);
            const name = rest[header..][0..length];
            const kind = rest[20];
            rest = rest[header + length ..];
            if (length == 0 or name[0] == '.') continue;
            if (kind != wasi.kind_folder and kind != wasi.kind_file and kind != wasi.kind_link) continue;
            try out.append(r.allocator, .{ .name = try r.allocator.dupe(u8, name), .kind = kind });
        }
    }

    fn wanted(r: *const Reader, name: []const u8) bool {
        for (r.endings) |e| if (std.ascii.endsWithIgnoreCase(name, e)) return true;
        return false;
    }

    fn open(parent: u32, name: []const u8, flags: u32) Bad!u32 {
        var fd: u32 = 0;
        const result = wasi.path_open(parent, 1, name.ptr, name.len, flags, wasi.read_right, wasi.read_right, 0, &fd);
        return if (result == 0) fd else error.Unreadable;
    }

    fn inside(r: *Reader, parent: u32, name: []const u8, path: []const u8, depth: usize) Bad!void {
        const fd = try open(parent, name, wasi.folder);
        defer _ = wasi.fd_close(fd);
        try r.folder(fd, path, depth);
    }

    fn file(r: *Reader, parent: u32, name: []const u8, path: []const u8) Bad!void {
        const fd = try open(parent, name, 0);
        defer _ = wasi.fd_close(fd);
        var stat: wasi.Stat = undefined;
        if (wasi.fd_filestat_get(fd, &stat) != 0) return error.Unreadable;
        if (stat.kind & 0xff != wasi.kind_file) return error.NotFile;
        // Memory is not given back, so a file that is too large is not read at all.
        if (stat.size > r.max_bytes) return error.TooLarge;
        var content: std.ArrayList(u8) = .empty;
        try content.ensureTotalCapacityPrecise(r.allocator, @intCast(stat.size));
        while (true) {
            var n: u32 = 0;
            if (wasi.fd_read(fd, &.{ .ptr = r.buffer, .len = r.buffer.len }, 1, &n) != 0) return error.Unreadable;
            if (n == 0) break;
            if (content.items.len + n > r.max_bytes) return error.TooLarge;
            try content.appendSlice(r.allocator, r.buffer[0..n]);
        }
        const mark = "\u{feff}";
        const text = content.items;
        try r.files.append(r.allocator, .{ .path = path, .content = if (std.mem.startsWith(u8, text, mark)) text[mark.len..] else text });
    }
};

/// The text, with each character that cannot be shown on one line written as the bytes %XX: what
/// is not UTF-8, ends a line, controls a terminal or changes the direction of writing. The host
/// refuses keys with such characters.
pub fn printable(allocator: std.mem.Allocator, text: []const u8) ![]const u8 {
    var out: std.ArrayList(u8) = .empty;
    var at: usize = 0;
    while (at < text.len) {
        const length = @min(std.unicode.utf8ByteSequenceLength(text[at]) catch 1, text.len - at);
        const character = text[at..][0..length];
        const c: ?u21 = std.unicode.utf8Decode(character) catch null;
        if (c != null and !disturbs(c.?)) {
            try out.appendSlice(allocator, character);
            at += length;
            continue;
        }
        const bytes = if (c == null) character[0..1] else character;
        for (bytes) |b| try out.appendSlice(allocator, &.{ '%', hex(b >> 4), hex(b & 15) });
        at += bytes.len;
    }
    return out.items;
}

fn hex(digit: u8) u8 {
    return "0123456789ABCDEF"[digit];
}

fn disturbs(c: u21) bool {
    return switch (c) {
        0...0x1f, 0x7f...0x9f, 0x61c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069 => true,
        else => false,
    };
}
