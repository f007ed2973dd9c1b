//! Reads the folders that the host has mounted, through WASI.

const std = @import("std");

/// The functions of WASI that are used, with numbers for its types. All return 0 or an
/// error number.
const wasi = struct {
    extern "wasi_snapshot_preview1" fn fd_prestat_get(fd: u32, out: *[2]u32) u32;
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
    const folder = 2; // as a flag of path_open: it must be a folder
    const read_right = 1 << 1 | 1 << 14; // fd_read and fd_readdir
    const first_mounted = 3;

    // The kinds of entries of a folder.
    const kind_folder = 3;
    const kind_file = 4;
    const kind_link = 7;
};

/// Folders within folders are followed this far.
const max_depth = 32;

pub const File = struct {
    /// The path within the mounted folder, with slashes.
    path: []const u8,
    content: []const u8,
};

pub const Error = error{ NoFolder, Unreadable, TooDeep, TooLarge, OutOfMemory };

/// The files of all mounted folders.
pub const Reader = struct {
    allocator: std.mem.Allocator,
    /// Files whose name ends in none of these are left out.
    endings: []const []const u8,
    max_bytes: usize,
    /// What WASI reads goes through here. A part of a listing is as large as this.
    buffer: *[64 << 10]u8,
    files: std.ArrayList(File) = .empty,
    /// The file or folder that an error is about.
    at: []const u8 = "",

    /// Reads all files, sorted by their path. Hidden files and folders are left out.
    pub fn readAll(r: *Reader) Error![]File {
        var fd: u32 = wasi.first_mounted;
        var prestat: [2]u32 = undefined;
        // Reading a folder changes its descriptor. The host resets a guest only if those of the
        // mounted folders are as it made them, so each is opened once more.
        while (wasi.fd_prestat_get(fd, &prestat) == 0) : (fd += 1) try r.inside(fd, ".", "", 0);
        if (fd == wasi.first_mounted) return error.NoFolder;
        std.sort.heap(File, r.files.items, {}, before);
        return r.files.items;
    }

    fn before(_: void, a: File, b: File) bool {
        return std.mem.lessThan(u8, a.path, b.path);
    }

    /// Reads the files of an open folder, whose path is empty or ends in a slash.
    fn folder(r: *Reader, fd: u32, path: []const u8, depth: usize) Error!void {
        r.at = path;
        if (depth > max_depth) return error.TooDeep;
        for (try r.list(fd)) |entry| {
            if (entry.kind == wasi.kind_folder) {
                const inner = try std.mem.concat(r.allocator, u8, &.{ path, entry.name, "/" });
                try r.inside(fd, entry.name, inner, depth + 1);
            } else if (r.wanted(entry.name)) {
                try r.file(fd, entry.name, try std.mem.concat(r.allocator, u8, &.{ path, entry.name }));
            }
        }
    }

    const Entry = struct { name: []const u8, kind: u8 };

    /// The files and folders in an open folder. WASI gives them in parts as large as the buffer.
    fn list(r: *Reader, fd: u32) Error![]Entry {
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
    fn entries(r: *Reader, out: *std.ArrayList(Entry), listing: []const u8, cookie: *u64) Error!void {
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

    fn open(r: *Reader, parent: u32, name: []const u8, path: []const u8, flags: u32) Error!u32 {
        r.at = path;
        var fd: u32 = 0;
        const result = wasi.path_open(parent, 1, name.ptr, name.len, flags, wasi.read_right, wasi.read_right, 0, &fd);
        return if (result == 0) fd else error.Unreadable;
    }

    fn inside(r: *Reader, parent: u32, name: []const u8, path: []const u8, depth: usize) Error!void {
        const fd = try r.open(parent, name, path, wasi.folder);
        defer _ = wasi.fd_close(fd);
        try r.folder(fd, path, depth);
    }

    fn file(r: *Reader, parent: u32, name: []const u8, path: []const u8) Error!void {
        const fd = try r.open(parent, name, path, 0);
        defer _ = wasi.fd_close(fd);
        var content: std.ArrayList(u8) = .empty;
        while (true) {
            var n: u32 = 0;
            if (wasi.fd_read(fd, &.{ .ptr = r.buffer, .len = r.buffer.len }, 1, &n) != 0) return error.Unreadable;
            if (n == 0) break;
            if (content.items.len + n > r.max_bytes) return error.TooLarge;
            // Most files are read at once, and take no more room than they need.
            if (content.items.len == 0) try content.ensureTotalCapacityPrecise(r.allocator, n);
            try content.appendSlice(r.allocator, r.buffer[0..n]);
        }
        try r.files.append(r.allocator, .{ .path = path, .content = content.items });
    }
};
