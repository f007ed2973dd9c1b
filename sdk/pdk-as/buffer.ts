/**
 * Bytes that grow, outside the garbage collector's reach: the host reads and
 * writes some of them by address. They stay until free is called, so buffers are
 * made once and cleared.
 */
@final
export class Buffer {
  /** The address of the first byte; it changes when the buffer grows. */
  start: usize = 0;
  /** How many bytes are in use. */
  length: u32 = 0;
  private capacity: u32 = 0;

  clear(): void {
    this.length = 0;
  }

  free(): void {
    if (this.start) heap.free(this.start);
    this.start = 0;
    this.length = 0;
    this.capacity = 0;
  }

  /** Makes room for n more bytes and returns their address. Their contents are undefined. */
  grow(n: u32): usize {
    const need = <u64>this.length + n;
    if (need > this.capacity) this.enlarge(need);
    const at = this.start + this.length;
    this.length = <u32>need;
    return at;
  }

  /** Sees to it that n bytes fit, without changing the length. */
  reserve(n: u32): void {
    if (n > this.capacity) this.enlarge(n);
  }

  private enlarge(need: u64): void {
    if (need > 0x3fffffff) throw new Error("out of memory");
    let capacity = max<u64>(64, this.capacity);
    while (capacity < need) capacity *= 2;
    this.start = this.start ? heap.realloc(this.start, <usize>capacity) : heap.alloc(<usize>capacity);
    this.capacity = <u32>capacity;
  }

  /** How many bytes fit without moving. */
  get room(): u32 {
    return this.capacity;
  }

  add<T>(value: T): void {
    const at = this.grow(<u32>sizeof<T>());
    store<T>(at, value);
  }

  addBytes(from: usize, n: u32): void {
    if (n) {
      const at = this.grow(n);
      memory.copy(at, from, n);
    }
  }

  /** Adds text as UTF-8; halves of surrogate pairs become U+FFFD. */
  addText(text: string): void {
    const at = this.grow(3 * text.length);
    const used = <u32>String.UTF8.encodeUnsafe(changetype<usize>(text), text.length, at, false, String.UTF8.ErrorMode.REPLACE);
    this.length -= 3 * text.length - used;
  }

  /** Adds text of ASCII characters only. */
  addASCII(text: string): void {
    const at = this.grow(text.length);
    for (let i = 0; i < text.length; i++) store<u8>(at + i, <u8>text.charCodeAt(i));
  }

  toString(): string {
    return String.UTF8.decodeUnsafe(this.start, this.length);
  }
}
