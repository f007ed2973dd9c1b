//! The heap has three parts, in this order: what keepMemory kept, the room lent to the
//! host, and what the running call has allocated.

const std = @import("std");

/// Whether this is a plugin. Tests of one run on the author's machine, without a host.
pub const is_plugin = @import("builtin").target.cpu.arch.isWasm();

extern var __heap_base: u8;

/// The memory of tests.
var tested: [if (is_plugin) 0 else 16 << 20]u8 align(8) = undefined;

/// The mailbox, by words: size, in_addr, in_cap, out_addr, out_len, reserved, document.
pub var mailbox = [7]u32{ 28, 0, 0, 0, 0, 0, 0 };
pub const in_addr = 1;
pub const in_cap = 2;
const out_addr = 3;
const out_len = 4;
const document = 6;

/// Whether the request of the call came through the room lent to the host.
var boxed = false;

const page = 64 << 10;
const max_batch = 256 << 20;

var kept: usize = 0;
var top: usize = 0;

/// Grows the memory up to end.
fn grow(end: u64) bool {
    if (!is_plugin) return end <= @intFromPtr(&tested) + tested.len;
    const have = @as(u64, @wasmMemorySize(0)) * page;
    if (end <= have) return true;
    if (end > std.math.maxInt(u32) - page) return false;
    return @wasmMemoryGrow(0, @intCast((end - have + page - 1) / page)) >= 0;
}

fn first() usize {
    if (kept == 0) kept = if (is_plugin) std.mem.alignForward(usize, @intFromPtr(&__heap_base), 8) else @intFromPtr(&tested);
    return kept;
}

/// Begins a call. What the call before it allocated is free again.
pub fn begin() void {
    top = first() + mailbox[in_cap];
    mailbox[out_addr] = 0;
    mailbox[out_len] = 0;
}

/// Allocates memory at a multiple of 8.
fn take(size: u64) usize {
    if (!is_plugin and top == 0) top = first();
    const end = top + std.mem.alignForward(u64, size, 8);
    if (!grow(end)) @trap();
    defer top = @intCast(end);
    return top;
}

pub fn alloc(comptime T: type, n: usize) []align(8) T {
    const at: [*]align(8) T = @ptrFromInt(take(@as(u64, n) * @sizeOf(T)));
    return at[0..n];
}

/// The address of the next byte that alloc gives.
pub fn next() usize {
    return top;
}

pub fn keep() void {
    kept = top;
    mailbox[in_addr] = 0;
    mailbox[in_cap] = 0;
}

/// Lends the host room and returns its address, or 0 if there is no memory.
pub fn reserve(size: u32) u32 {
    const room = std.mem.alignForward(u32, @min(size, max_batch), page);
    if (size > max_batch or !grow(@as(u64, first()) + room)) return 0;
    mailbox[in_addr] = @intCast(first());
    mailbox[in_cap] = @max(mailbox[in_cap], room);
    return mailbox[in_addr];
}

/// The batch that the host wrote, or null if it wrote elsewhere.
pub fn lent(at: u32, len: u32) ?[]align(8) const u8 {
    if (at == 0 or at != mailbox[in_addr] or len > mailbox[in_cap]) return null;
    const bytes: [*]align(8) const u8 = @ptrFromInt(at);
    return bytes[0..len];
}

/// Takes the document that the host wrote into the room lent, or null if it wrote none.
/// The read is volatile, because the compiler cannot see that the host writes there.
pub fn takeDocument() ?[]const u8 {
    const field: *volatile u32 = &mailbox[document];
    const len = field.*;
    field.* = 0;
    boxed = len > 0 and len <= mailbox[in_cap];
    if (!boxed) return null;
    const bytes: [*]const u8 = @ptrFromInt(mailbox[in_addr]);
    return bytes[0..len];
}

/// States the output of the call. Returns whether the host reads it there.
pub fn publish(out: []const u8) bool {
    mailbox[out_addr] = @intCast(@intFromPtr(out.ptr));
    mailbox[out_len] = @intCast(out.len);
    return boxed;
}

pub const allocator: std.mem.Allocator = .{ .ptr = undefined, .vtable = &.{
    .alloc = allocate,
    .resize = resize,
    .remap = remap,
    .free = free,
} };

fn allocate(_: *anyopaque, len: usize, alignment: std.mem.Alignment, _: usize) ?[*]u8 {
    if (alignment.toByteUnits() > 8) top = alignment.forward(top);
    return @ptrFromInt(take(len));
}

/// The last piece can grow in place. Every piece can shrink.
fn resize(_: *anyopaque, piece: []u8, _: std.mem.Alignment, len: usize, _: usize) bool {
    const at = @intFromPtr(piece.ptr);
    if (len <= piece.len) return true;
    if (std.mem.alignForward(usize, at + piece.len, 8) != top) return false;
    top = at;
    _ = take(len);
    return true;
}

fn remap(context: *anyopaque, piece: []u8, alignment: std.mem.Alignment, len: usize, ret: usize) ?[*]u8 {
    return if (resize(context, piece, alignment, len, ret)) piece.ptr else null;
}

fn free(_: *anyopaque, _: []u8, _: std.mem.Alignment, _: usize) void {}
