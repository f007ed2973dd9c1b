/* anchor.h - plugins for anchor-host in C, with one function for both lanes of an
 * operation. It needs no libc. Build with clang as plugin.c of "anchor-host plugin new"
 * shows:
 *
 *     #include "anchor.h"
 *
 *     static int keep(anchor_request *r, anchor_reply *c) {
 *         double min = anchor_setting_number(r, "min", 0.5);
 *         anchor_keep_none(c);
 *         for (uint32_t i = 0; i < r->rows; i++)
 *             if (r->score[i] >= min) anchor_keep(c, i);
 *         return ANCHOR_DONE;
 *     }
 *     ANCHOR_FILTER(keep)
 *
 * anchor_batch.h beside it says what a request holds. A column that plugin.yaml
 * does not name under reads is a null pointer. If a function such as anchor_at reads it all
 * the same, there is no text and no metadata, and the host warns. Everything that a function
 * receives, and what anchor_alloc returns, is freed after the call. */
#ifndef ANCHOR_H
#define ANCHOR_H

#include <stdint.h>

/* Says once in a call that the plugin reads a column that was not sent. The host knows the
 * manifest, and warns if it does not name the column. */
#ifdef __cplusplus
extern "C" {
#endif
#ifdef __clang__
static __attribute__((noinline, minsize, cold)) void anchor__absent(uint32_t column);
#else
static __attribute__((noinline, cold)) void anchor__absent(uint32_t column);
#endif
#ifdef __cplusplus
}
#endif
#define ANCHOR_ABSENT(column) anchor__absent(column)

#include "anchor_batch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a function returns: ANCHOR_DONE if the reply counts, ANCHOR_NO_CHANGE, or the
 * result of anchor_fail. */
enum { ANCHOR_DONE = 0, ANCHOR_NO_CHANGE = 1 };

/* A request: rows, the columns id, score, text, metadata, source, priority, token_count,
 * created_at and vectors (see anchor_embedding), query_text, embedding of the query, top_k,
 * tokens_left, settings. */
typedef anchor_batch anchor_request;

/* For functions that run once per call, or only in the JSON lane. They are small rather
 * than fast, and a module has them once. */
#ifdef __clang__
#define ANCHOR__SMALL static __attribute__((noinline, minsize, unused))
#else
#define ANCHOR__SMALL static __attribute__((noinline, unused))
#endif
#define ANCHOR__ONCE static __attribute__((noinline, unused))

/* ---- The functions of the host. A module imports only those it uses. ---- */

#ifdef __wasm__
#define ANCHOR__ENV(name) __attribute__((import_module("extism:host/env"), import_name(name))) extern
#define ANCHOR__USER(name) __attribute__((import_module("extism:host/user"), import_name(name))) extern
#else /* tests outside of Wasm: anchor_test.h stands for the host */
#define ANCHOR__ENV(name) extern
#define ANCHOR__USER(name) extern
#endif
ANCHOR__ENV("alloc") uint64_t anchor__k_alloc(uint64_t);
ANCHOR__ENV("length") uint64_t anchor__k_length(uint64_t);
ANCHOR__ENV("load_u8") uint32_t anchor__k_load_u8(uint64_t);
ANCHOR__ENV("load_u64") uint64_t anchor__k_load_u64(uint64_t);
ANCHOR__ENV("store_u8") void anchor__k_store_u8(uint64_t, uint32_t);
ANCHOR__ENV("store_u64") void anchor__k_store_u64(uint64_t, uint64_t);
ANCHOR__ENV("input_length") uint64_t anchor__k_input_length(void);
ANCHOR__ENV("input_load_u8") uint32_t anchor__k_input_load_u8(uint64_t);
ANCHOR__ENV("input_load_u64") uint64_t anchor__k_input_load_u64(uint64_t);
ANCHOR__ENV("output_set") void anchor__k_output_set(uint64_t, uint64_t);
ANCHOR__ENV("error_set") void anchor__k_error_set(uint64_t);
ANCHOR__ENV("config_get") uint64_t anchor__k_config_get(uint64_t);
ANCHOR__ENV("http_request") uint64_t anchor__k_http_request(uint64_t, uint64_t);
ANCHOR__ENV("http_status_code") int32_t anchor__k_http_status_code(void);
ANCHOR__ENV("http_headers") uint64_t anchor__k_http_headers(void);
ANCHOR__ENV("log_debug") void anchor__k_log_debug(uint64_t);
ANCHOR__ENV("log_info") void anchor__k_log_info(uint64_t);
ANCHOR__ENV("log_warn") void anchor__k_log_warn(uint64_t);
ANCHOR__ENV("log_error") void anchor__k_log_error(uint64_t);
ANCHOR__USER("anchor_http_batch") uint64_t anchor__k_http_batch(uint64_t);
ANCHOR__USER("anchor_kv_get") uint64_t anchor__k_kv_get(uint64_t);
ANCHOR__USER("anchor_kv_set") int32_t anchor__k_kv_set(uint64_t, uint64_t);
ANCHOR__USER("anchor_count_tokens") uint64_t anchor__k_count_tokens(uint64_t);

/* ---- Memory. Compilers call these four. ---- */

#ifndef __wasm__
#ifdef __cplusplus
}
#endif
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
#else
__attribute__((weak)) void *memcpy(void *to, const void *from, size_t n) {
    char *t = (char *)to;
    for (const char *f = (const char *)from; n; n--) *t++ = *f++;
    return to;
}
__attribute__((weak)) void *memset(void *to, int c, size_t n) {
    for (char *t = (char *)to; n; n--) *t++ = (char)c;
    return to;
}
__attribute__((weak)) void *memmove(void *to, const void *from, size_t n) {
    char *t = (char *)to;
    const char *f = (const char *)from;
    if (t < f) return memcpy(to, from, n);
    while (n--) t[n] = f[n];
    return to;
}
__attribute__((weak)) int memcmp(const void *a, const void *b, size_t n) {
    const uint8_t *x = (const uint8_t *)a, *y = (const uint8_t *)b;
    for (; n; n--, x++, y++)
        if (*x != *y) return *x < *y ? -1 : 1;
    return 0;
}
#endif

/* The heap has three parts, in this order: what anchor_keep_memory kept, the room lent to
 * the host, and what the running call has allocated. */
#ifdef __wasm__
extern unsigned char __heap_base;
#define ANCHOR__ORIGIN ((uintptr_t)0)
#else /* tests have a heap of their own, in which addresses of 32 bits count */
static union { char bytes[1 << 24]; uint64_t aligned; } anchor__heap;
#define ANCHOR__ORIGIN ((uintptr_t)anchor__heap.bytes)
#endif
static struct {
    anchor_mailbox_t box;
    uint32_t document; /* the field of the mailbox after those */
    uint32_t boxed;    /* whether the request of the call came from there */
    uint32_t kept, top;
    uint32_t absent; /* bit n: the host knows that the absent column n is read */
} anchor__mem = {{sizeof(anchor_mailbox_t) + sizeof(uint32_t), 0, 0, 0, 0, 0}, 0, 0, 0, 0, 0};

/* Grows the memory up to address end. Returns 0 if the host has no more. */
ANCHOR__SMALL int anchor__grow(uint64_t end) {
#ifdef __wasm__
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) << 16;
    if (end <= have) return 1;
    if (end > UINT32_MAX - 65535u) return 0;
    return __builtin_wasm_memory_grow(0, (uint32_t)((end - have + 65535) >> 16)) != SIZE_MAX;
#else
    return end <= sizeof anchor__heap.bytes;
#endif
}

static inline uint32_t anchor__kept(void) {
#ifdef __wasm__
    if (!anchor__mem.kept) anchor__mem.kept = ((uint32_t)(uintptr_t)&__heap_base + 7) & ~7u;
#endif
    return anchor__mem.kept;
}

/* Allocates memory until the end of the call, at a multiple of 8, of undefined content.
 * The call ends in a trap if there is none. */
ANCHOR__SMALL void *anchor_alloc(uint32_t n) {
    uint32_t at = anchor__mem.top;
    uint64_t end = (uint64_t)at + (((uint64_t)n + 7) & ~7ull);
    if (!anchor__grow(end)) __builtin_trap();
    anchor__mem.top = (uint32_t)end;
    return (void *)(ANCHOR__ORIGIN + at);
}

/* Keeps for good what the running call has allocated, such as an index that the
 * operation init builds. */
static inline void anchor_keep_memory(void) {
    anchor__mem.kept = anchor__mem.top;
    anchor__mem.box.in_addr = anchor__mem.box.in_cap = 0;
}

/* Where long values of the request document end, so that a search for a member does not read
 * its long neighbours each time. Only the document is in it: nothing changes it during a call.
 * Of two values with the same place the longer one stays. */
static struct {
    const char *from, *to; /* the document, null in a call without one */
    struct { const char *at, *end; } of[64];
} anchor__ends;

static inline void anchor__begin(void) {
    anchor__mem.top = anchor__kept() + anchor__mem.box.in_cap;
    anchor__mem.box.out_addr = anchor__mem.box.out_len = anchor__mem.absent = 0;
    anchor__ends.to = 0;
}

/* ---- Text ---- */

static inline anchor_text anchor_str(const char *s) {
    anchor_text t = {s, 0};
    while (s[t.len]) t.len++;
    return t;
}

static inline int anchor_equal(anchor_text a, anchor_text b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

/* Reports whether text contains part. Every text contains the empty one. */
static inline int anchor_contains(anchor_text text, anchor_text part) {
    if (part.len == 0) return 1;
    for (uint32_t at = 0; at + part.len <= text.len; at++) {
        uint32_t i = 0;
        while (i < part.len && text.ptr[at + i] == part.ptr[i]) i++;
        if (i == part.len) return 1;
    }
    return 0;
}

/* A copy with the letters A to Z in lower case. */
static inline anchor_text anchor_lower(anchor_text text) {
    char *to = (char *)anchor_alloc(text.len);
    for (uint32_t i = 0; i < text.len; i++) to[i] = text.ptr[i] >= 'A' && text.ptr[i] <= 'Z' ? text.ptr[i] + 32 : text.ptr[i];
    return text.ptr = to, text;
}

static inline int anchor_is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* The text without white space around it. */
static inline anchor_text anchor_trim(anchor_text text) {
    while (text.len && anchor_is_space(text.ptr[text.len - 1])) text.len--;
    while (text.len && anchor_is_space(*text.ptr)) text.ptr++, text.len--;
    return text;
}

/* Takes the next word off the front of rest. Its len is 0 if there is none. */
static inline anchor_text anchor_next_word(anchor_text *rest) {
    while (rest->len && anchor_is_space(*rest->ptr)) rest->ptr++, rest->len--;
    anchor_text word = {rest->ptr, 0};
    while (word.len < rest->len && !anchor_is_space(word.ptr[word.len])) word.len++;
    rest->ptr += word.len, rest->len -= word.len;
    return word;
}

/* Text under construction. Start with anchor_buf b = {0}. */
typedef struct { char *ptr; uint32_t len, cap; } anchor_buf;

ANCHOR__ONCE void anchor__room(anchor_buf *b, uint32_t n) {
    uint32_t want = b->len + n;
    if (want <= b->cap) return;
    if (want < 2 * b->cap) want = 2 * b->cap;
    if (b->cap && (uintptr_t)b->ptr + b->cap == ANCHOR__ORIGIN + anchor__mem.top) {
        anchor_alloc(want - b->cap); /* nothing was allocated since, so it grows in place */
    } else {
        char *p = (char *)anchor_alloc((want + 7) & ~7u);
        if (b->len) memcpy(p, b->ptr, b->len);
        b->ptr = p;
    }
    b->cap = (uint32_t)(ANCHOR__ORIGIN + anchor__mem.top - (uintptr_t)b->ptr);
}

ANCHOR__ONCE void anchor_add_char(anchor_buf *b, char c) {
    anchor__room(b, 1);
    b->ptr[b->len++] = c;
}
ANCHOR__ONCE void anchor_add_text(anchor_buf *b, anchor_text t) {
    if (t.len == 0) return;
    anchor__room(b, t.len);
    memcpy(b->ptr + b->len, t.ptr, t.len);
    b->len += t.len;
}
ANCHOR__SMALL void anchor_add(anchor_buf *b, const char *s) { anchor_add_text(b, anchor_str(s)); }

static inline anchor_text anchor_buf_text(const anchor_buf *b) {
    anchor_text t = {b->ptr, b->len};
    return t;
}

ANCHOR__SMALL void anchor_add_int(anchor_buf *b, int64_t v) {
    char digits[20];
    uint32_t n = 0;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do digits[n++] = (char)('0' + u % 10);
    while (u /= 10);
    if (v < 0) anchor_add_char(b, '-');
    while (n) anchor_add_char(b, digits[--n]);
}

/* ---- Numbers, exact to the last bit ---- */

/* Returns m * 2^two * 10^ten as 64 bits, the first of them set, times 2^*exp.
 * The last bit is set if anything was cut off. m is not 0, ten within ±400. */
ANCHOR__ONCE uint64_t anchor__scale(uint64_t m, int two, int ten, int *exp) {
    uint32_t w[40] = {0}, h = 0, rest = 0;
    int left = ten < 0 ? -ten : ten;
    if (ten < 0) h = (uint32_t)(left * 75 / 1024 + 3); /* room for the quotient: 2.33 bits for each power of ten */
    w[h] = (uint32_t)m, w[h + 1] = (uint32_t)(m >> 32);
    two += ten - 32 * (int)h, h += 2;
    while (left > 0) {
        uint32_t five = 1, n = left < 13 ? (uint32_t)left : 13;
        uint64_t carry = 0;
        left -= (int)n;
        while (n--) five *= 5;
        if (ten > 0) {
            for (uint32_t i = 0; i < h; i++, carry >>= 32) w[i] = (uint32_t)(carry += (uint64_t)w[i] * five);
            if (carry) w[h++] = (uint32_t)carry;
        } else {
            for (uint32_t i = h; i-- > 0; carry %= five) w[i] = (uint32_t)((carry = carry << 32 | w[i]) / five);
            rest |= (uint32_t)carry;
        }
    }
    while (w[h - 1] == 0) h--;
    uint32_t low = h > 2 ? w[h - 3] : 0, shift = (uint32_t)__builtin_clz(w[h - 1]);
    uint64_t top = (uint64_t)w[h - 1] << 32 | (h > 1 ? w[h - 2] : 0);
    for (uint32_t i = 0; i + 3 < h; i++) rest |= w[i];
    *exp = two + 32 * ((int)h - 2) - (int)shift;
    if (shift) top = top << shift | low >> (32 - shift), low <<= shift;
    return top | (rest || low);
}

static inline double anchor__bits(uint64_t bits) {
    union { uint64_t u; double d; } v = {bits};
    return v.d;
}
static inline uint64_t anchor__double_bits(double d) {
    union { double d; uint64_t u; } v = {d};
    return v.u;
}

/* Returns m * 10^ten, rounded to the nearest double. */
ANCHOR__ONCE double anchor__double(uint64_t m, int ten) {
    int exp, drop = 11;
    if (m == 0 || ten < -400) return 0;
    if (ten > 310) return anchor__bits(0x7ffull << 52);
    if (m >> 53 == 0 && ten >= -22 && ten <= 22) { /* both exact: one rounding */
        double p = 1;
        for (int i = ten < 0 ? -ten : ten; i > 0; i--) p *= 10;
        return ten < 0 ? (double)m / p : (double)m * p;
    }
    m = anchor__scale(m, 0, ten, &exp);
    if (exp < -1085) drop = -1074 - exp; /* subnormal */
    if (drop > 64) return 0;
    uint64_t half = 1ull << (drop - 1), kept = drop == 64 ? 0 : m >> drop, cut = drop == 64 ? m : m & (2 * half - 1);
    if (cut > half || (cut == half && (kept & 1))) kept++;
    int biased = exp + drop + 1075; /* of kept, with its bit 52 set */
    if (drop > 11 && kept >> 52 == 0) return anchor__bits(kept);
    if (kept >> 53) kept >>= 1, biased++;
    if (biased >= 0x7ff) return anchor__bits(0x7ffull << 52);
    return anchor__bits((uint64_t)biased << 52 | (kept & ((1ull << 52) - 1)));
}

/* Adds a finite number with a fraction or an exponent, so that it reads back as the same
 * bits. */
ANCHOR__ONCE void anchor_add_double(anchor_buf *b, double d) {
    uint64_t bits = anchor__double_bits(d), m = bits & ((1ull << 52) - 1), n;
    int two = (int)(bits >> 52 & 0x7ff), exp, ten, digits = 17;
    char text[17];
    if (bits >> 63) anchor_add_char(b, '-');
    if (two == 0 && m == 0) {
        anchor_add(b, "0.0");
        return;
    }
    if (two) m |= 1ull << 52;
    two = (two ? two : 1) - 1075;
    ten = 16 - (two + 63 - __builtin_clzll(m)) * 30103 / 100000;
    for (;;) { /* n is d * 10^ten with 17 digits */
        n = anchor__scale(m, two, ten, &exp);
        n = (n >> -exp) + (n >> (-exp - 1) & 1);
        if (n >= 100000000000000000ull) ten--;
        else if (n < 10000000000000000ull) ten++;
        else break;
    }
    uint64_t fewer = (n + 50) / 100;
    if (anchor__double_bits(anchor__double(fewer, 2 - ten)) == (bits & ~(1ull << 63))) n = fewer * 100;
    if (n == 100000000000000000ull) n /= 10, ten--;
    for (int i = 17; i-- > 0; n /= 10) text[i] = (char)('0' + n % 10);
    while (digits > 1 && text[digits - 1] == '0') digits--;
    int point = 17 - ten; /* d is 0.digits * 10^point */
    if (point < -4 || point > 17) {
        anchor_add_char(b, text[0]);
        if (digits > 1) anchor_add_char(b, '.');
        for (int i = 1; i < digits; i++) anchor_add_char(b, text[i]);
        anchor_add_char(b, 'e');
        anchor_add_int(b, point - 1);
        return;
    }
    if (point <= 0) anchor_add(b, "0.");
    for (int i = point; i < 0; i++) anchor_add_char(b, '0');
    for (int i = 0; i < digits || i < point; i++) {
        if (i == point && i > 0) anchor_add_char(b, '.');
        anchor_add_char(b, i < digits ? text[i] : '0');
    }
    if (digits <= point) anchor_add(b, ".0");
}

/* ---- Reading JSON ---- */

/* The text of one JSON value. Its len is 0 if there is none. */
typedef anchor_text anchor_json;

/* Steps through the members of an object or the elements of a list. */
typedef struct { const char *at, *end; } anchor_json_iter;

static inline const char *anchor__space(const char *p, const char *end) {
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r')) p++;
    return p;
}

/* Returns the first quote or backslash at or after p, or end. It looks at eight bytes at
 * a time, because most of a request is text. */
static inline const char *anchor__plain(const char *p, const char *end) {
    const uint64_t ones = 0x0101010101010101u;
    for (; end - p >= 8; p += 8) {
        uint64_t word, quote, slash;
        __builtin_memcpy(&word, p, 8);
        quote = word ^ ones * '"', slash = word ^ ones * '\\';
        if ((((quote - ones) & ~quote) | ((slash - ones) & ~slash)) & ones << 7) break;
    }
    while (p < end && *p != '"' && *p != '\\') p++;
    return p;
}

ANCHOR__SMALL void anchor__index(const char *from, const char *to) {
    memset(&anchor__ends, 0, sizeof anchor__ends);
    anchor__ends.from = from, anchor__ends.to = to;
}

/* Returns the end of the value that begins at p, or null if it does not end. */
ANCHOR__ONCE const char *anchor__scan(const char *p, const char *end) {
    uint32_t depth = 0;
    do {
        if (p == end) return 0;
        char c = *p++;
        if (c == '"') {
            while ((p = anchor__plain(p, end)) < end && *p != '"') p += end - p > 1 ? 2 : 1;
            if (p++ >= end) return 0;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (depth-- == 0) return 0;
        } else if (depth == 0) {
            while (p < end && *p != ',' && *p != '}' && *p != ']' && *p > ' ') p++;
        }
    } while (depth);
    return p;
}

/* Like anchor__scan, with what earlier calls found. */
ANCHOR__ONCE const char *anchor__skip(const char *p, const char *end) {
    uint32_t slot = (uint32_t)(uintptr_t)p * 0x9e3779b1u >> 26;
    if (p < anchor__ends.from || p >= anchor__ends.to) return anchor__scan(p, end);
    if (anchor__ends.of[slot].at == p && anchor__ends.of[slot].end <= end) return anchor__ends.of[slot].end;
    const char *found = anchor__scan(p, end);
    if (found && found - p >= 64 && found - p > anchor__ends.of[slot].end - anchor__ends.of[slot].at)
        anchor__ends.of[slot].at = p, anchor__ends.of[slot].end = found;
    return found;
}

static inline anchor_json_iter anchor_json_each(anchor_json v) {
    anchor_json_iter it = {0, 0};
    if (v.len > 1 && (*v.ptr == '{' || *v.ptr == '[')) it.at = v.ptr + 1, it.end = v.ptr + v.len;
    return it;
}

/* Steps to the next element. Returns 0 at the end. key may be null. */
ANCHOR__ONCE int anchor_json_next(anchor_json_iter *it, anchor_json *key, anchor_json *value) {
    if (!it->at) return 0;
    for (int part = 0; part < 2; part++) {
        const char *p = anchor__space(it->at, it->end), *end;
        while (p < it->end && (*p == ',' || *p == ':')) p = anchor__space(p + 1, it->end);
        if (!(end = anchor__skip(p, it->end))) return it->at = 0, 0;
        value->ptr = p, value->len = (uint32_t)(end - p);
        it->at = anchor__space(end, it->end);
        if (part == 1 || it->at == it->end || *it->at != ':') break;
        if (key) *key = *value;
    }
    return 1;
}

static inline uint32_t anchor__hex4(const char *p) {
    uint32_t v = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t c = (uint8_t)p[i];
        v = v << 4 | (c <= '9' ? c - '0' : (c | 32) - 'a' + 10) % 16;
    }
    return v;
}

static inline uint32_t anchor__utf8(char *to, uint32_t c) {
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000) return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
    return to[0] = (char)(0xf0 | c >> 18), to[1] = (char)(0x80 | (c >> 12 & 63)), to[2] = (char)(0x80 | (c >> 6 & 63)), to[3] = (char)(0x80 | (c & 63)), 4;
}

/* Decodes a JSON string into to, which has room for as many bytes as v has. */
ANCHOR__ONCE uint32_t anchor__unescape(char *to, anchor_json v) {
    const char *p = v.ptr + 1, *end = v.ptr + v.len - 1;
    uint32_t n = 0;
    if (v.len < 2 || *v.ptr != '"') return 0;
    while (p < end) {
        const char *plain = anchor__plain(p, end);
        uint32_t run = (uint32_t)(plain - p);
        if (run) memcpy(to + n, p, run);
        n += run, p = plain;
        if (p == end) break;
        char c = *p++;
        if (c != '\\' || p == end) {
            to[n++] = c;
            continue;
        }
        c = *p++;
        if (c != 'u' || end - p < 4) {
            to[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'b' ? '\b' : c == 'f' ? '\f' : c;
            continue;
        }
        uint32_t u = anchor__hex4(p), low;
        p += 4;
        if (u >> 10 == 0x36 && end - p >= 6 && p[0] == '\\' && p[1] == 'u' && (low = anchor__hex4(p + 2)) >> 10 == 0x37)
            u = 0x10000 + ((u & 0x3ff) << 10) + (low & 0x3ff), p += 6;
        else if (u >> 11 == 0x1b) u = 0xfffd; /* half of a pair */
        n += anchor__utf8(to + n, u);
    }
    return n;
}

/* The decoded text of a JSON string. It is empty for any other value. */
ANCHOR__SMALL anchor_text anchor_json_text(anchor_json v) {
    anchor_text t = {v.ptr + 1, v.len - 2};
    if (v.len < 2 || *v.ptr != '"') return t.ptr = 0, t.len = 0, t;
    for (uint32_t i = 0; i < t.len; i++) {
        if (t.ptr[i] != '\\') continue;
        char *to = (char *)anchor_alloc(t.len);
        t.len = anchor__unescape(to, v), t.ptr = to;
        break;
    }
    return t;
}

/* The member of an object. Its len is 0 if there is none. */
ANCHOR__SMALL anchor_json anchor_json_get(anchor_json object, const char *name) {
    anchor_json_iter it = anchor_json_each(object);
    anchor_json key = {0, 0}, value, none = {0, 0};
    anchor_text want = anchor_str(name);
    while (anchor_json_next(&it, &key, &value))
        if (anchor_equal(anchor_json_text(key), want)) return value;
    return none;
}

/* Reads any value. A number without fraction and exponent is ANCHOR_INT if it fits. Lists
 * and objects are ANCHOR_JSON. A value that does not exist is null. */
ANCHOR__ONCE anchor_value anchor_json_value(anchor_json v) {
    anchor_value out = {ANCHOR_NULL, 0, {0, 0}};
    const char *p = v.ptr, *end = v.ptr + v.len;
    uint64_t m = 0, exp = 0;
    int ten = 0, whole = 1, fits = 1, negative = 0, minus = 0;
    if (v.len == 0 || *p == 'n') return out;
    if (*p == '"') return out.kind = ANCHOR_STRING, out.text = anchor_json_text(v), out;
    if (*p == '{' || *p == '[') return out.kind = ANCHOR_JSON, out.text = v, out;
    if (*p == 't' || *p == 'f') return out.kind = ANCHOR_BOOL, out.bits = *p == 't', out;
    if (*p == '-') negative = 1, p++;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.') {
            whole = 0;
        } else if (m <= 999999999999999999u || (whole && m <= (UINT64_MAX >> 1) / 10)) {
            m = m * 10 + (uint64_t)(*p - '0') % 10, ten -= !whole;
        } else {
            ten += whole, fits = 0;
        }
    }
    if (p < end) {
        whole = 0, p++;
        if (p < end && (*p == '-' || *p == '+')) minus = *p++ == '-';
        for (; p < end && exp < 10000; p++) exp = exp * 10 + (uint64_t)(*p - '0') % 10;
        ten += minus ? -(int)exp : (int)exp;
    }
    if (whole && fits && m <= (uint64_t)INT64_MAX + (uint64_t)negative) {
        return out.kind = ANCHOR_INT, out.bits = negative ? 0 - m : m, out;
    }
    out.bits = anchor__double_bits(anchor__double(m, ten)) | (uint64_t)negative << 63;
    return out.kind = ANCHOR_FLOAT, out;
}

/* A value as a number, or fallback if it is not a number. */
static inline double anchor_number(anchor_value v, double fallback) {
    return v.kind == ANCHOR_INT ? (double)(int64_t)v.bits : v.kind == ANCHOR_FLOAT ? anchor__bits(v.bits) : fallback;
}
static inline double anchor_json_number(anchor_json v, double fallback) { return anchor_number(anchor_json_value(v), fallback); }

/* All 64 bits of a value that is a whole number, or fallback if it is none. A double has 53 of them. */
static inline int64_t anchor_int(anchor_value v, int64_t fallback) {
    double d = v.kind == ANCHOR_FLOAT ? anchor__bits(v.bits) : 0.5;
    if (v.kind == ANCHOR_INT) return (int64_t)v.bits;
    return d >= -9223372036854775808.0 && d < 9223372036854775808.0 && (double)(int64_t)d == d ? (int64_t)d : fallback;
}
static inline int64_t anchor_json_int(anchor_json v, int64_t fallback) { return anchor_int(anchor_json_value(v), fallback); }

/* A setting of the step, by name. */
ANCHOR__SMALL anchor_text anchor_setting_text(const anchor_request *r, const char *name, const char *fallback) {
    anchor_json v = anchor_json_get(r->settings, name);
    return v.len && *v.ptr == '"' ? anchor_json_text(v) : anchor_str(fallback);
}
ANCHOR__SMALL double anchor_setting_number(const anchor_request *r, const char *name, double fallback) {
    return anchor_json_number(anchor_json_get(r->settings, name), fallback);
}
ANCHOR__SMALL int64_t anchor_setting_int(const anchor_request *r, const char *name, int64_t fallback) {
    return anchor_json_int(anchor_json_get(r->settings, name), fallback);
}
ANCHOR__SMALL int anchor_setting_bool(const anchor_request *r, const char *name, int fallback) {
    anchor_value v = anchor_json_value(anchor_json_get(r->settings, name));
    return v.kind == ANCHOR_BOOL ? (int)v.bits : fallback;
}

/* Adds text as a JSON string. */
ANCHOR__ONCE void anchor_add_json(anchor_buf *b, anchor_text t) {
    anchor_add_char(b, '"');
    for (uint32_t i = 0; i < t.len; i++) {
        uint8_t c = (uint8_t)t.ptr[i];
        if (c < 32) {
            anchor_add(b, "\\u00");
            anchor_add_char(b, (char)('0' + (c >> 4)));
            anchor_add_char(b, "0123456789abcdef"[c & 15]);
            continue;
        }
        if (c == '"' || c == '\\') anchor_add_char(b, '\\');
        anchor_add_char(b, (char)c);
    }
    anchor_add_char(b, '"');
}

/* ---- What the host offers a plugin ---- */

/* Copies text into a new block of the host. */
ANCHOR__SMALL uint64_t anchor__block(anchor_text t) {
    uint64_t at = anchor__k_alloc(t.len), word;
    uint32_t i = 0;
    for (; i + 8 <= t.len; i += 8) {
        __builtin_memcpy(&word, t.ptr + i, 8);
        anchor__k_store_u64(at + i, word);
    }
    for (; i < t.len; i++) anchor__k_store_u8(at + i, (uint8_t)t.ptr[i]);
    return at;
}

ANCHOR__SMALL anchor_text anchor__unblock(uint64_t at) {
    uint32_t n = (uint32_t)anchor__k_length(at), i = 0;
    char *p = (char *)anchor_alloc(n);
    anchor_text t = {p, n};
    for (; i + 8 <= n; i += 8) {
        uint64_t word = anchor__k_load_u64(at + i);
        __builtin_memcpy(p + i, &word, 8);
    }
    for (; i < n; i++) p[i] = (char)anchor__k_load_u8(at + i);
    return t;
}

/* Fails the call. Use it as: return anchor_fail("no index"); */
ANCHOR__SMALL int anchor_fail_text(anchor_text why) { return anchor__k_error_set(anchor__block(why)), -1; }
static inline int anchor_fail(const char *why) { return anchor_fail_text(anchor_str(why)); }

static inline void anchor_log_debug(anchor_text t) { anchor__k_log_debug(anchor__block(t)); }
static inline void anchor_log_info(anchor_text t) { anchor__k_log_info(anchor__block(t)); }
static inline void anchor_log_warn(anchor_text t) { anchor__k_log_warn(anchor__block(t)); }
static inline void anchor_log_error(anchor_text t) { anchor__k_log_error(anchor__block(t)); }

static void anchor__absent(uint32_t column) {
    const char *line = column == ANCHOR_TEXT ? "anchor: column text was not sent"
        : column == ANCHOR_METADATA ? "anchor: column metadata was not sent"
        : column == ANCHOR_SOURCE ? "anchor: column source was not sent"
        : column == ANCHOR_EMBEDDING ? "anchor: column embedding was not sent" : "anchor: column id was not sent";
    if (column == 0 || anchor__mem.absent >> column & 1) return;
    anchor__mem.absent |= 1u << column;
    anchor_log_warn(anchor_str(line));
}

/* Gets the value that the operator configured. Returns 0 if there is none. */
static inline int anchor_config(const char *key, anchor_text *value) {
    uint64_t at = anchor__k_config_get(anchor__block(anchor_str(key)));
    return at ? *value = anchor__unblock(at), 1 : 0;
}

/* The key-value store, which needs the permission kv. Get returns 0 if there is no such
 * key. Set with empty text deletes the key. Set returns 0 if there is no room. */
static inline int anchor_kv_get(anchor_text key, anchor_text *value) {
    uint64_t at = anchor__k_kv_get(anchor__block(key));
    return at ? *value = anchor__unblock(at), 1 : 0;
}
static inline int anchor_kv_set(anchor_text key, anchor_text value) {
    return anchor__k_kv_set(anchor__block(key), value.len ? anchor__block(value) : 0) == 0;
}

/* Counts the tokens of a text of at most 1 MiB. It needs the permission for the service
 * count_tokens. */
static inline uint64_t anchor_count_tokens(anchor_text t) { return anchor__k_count_tokens(anchor__block(t)); }

/* A request. method is GET if it is null. headers is a JSON object of strings, or empty.
 * timeout_ms is the time after which there is no answer; 0: that of the call. */
typedef struct {
    const char *method;
    anchor_text url, headers, body;
    uint32_t timeout_ms;
} anchor_http_request;

/* An answer. status is 0 if there is none. The names of headers are in lower case:
 * anchor_json_text(anchor_json_get(answer.headers, "content-type")). error says why there is
 * no answer: timeout, dns, connect, certificate, tls, reset, short_body, too_large or network. */
typedef struct {
    int status;
    anchor_json headers;
    anchor_text body, error;
} anchor_http_response;

ANCHOR__SMALL uint64_t anchor__body(anchor_text body) { return body.len ? anchor__block(body) : 0; }

ANCHOR__SMALL void anchor__add_request(anchor_buf *b, const anchor_http_request *r, uint64_t body) {
    anchor_add(b, "{\"method\":");
    anchor_add_json(b, anchor_str(r->method ? r->method : "GET"));
    anchor_add(b, ",\"url\":");
    anchor_add_json(b, r->url);
    if (r->headers.len) anchor_add(b, ",\"headers\":"), anchor_add_text(b, r->headers);
    if (r->timeout_ms) anchor_add(b, ",\"timeout_ms\":"), anchor_add_int(b, r->timeout_ms);
    if (body) anchor_add(b, ",\"body\":"), anchor_add_int(b, (int64_t)body);
    anchor_add_char(b, '}');
}

/* Sends a request, with permission http. Returns the status, or 0 if there was no answer. */
ANCHOR__SMALL int anchor_http(const anchor_http_request *r, anchor_http_response *answer) {
    anchor_buf b = {0, 0, 0};
    anchor_text none = {0, 0};
    anchor__add_request(&b, r, 0);
    uint64_t at = anchor__k_http_request(anchor__block(anchor_buf_text(&b)), anchor__body(r->body));
    int status = anchor__k_http_status_code();
    uint64_t headers = anchor__k_http_headers();
    anchor_json all = headers ? anchor__unblock(headers) : none;
    answer->status = status;
    answer->error = status ? none : anchor_json_text(anchor_json_get(all, "anchor-error"));
    answer->body = at && status ? anchor__unblock(at) : none;
    answer->headers = status ? all : none;
    return status;
}

/* Sends n requests, at most 32, at the same time, with permission http, and sets as many
 * answers. The host's limits for bodies hold for those of the whole batch. Only anchor-host
 * offers it. Returns 0 if the host did not answer all. */
ANCHOR__SMALL int anchor_http_batch(const anchor_http_request *r, uint32_t n, anchor_http_response *answers) {
    anchor_buf b = {0, 0, 0};
    anchor_text none = {0, 0};
    anchor_json key = none, value;
    uint32_t i = 0;
    anchor_add(&b, "{\"requests\":[");
    for (; i < n; i++) {
        if (i) anchor_add_char(&b, ',');
        anchor__add_request(&b, &r[i], anchor__body(r[i].body));
    }
    anchor_add(&b, "]}");
    uint64_t at = anchor__k_http_batch(anchor__block(anchor_buf_text(&b)));
    anchor_json_iter it = anchor_json_each(anchor_json_get(at ? anchor__unblock(at) : none, "responses"));
    for (i = 0; i < n && anchor_json_next(&it, &key, &value); i++) {
        uint64_t body = (uint64_t)anchor_json_number(anchor_json_get(value, "body"), 0);
        answers[i].status = (int)anchor_json_number(anchor_json_get(value, "status"), 0);
        answers[i].headers = anchor_json_get(value, "headers");
        answers[i].error = anchor_json_text(anchor_json_get(value, "error"));
        answers[i].body = body ? anchor__unblock(body) : none;
    }
    return i == n;
}

/* ---- The reply ---- */

/* A metadata value with its key. */
typedef struct { anchor_text key; anchor_value value; } anchor_field;

static inline anchor_field anchor__field(const char *key, uint8_t kind, uint64_t bits, anchor_text text) {
    anchor_field f = {anchor_str(key), {kind, bits, text}};
    return f;
}
static inline anchor_field anchor_field_text(const char *key, anchor_text v) { return anchor__field(key, ANCHOR_STRING, 0, v); }
static inline anchor_field anchor_field_int(const char *key, int64_t v) { return anchor__field(key, ANCHOR_INT, (uint64_t)v, anchor_str("")); }
static inline anchor_field anchor_field_double(const char *key, double v) { return anchor__field(key, ANCHOR_FLOAT, anchor__double_bits(v), anchor_str("")); }
static inline anchor_field anchor_field_bool(const char *key, int v) { return anchor__field(key, ANCHOR_BOOL, v != 0, anchor_str("")); }

/* A new item. Only content is required. key tells items of one plugin apart. created_at
 * is in nanoseconds since 1970; 0 or ANCHOR_NO_TIME means none. */
typedef struct {
    anchor_text key, content, source;
    double score;
    uint32_t priority;
    int64_t created_at;
    const anchor_field *metadata;
    uint32_t fields;
} anchor_item;

typedef struct { const anchor_field *fields; uint32_t n; } anchor__fields;
typedef struct { uint32_t *rows; void *values; uint32_t n, cap; } anchor__edits;

/* Changes under construction. What is not mentioned stays as it is. Text must
 * outlive the function: from the request, from anchor_alloc, or a literal. */
typedef struct {
    const anchor_request *request;
    int keeps, orders;
    anchor__edits keep, text, metadata, priority, score, order;
    anchor_item *items;
    uint32_t item_count, item_cap;
    const char *error;
} anchor_reply;

/* Makes room for a row and its value of that size. Returns how many rows there are then,
 * or 0 after a mistake. */
ANCHOR__SMALL uint32_t anchor__edit(anchor_reply *c, anchor__edits *e, uint32_t row, uint32_t size, uint32_t limit) {
    if (row >= limit) c->error = "reply: a row that does not exist";
    else if (e->n == e->cap && e->cap) c->error = "reply: more changes than rows";
    if (c->error) return 0;
    if (e->cap == 0) {
        e->rows = (uint32_t *)anchor_alloc(4 * limit);
        e->values = anchor_alloc(size * limit);
        e->cap = limit;
    }
    e->rows[e->n] = row;
    return ++e->n;
}

/* The rows to keep, in ascending order. Once this is called, no other row stays. */
static inline void anchor_keep_none(anchor_reply *c) { c->keeps = 1; }
static inline void anchor_keep(anchor_reply *c, uint32_t row) {
    c->keeps = 1;
    anchor__edit(c, &c->keep, row, 0, c->request->rows);
}

/* Replaces the text of a row. */
static inline void anchor_set_text(anchor_reply *c, uint32_t row, anchor_text text) {
    uint32_t n = anchor__edit(c, &c->text, row, sizeof text, c->request->rows);
    if (n) ((anchor_text *)c->text.values)[n - 1] = text;
}

/* Copies fields, because the caller's may lie on the stack. A key that occurs twice is a
 * mistake, which only the batch lane could express. */
ANCHOR__SMALL const anchor_field *anchor__copy(anchor_reply *c, const anchor_field *fields, uint32_t count) {
    uint32_t size = count * (uint32_t)sizeof *fields;
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (anchor_equal(fields[i].key, fields[k].key)) c->error = "reply: a metadata key twice in a row";
    return count ? (const anchor_field *)memcpy(anchor_alloc(size), fields, size) : fields;
}

/* Replaces all metadata of a row. */
static inline void anchor_set_metadata(anchor_reply *c, uint32_t row, const anchor_field *fields, uint32_t count) {
    anchor__fields f = {anchor__copy(c, fields, count), count};
    uint32_t n = anchor__edit(c, &c->metadata, row, sizeof f, c->request->rows);
    if (n) ((anchor__fields *)c->metadata.values)[n - 1] = f;
}

/* The metadata of a row as *count fields, followed by room for more. */
static inline anchor_field *anchor_metadata(const anchor_request *r, uint32_t row, uint32_t more, uint32_t *count) {
    *count = anchor_meta_count(r, row);
    anchor_field *f = (anchor_field *)anchor_alloc((*count + more) * (uint32_t)sizeof *f);
    for (uint32_t i = 0; i < *count; i++) f[i].value = anchor_meta_at(r, row, i, &f[i].key);
    return f;
}

/* Replaces the priority of a row, 1 to 10. */
static inline void anchor_set_priority(anchor_reply *c, uint32_t row, uint32_t priority) {
    uint32_t n = anchor__edit(c, &c->priority, row, 4, c->request->rows);
    if (n) ((uint32_t *)c->priority.values)[n - 1] = priority;
}

/* Replaces the score of a row, 0 to 1. */
static inline void anchor_set_score(anchor_reply *c, uint32_t row, double score) {
    uint32_t n = anchor__edit(c, &c->score, row, 8, c->request->rows);
    if (!(score >= 0 && score <= 1)) c->error = "reply: a score that is not within 0..1";
    if (n) ((double *)c->score.values)[n - 1] = score;
}

/* Adds an item and returns its row number, for anchor_order. */
ANCHOR__SMALL uint32_t anchor_add_item(anchor_reply *c, anchor_item item) {
    if (c->item_count == c->item_cap) {
        anchor_item *more = (anchor_item *)anchor_alloc((2 * c->item_cap + 8) * (uint32_t)sizeof item);
        if (c->item_count) memcpy(more, c->items, c->item_count * sizeof item);
        c->items = more, c->item_cap = 2 * c->item_cap + 8;
    }
    if (!(item.score >= 0 && item.score <= 1)) c->error = "reply: a score that is not within 0..1";
    item.metadata = anchor__copy(c, item.metadata, item.fields);
    c->items[c->item_count++] = item;
    return c->request->rows + c->item_count - 1;
}

/* Appends a row to the new order. It must name all rows that are kept, new items
 * included. Add the items first. */
static inline void anchor_order(anchor_reply *c, uint32_t row) {
    c->orders = 1;
    anchor__edit(c, &c->order, row, 0, c->request->rows + c->item_count);
}

/* ---- The reply in the batch lane ---- */

/* The rows and the dictionary of a metadata section, before it is written. */
typedef struct {
    const anchor__fields *rows;
    uint32_t n, entries, value_bytes, key_count, key_bytes;
    anchor_text *keys;
    uint32_t *of; /* for one row: the number of the key, the position of the field */
} anchor__table;

static inline int anchor__before(anchor_text a, anchor_text b) {
    uint32_t n = a.len < b.len ? a.len : b.len;
    int d = n ? memcmp(a.ptr, b.ptr, n) : 0;
    return d ? d < 0 : a.len < b.len;
}

/* Adds the new keys of a row to the dictionary, sorted. */
ANCHOR__SMALL void anchor__add_keys(anchor__table *t, const anchor__fields *row) {
    uint32_t known = t->key_count;
    for (uint32_t i = 0; i < row->n; i++) {
        anchor_text key = row->fields[i].key;
        uint32_t k = 0;
        while (k < t->key_count && !anchor_equal(t->keys[k], key)) k++;
        if (k < t->key_count) continue;
        t->key_bytes += key.len;
        for (k = t->key_count++; k > known && anchor__before(key, t->keys[k - 1]); k--) t->keys[k] = t->keys[k - 1];
        t->keys[k] = key;
    }
}

ANCHOR__SMALL anchor__table anchor__make_table(const anchor__fields *rows, uint32_t n) {
    anchor__table t = {rows, n, 0, 0, 0, 0, 0, 0};
    uint32_t widest = 0;
    for (uint32_t i = 0; i < n; i++) {
        t.entries += rows[i].n;
        if (rows[i].n > widest) widest = rows[i].n;
        for (uint32_t k = 0; k < rows[i].n; k++)
            if (rows[i].fields[k].value.kind >= ANCHOR_STRING) t.value_bytes += rows[i].fields[k].value.text.len;
    }
    t.keys = (anchor_text *)anchor_alloc(t.entries * (uint32_t)sizeof *t.keys);
    t.of = (uint32_t *)anchor_alloc(8 * widest);
    for (uint32_t i = 0; i < n; i++) anchor__add_keys(&t, &rows[i]);
    return t;
}

/* Puts the fields of a row, whose keys differ, into the order of their keys. */
ANCHOR__SMALL void anchor__sort_fields(const anchor__table *t, const anchor__fields *row) {
    uint32_t *of = t->of;
    for (uint32_t i = 0; i < row->n; i++) {
        uint32_t k = 0, j = i;
        while (!anchor_equal(t->keys[k], row->fields[i].key)) k++;
        for (; j > 0 && of[2 * j - 2] > k; j--) of[2 * j] = of[2 * j - 2], of[2 * j + 1] = of[2 * j - 1];
        of[2 * j] = k, of[2 * j + 1] = i;
    }
}

/* Sections are allocated one after the other, so nothing else may be allocated in
 * between. */
typedef struct { char *base; uint32_t count; } anchor__container;

/* Begins a section of n bytes and returns their address. */
ANCHOR__SMALL void *anchor__section_at(anchor__container *w, uint32_t id, uint32_t type, uint32_t n) {
    uint32_t *e = (uint32_t *)(void *)(w->base + ANCHOR_HEADER_SIZE + ANCHOR_ENTRY_SIZE * w->count++);
    char *p = (char *)anchor_alloc(n);
    e[0] = id | type << 16, e[1] = 0, e[2] = (uint32_t)(p - w->base), e[3] = n;
    for (uint32_t i = n; i % 8; i++) p[i] = 0;
    return p;
}

ANCHOR__SMALL void anchor__put_u32s(anchor__container *w, uint32_t id, const void *list, uint32_t n) {
    void *p = anchor__section_at(w, id, ANCHOR_TYPE_U32, 4 * n);
    if (n) memcpy(p, list, 4 * n);
}

/* Writes n texts that lie stride bytes apart. */
ANCHOR__SMALL void anchor__put_texts(anchor__container *w, uint32_t id, const anchor_text *first, uint32_t stride, uint32_t n) {
    const char *at = (const char *)first;
    uint32_t end = 0;
    for (uint32_t i = 0; i < n; i++) end += ((const anchor_text *)(const void *)(at + stride * i))->len;
    uint32_t *off = (uint32_t *)anchor__section_at(w, id, ANCHOR_TYPE_STRINGS, 4 * (n + 1) + end);
    char *to = (char *)(off + n + 1);
    end = 0;
    for (uint32_t i = 0; i < n; i++, at += stride) {
        anchor_text t = *(const anchor_text *)(const void *)at;
        off[i] = end;
        if (t.len) memcpy(to + end, t.ptr, t.len);
        end += t.len;
    }
    off[n] = end;
}

ANCHOR__SMALL void anchor__put_table(anchor__container *w, uint32_t id, const anchor__table *t) {
    uint32_t keys = t->key_count, n = t->n, e = 0, at = 0;
    uint32_t *head = (uint32_t *)anchor__section_at(w, id, ANCHOR_TYPE_METADATA,
        16 + 13 * t->entries + 4 * (n + 1) + 4 * (keys + 1) + t->key_bytes + t->value_bytes);
    uint64_t *cell = (uint64_t *)(void *)(head + 4);
    uint32_t *row = (uint32_t *)(cell + t->entries), *key_off = row + n + 1, *key = key_off + keys + 1;
    uint8_t *kind = (uint8_t *)(key + t->entries);
    char *key_bytes = (char *)(kind + t->entries), *values = key_bytes + t->key_bytes;
    head[0] = keys, head[1] = t->entries, head[2] = t->key_bytes, head[3] = t->value_bytes;
    for (uint32_t k = 0; k < keys; at += t->keys[k++].len) {
        key_off[k] = at;
        if (t->keys[k].len) memcpy(key_bytes + at, t->keys[k].ptr, t->keys[k].len);
    }
    key_off[keys] = at, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        row[i] = e;
        anchor__sort_fields(t, &t->rows[i]);
        for (uint32_t f = 0; f < t->rows[i].n; f++, e++) {
            const anchor_value *v = &t->rows[i].fields[t->of[2 * f + 1]].value;
            key[e] = t->of[2 * f], kind[e] = v->kind, cell[e] = v->bits;
            if (v->kind < ANCHOR_STRING) continue;
            cell[e] = at | (uint64_t)v->text.len << 32;
            if (v->text.len) memcpy(values + at, v->text.ptr, v->text.len);
            at += v->text.len;
        }
    }
    row[n] = e;
}

ANCHOR__SMALL void anchor__put_items(const anchor_reply *c, anchor__container *w, const anchor__table *t) {
    uint32_t n = c->item_count, keys = 0, sources = 0, priorities = 0, times = 0;
    const anchor_item *it = c->items;
    for (uint32_t i = 0; i < n; i++) keys |= it[i].key.len, sources |= it[i].source.len, priorities |= it[i].priority, times |= it[i].created_at != 0;
    if (keys) anchor__put_texts(w, ANCHOR_ID, &it->key, sizeof *it, n);
    double *score = (double *)anchor__section_at(w, ANCHOR_SCORE, ANCHOR_TYPE_F64, 8 * n);
    for (uint32_t i = 0; i < n; i++) score[i] = it[i].score;
    anchor__put_texts(w, ANCHOR_TEXT, &it->content, sizeof *it, n);
    if (t->entries) anchor__put_table(w, ANCHOR_METADATA, t);
    if (sources) anchor__put_texts(w, ANCHOR_SOURCE, &it->source, sizeof *it, n);
    if (priorities) {
        uint32_t *p = (uint32_t *)anchor__section_at(w, ANCHOR_PRIORITY, ANCHOR_TYPE_U32, 4 * n);
        for (uint32_t i = 0; i < n; i++) p[i] = it[i].priority;
    }
    if (times) {
        int64_t *at = (int64_t *)anchor__section_at(w, ANCHOR_CREATED_AT, ANCHOR_TYPE_I64, 8 * n);
        for (uint32_t i = 0; i < n; i++) at[i] = it[i].created_at ? it[i].created_at : ANCHOR_NO_TIME;
    }
}

enum {
    ANCHOR__TEXT_ROWS = 513, ANCHOR__TEXT_VALUES, ANCHOR__METADATA_ROWS, ANCHOR__METADATA_VALUES,
    ANCHOR__PRIORITY_ROWS, ANCHOR__PRIORITY_VALUES, ANCHOR__SECTIONS = 17
};

ANCHOR__SMALL void anchor__put_edits(const anchor_reply *c, anchor__container *w, const anchor__table *edited) {
    if (c->keeps) anchor__put_u32s(w, ANCHOR_KEEP, c->keep.rows, c->keep.n);
    if (c->text.n) {
        anchor__put_u32s(w, ANCHOR__TEXT_ROWS, c->text.rows, c->text.n);
        anchor__put_texts(w, ANCHOR__TEXT_VALUES, (const anchor_text *)c->text.values, sizeof(anchor_text), c->text.n);
    }
    if (c->metadata.n) {
        anchor__put_u32s(w, ANCHOR__METADATA_ROWS, c->metadata.rows, c->metadata.n);
        anchor__put_table(w, ANCHOR__METADATA_VALUES, edited);
    }
    if (c->priority.n) {
        anchor__put_u32s(w, ANCHOR__PRIORITY_ROWS, c->priority.rows, c->priority.n);
        anchor__put_u32s(w, ANCHOR__PRIORITY_VALUES, c->priority.values, c->priority.n);
    }
    if (c->score.n) {
        anchor__put_u32s(w, ANCHOR_SCORE_ROWS, c->score.rows, c->score.n);
        memcpy(anchor__section_at(w, ANCHOR_SCORE_VALUES, ANCHOR_TYPE_F64, 8 * c->score.n), c->score.values, 8 * c->score.n);
    }
    if (c->orders) anchor__put_u32s(w, ANCHOR_ORDER, c->order.rows, c->order.n);
}

/* Writes the change set into memory and states it in the mailbox. */
ANCHOR__SMALL void anchor__reply_batch(anchor_reply *c) {
    anchor__fields *of = (anchor__fields *)anchor_alloc(c->item_count * (uint32_t)sizeof *of);
    for (uint32_t i = 0; i < c->item_count; i++) of[i].fields = c->items[i].metadata, of[i].n = c->items[i].fields;
    anchor__table added = anchor__make_table(of, c->item_count);
    anchor__table edited = anchor__make_table((const anchor__fields *)c->metadata.values, c->metadata.n);
    uint32_t head = ANCHOR_HEADER_SIZE + ANCHOR__SECTIONS * ANCHOR_ENTRY_SIZE;
    anchor__container w = {(char *)anchor_alloc(head), 0};
    uint32_t *h = (uint32_t *)(void *)w.base;
    memset(h, 0, head);
    if (c->item_count) anchor__put_items(c, &w, &added);
    anchor__put_edits(c, &w, &edited);
    h[0] = ANCHOR_CHANGES_MAGIC, h[1] = 1, h[2] = ANCHOR_HEADER_SIZE, h[4] = c->item_count, h[5] = w.count;
    h[3] = anchor__mem.top - (uint32_t)(uintptr_t)w.base;
    anchor__mem.box.out_addr = (uint32_t)(uintptr_t)w.base, anchor__mem.box.out_len = h[3];
}

/* ---- The reply in the JSON lane ---- */

ANCHOR__SMALL void anchor__json_member(anchor_buf *b, const char *name) {
    char last = b->len ? b->ptr[b->len - 1] : '{';
    if (last != '{' && last != '[') anchor_add_char(b, ',');
    anchor_add_json(b, anchor_str(name));
    anchor_add_char(b, ':');
}

ANCHOR__SMALL void anchor__json_rows(anchor_buf *b, const char *name, const anchor__edits *e) {
    anchor__json_member(b, name);
    anchor_add_char(b, '[');
    for (uint32_t i = 0; i < e->n; i++) {
        if (i) anchor_add_char(b, ',');
        anchor_add_int(b, e->rows[i]);
    }
    anchor_add_char(b, ']');
}

/* Adds a metadata value as JSON. */
ANCHOR__SMALL void anchor_add_value(anchor_buf *b, anchor_value v) {
    switch (v.kind) {
    case ANCHOR_BOOL: anchor_add(b, v.bits ? "true" : "false"); break;
    case ANCHOR_INT: anchor_add_int(b, (int64_t)v.bits); break;
    case ANCHOR_FLOAT: anchor_add_double(b, anchor__bits(v.bits)); break;
    case ANCHOR_STRING: anchor_add_json(b, v.text); break;
    case ANCHOR_JSON: anchor_add_text(b, v.text); break;
    default: anchor_add(b, "null");
    }
}

ANCHOR__SMALL void anchor__json_fields(anchor_buf *b, anchor__fields f) {
    anchor__json_member(b, "metadata");
    anchor_add_char(b, '{');
    for (uint32_t i = 0; i < f.n; i++) {
        if (i) anchor_add_char(b, ',');
        anchor_add_json(b, f.fields[i].key);
        anchor_add_char(b, ':');
        anchor_add_value(b, f.fields[i].value);
    }
    anchor_add_char(b, '}');
}

/* The nanoseconds of a time as RFC 3339. */
ANCHOR__SMALL void anchor_add_time(anchor_buf *b, int64_t ns) {
    int64_t seconds = ns / 1000000000, rest = ns % 1000000000, days, day;
    if (rest < 0) rest += 1000000000, seconds--;
    days = seconds / 86400, seconds %= 86400;
    if (seconds < 0) seconds += 86400, days--;
    days += 719468; /* since 0000-03-01; all dates are after it */
    int64_t era = days / 146097, doe = days % 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
    day = doy - (153 * mp + 2) / 5 + 1;
    int64_t month = mp < 10 ? mp + 3 : mp - 9, parts[] = {yoe + era * 400 + (month <= 2), month, day, seconds / 3600, seconds / 60 % 60, seconds % 60};
    for (int i = 0; i < 6; i++) {
        if (i) anchor_add_char(b, "  --T::"[i + 1]);
        if (parts[i] < 10) anchor_add_char(b, '0');
        anchor_add_int(b, parts[i]);
    }
    anchor_add_char(b, '.');
    for (int64_t digit = 100000000; digit; digit /= 10) anchor_add_char(b, (char)('0' + rest / digit % 10));
    anchor_add_char(b, 'Z');
}

ANCHOR__SMALL void anchor__json_item(anchor_buf *b, const anchor_item *it) {
    anchor__fields f = {it->metadata, it->fields};
    anchor_add_char(b, '{');
    anchor__json_member(b, "content"), anchor_add_json(b, it->content);
    anchor__json_member(b, "score"), anchor_add_double(b, it->score);
    if (it->key.len) anchor__json_member(b, "key"), anchor_add_json(b, it->key);
    if (it->source.len) anchor__json_member(b, "source"), anchor_add_json(b, it->source);
    if (it->priority) anchor__json_member(b, "priority"), anchor_add_int(b, it->priority);
    if (f.n) anchor__json_fields(b, f);
    if (it->created_at && it->created_at != ANCHOR_NO_TIME) {
        anchor__json_member(b, "created_at"), anchor_add_char(b, '"');
        anchor_add_time(b, it->created_at), anchor_add_char(b, '"');
    }
    anchor_add_char(b, '}');
}

/* Adds new items as a JSON list, for memory and other replies that contain items. */
ANCHOR__SMALL void anchor_add_items(anchor_buf *b, const anchor_item *items, uint32_t n) {
    anchor_add_char(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) anchor_add_char(b, ',');
        anchor__json_item(b, &items[i]);
    }
    anchor_add_char(b, ']');
}

/* Adds one element {"row": …, name: value} per edit. */
ANCHOR__SMALL void anchor__json_edits(anchor_buf *b, const anchor__edits *e, char what) {
    for (uint32_t i = 0; i < e->n; i++) {
        if (b->ptr[b->len - 1] != '[') anchor_add_char(b, ',');
        anchor_add_char(b, '{');
        anchor__json_member(b, "row"), anchor_add_int(b, e->rows[i]);
        switch (what) {
        case 't': anchor__json_member(b, "content"), anchor_add_json(b, ((anchor_text *)e->values)[i]); break;
        case 'm': anchor__json_fields(b, ((anchor__fields *)e->values)[i]); break;
        case 'p': anchor__json_member(b, "priority"), anchor_add_int(b, ((uint32_t *)e->values)[i]); break;
        default: anchor__json_member(b, "score"), anchor_add_double(b, ((double *)e->values)[i]);
        }
        anchor_add_char(b, '}');
    }
}

ANCHOR__SMALL void anchor__output(anchor_buf *b) {
    if (anchor__mem.boxed) {
        anchor__mem.box.out_addr = (uint32_t)(uintptr_t)b->ptr, anchor__mem.box.out_len = b->len;
    } else {
        anchor__k_output_set(anchor__block(anchor_buf_text(b)), b->len);
    }
}

ANCHOR__SMALL void anchor__reply_json(anchor_reply *c) {
    anchor_buf b = {0, 0, 0};
    anchor_add_char(&b, '{');
    if (c->keeps) anchor__json_rows(&b, "keep", &c->keep);
    if (c->text.n || c->metadata.n || c->priority.n) {
        anchor__json_member(&b, "edits"), anchor_add_char(&b, '[');
        anchor__json_edits(&b, &c->text, 't');
        anchor__json_edits(&b, &c->metadata, 'm');
        anchor__json_edits(&b, &c->priority, 'p');
        anchor_add_char(&b, ']');
    }
    if (c->score.n) {
        anchor__json_member(&b, "scores"), anchor_add_char(&b, '[');
        anchor__json_edits(&b, &c->score, 's');
        anchor_add_char(&b, ']');
    }
    if (c->item_count) anchor__json_member(&b, "items"), anchor_add_items(&b, c->items, c->item_count);
    if (c->orders) anchor__json_rows(&b, "order", &c->order);
    anchor_add_char(&b, '}');
    anchor__output(&b);
}

/* ---- Requests of the JSON lane, as if they were batches ---- */

/* Takes the document that the host wrote into the room lent. Returns its length, or 0.
 * The read is volatile, because the compiler cannot see that the host writes there. */
ANCHOR__SMALL uint32_t anchor__take(void) {
    volatile uint32_t *field = &anchor__mem.document;
    uint32_t n = *field;
    *field = 0;
    anchor__mem.boxed = n > 0 && n <= anchor__mem.box.in_cap;
    return anchor__mem.boxed ? n : 0;
}

ANCHOR__SMALL anchor_json anchor__input(void) {
    uint32_t n = anchor__take(), i = n;
    char *p = (char *)(uintptr_t)anchor__mem.box.in_addr;
    if (!n) {
        n = (uint32_t)anchor__k_input_length();
        p = (char *)anchor_alloc(n);
    }
    for (; i + 8 <= n; i += 8) {
        uint64_t word = anchor__k_input_load_u64(i);
        __builtin_memcpy(p + i, &word, 8);
    }
    for (; i < n; i++) p[i] = (char)anchor__k_input_load_u8(i);
    const char *begin = anchor__space(p, p + n);
    anchor_json doc = {begin, (uint32_t)(p + n - begin)};
    anchor__index(begin, p + n);
    return doc;
}

/* The members of an item, in the order of the columns' ids. */
typedef struct { anchor_json of[9]; } anchor__row;

static inline int anchor__column(anchor_text name) {
    static const char *const names[] = {"id", "score", "content", "metadata", "source", "priority", "token_count", "created_at", "embedding"};
    for (int i = 0; i < 9; i++)
        if (anchor_equal(name, anchor_str(names[i]))) return i;
    return anchor_equal(name, anchor_str("text")) ? 2 : -1;
}

/* Collects n JSON strings that lie stride bytes apart. */
ANCHOR__SMALL anchor_strings anchor__collect(const anchor_json *first, uint32_t stride, uint32_t n) {
    const char *at = (const char *)first;
    uint32_t size = 0;
    for (uint32_t i = 0; i < n; i++) size += ((const anchor_json *)(const void *)(at + stride * i))->len;
    uint32_t *off = (uint32_t *)anchor_alloc(4 * (n + 1)), end = 0;
    char *bytes = (char *)anchor_alloc(size);
    for (uint32_t i = 0; i < n; i++, at += stride) {
        off[i] = end;
        end += anchor__unescape(bytes + end, *(const anchor_json *)(const void *)at);
    }
    off[n] = end;
    anchor_strings s = {off, bytes, 0};
    return s;
}

static inline int64_t anchor__digits(const char *p, int n) {
    int64_t v = 0;
    while (n--) v = v * 10 + (*p++ - '0');
    return v;
}

/* Reads a text of RFC 3339 as nanoseconds since 1970. Any other text gives
 * ANCHOR_NO_TIME. */
ANCHOR__SMALL int64_t anchor__time(anchor_text t) {
    if (t.len < 20) return ANCHOR_NO_TIME;
    const char *p = t.ptr, *end = t.ptr + t.len;
    int64_t y = anchor__digits(p, 4), m = anchor__digits(p + 5, 2), d = anchor__digits(p + 8, 2), ns = 0, unit = 100000000;
    int64_t seconds = anchor__digits(p + 11, 2) * 3600 + anchor__digits(p + 14, 2) * 60 + anchor__digits(p + 17, 2);
    p += 19;
    if (*p == '.')
        for (p++; p < end && *p >= '0' && *p <= '9'; unit /= 10) ns += unit * (*p++ - '0');
    if (end - p >= 6) seconds -= (*p == '-' ? -1 : 1) * (anchor__digits(p + 1, 2) * 3600 + anchor__digits(p + 4, 2) * 60);
    if (m <= 2) y--, m += 12;
    int64_t days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * (m - 3) + 2) / 5 + d - 1 - 719468;
    /* seconds * 1e9 may exceed the range by less than ns takes away again */
    return (int64_t)((uint64_t)(days * 86400 + seconds) * 1000000000u + (uint64_t)ns);
}

ANCHOR__SMALL void anchor__collect_metadata(anchor_request *r, const anchor__row *rows) {
    uint32_t n = r->rows, entries = 0, e = 0, bytes = 0, end = 0;
    anchor_json key, value;
    for (uint32_t i = 0; i < n; i++) {
        anchor_json_iter it = anchor_json_each(rows[i].of[3]);
        while (anchor_json_next(&it, &key, &value)) entries++, bytes += value.len;
    }
    anchor_json *keys = (anchor_json *)anchor_alloc(entries * (uint32_t)sizeof *keys);
    uint64_t *cells = (uint64_t *)anchor_alloc(8 * entries);
    uint32_t *row_off = (uint32_t *)anchor_alloc(4 * (n + 1)), *entry_key = (uint32_t *)anchor_alloc(4 * entries);
    uint8_t *kinds = (uint8_t *)anchor_alloc(entries);
    char *values = (char *)anchor_alloc(bytes);
    for (uint32_t i = 0; i < n; i++) {
        anchor_json_iter it = anchor_json_each(rows[i].of[3]);
        row_off[i] = e;
        for (; anchor_json_next(&it, &keys[e], &value); e++) {
            anchor_value v = anchor_json_value(value);
            entry_key[e] = e, kinds[e] = v.kind, cells[e] = v.bits;
            if (v.kind < ANCHOR_STRING) continue;
            if (v.text.len) memcpy(values + end, v.text.ptr, v.text.len);
            cells[e] = end | (uint64_t)v.text.len << 32, end += v.text.len;
        }
    }
    row_off[n] = e;
    r->meta.cells = cells, r->meta.row_off = row_off, r->meta.entry_key = entry_key, r->meta.kinds = kinds, r->meta.values = values;
    r->meta.keys = anchor__collect(keys, sizeof *keys, entries);
}

ANCHOR__SMALL uint32_t *anchor__collect_u32s(const anchor__row *rows, int column, uint32_t n) {
    uint32_t *list = (uint32_t *)anchor_alloc(4 * n);
    for (uint32_t i = 0; i < n; i++) list[i] = (uint32_t)anchor_json_number(rows[i].of[column], 0);
    return list;
}

/* Reads as many numbers as a list has, at most n, into to, and returns how many it has. */
ANCHOR__SMALL uint32_t anchor__numbers(anchor_json list, float *to, uint32_t n) {
    uint32_t count = 0;
    anchor_json value;
    for (anchor_json_iter it = anchor_json_each(list); anchor_json_next(&it, 0, &value); count++)
        if (count < n) to[count] = (float)anchor_json_number(value, 0);
    return count;
}

/* The vectors of the rows, zeros for a row that has none. */
ANCHOR__SMALL void anchor__collect_vectors(anchor_request *r, const anchor__row *rows) {
    uint32_t n = r->rows, d = 0;
    for (uint32_t i = 0; i < n && !d; i++) d = anchor__numbers(rows[i].of[8], 0, 0);
    uint64_t size = (uint64_t)4 * n * d;
    if (size > UINT32_MAX) __builtin_trap();
    float *to = (float *)anchor_alloc((uint32_t)size);
    memset(to, 0, (size_t)size);
    r->vectors = to, r->vector_dimensions = d;
    for (uint32_t i = 0; i < n; i++, to += d) anchor__numbers(rows[i].of[8], to, d);
}

ANCHOR__SMALL void anchor__collect_column(anchor_request *r, const anchor__row *rows, int column) {
    uint32_t n = r->rows;
    switch (column) {
    case 0: r->id = anchor__collect(&rows->of[0], sizeof *rows, n); break;
    case 1: {
        double *score = (double *)anchor_alloc(8 * n);
        for (uint32_t i = 0; i < n; i++) score[i] = anchor_json_number(rows[i].of[1], 0);
        r->score = score;
        break;
    }
    case 2: r->text = anchor__collect(&rows->of[2], sizeof *rows, n); break;
    case 3: anchor__collect_metadata(r, rows); break;
    case 4: r->source = anchor__collect(&rows->of[4], sizeof *rows, n); break;
    case 5: r->priority = anchor__collect_u32s(rows, 5, n); break;
    case 6: r->token_count = anchor__collect_u32s(rows, 6, n); break;
    case 7: {
        int64_t *at = (int64_t *)anchor_alloc(8 * n);
        for (uint32_t i = 0; i < n; i++) at[i] = anchor__time(anchor_json_text(rows[i].of[7]));
        r->created_at = at;
        break;
    }
    case 8: anchor__collect_vectors(r, rows);
    }
}

ANCHOR__SMALL void anchor__collect_items(anchor_request *r, anchor_json columns, anchor_json items) {
    anchor_json key, value;
    anchor_buf list = {0, 0, 0};
    anchor_json_iter it = anchor_json_each(items);
    while (anchor_json_next(&it, 0, &value)) {
        anchor_json_iter members = anchor_json_each(value);
        anchor_json member;
        anchor__room(&list, sizeof(anchor__row));
        anchor__row *row = (anchor__row *)(void *)(list.ptr + list.len);
        list.len += sizeof *row, r->rows++;
        memset(row, 0, sizeof *row);
        while (anchor_json_next(&members, &key, &member)) {
            int column = anchor__column(anchor_json_text(key));
            if (column >= 0) row->of[column] = member;
        }
    }
    const anchor__row *rows = (const anchor__row *)(const void *)list.ptr;
    for (it = anchor_json_each(columns); anchor_json_next(&it, 0, &value);)
        anchor__collect_column(r, rows, anchor__column(anchor_json_text(value)));
}

ANCHOR__SMALL void anchor__collect_query(anchor_request *r, anchor_json query) {
    anchor_json embedding = anchor_json_get(query, "embedding");
    r->query_text = anchor_json_text(anchor_json_get(query, "query_str"));
    r->query_metadata = anchor_json_get(query, "metadata");
    r->chat_history = anchor_json_get(query, "chat_history");
    r->dimensions = anchor__numbers(embedding, 0, 0);
    float *f = (float *)anchor_alloc(4 * r->dimensions);
    anchor__numbers(embedding, f, r->dimensions);
    r->embedding = r->dimensions ? f : 0;
}

/* Reads the request of the JSON lane. Returns 0 if it is not one. */
ANCHOR__SMALL int anchor__request(anchor_request *r, anchor_json doc) {
    static const anchor_request empty = {0};
    anchor_json key = {0, 0}, value, columns = {0, 0}, items = {0, 0};
    *r = empty;
    r->id.column = ANCHOR_ID, r->text.column = ANCHOR_TEXT, r->source.column = ANCHOR_SOURCE;
    anchor_json_iter it = anchor_json_each(doc);
    if (!it.at || *doc.ptr != '{') return 0;
    while (anchor_json_next(&it, &key, &value)) {
        anchor_text name = anchor_json_text(key);
        if (anchor_equal(name, anchor_str("query"))) anchor__collect_query(r, value);
        else if (anchor_equal(name, anchor_str("columns"))) columns = value;
        else if (anchor_equal(name, anchor_str("items"))) items = value;
        else if (anchor_equal(name, anchor_str("settings"))) r->settings = value;
        else if (anchor_equal(name, anchor_str("top_k"))) r->top_k = (uint32_t)anchor_json_number(value, 0);
        else if (anchor_equal(name, anchor_str("tokens_left"))) r->tokens_left = (uint32_t)anchor_json_number(value, 0);
    }
    anchor__collect_items(r, columns, items);
    return 1;
}

/* ---- The lanes ---- */

typedef int anchor__handler(anchor_request *, anchor_reply *);
typedef int anchor__document_handler(anchor_json request, anchor_buf *reply);

/* Calls the author's function. 0 means that there is a reply to write. */
ANCHOR__SMALL int anchor__run(anchor__handler *f, anchor_request *r, anchor_reply *c) {
    static const anchor_reply empty = {0};
    *c = empty, c->request = r;
    int status = f(r, c);
    if (status == ANCHOR_DONE && c->error) return anchor_fail(c->error);
    if (status == ANCHOR_DONE && !(c->keeps | c->orders) && !(c->text.n | c->metadata.n | c->priority.n | c->score.n | c->item_count))
        return ANCHOR_NO_CHANGE;
    return status;
}

static inline int anchor__in_json(anchor__handler *f) {
    anchor_request r;
    anchor_reply c;
    anchor__begin();
    if (!anchor__request(&r, anchor__input())) return anchor_fail("request: is not a JSON object");
    int status = anchor__run(f, &r, &c);
    if (status == ANCHOR_DONE) anchor__reply_json(&c);
    return status;
}

static inline int anchor__in_batch(anchor__handler *f, const void *at, uint32_t len) {
    anchor_request r;
    anchor_reply c;
    anchor__begin();
    if ((uint32_t)(uintptr_t)at != anchor__mem.box.in_addr || len > anchor__mem.box.in_cap) return anchor_fail("batch: is not in the room lent");
    if (anchor_batch_open(&r, at, len) != ANCHOR_OK) return anchor_fail("batch: breaks the layout");
    int status = anchor__run(f, &r, &c);
    if (status == ANCHOR_DONE) anchor__reply_batch(&c);
    return status;
}

static inline int anchor__in_document(anchor__document_handler *f) {
    anchor_buf b = {0, 0, 0};
    anchor__begin();
    int status = f(anchor__input(), &b);
    if (status == ANCHOR_DONE && b.len) anchor__output(&b);
    return status;
}

ANCHOR__SMALL uint32_t anchor__reserve(uint32_t n) {
    uint32_t at = anchor__kept(), size = (n + 65535u) & ~65535u;
    if (n > ANCHOR_MAX_BYTES || !anchor__grow((uint64_t)at + size)) return 0;
    if (size > anchor__mem.box.in_cap) anchor__mem.box.in_cap = size;
    return anchor__mem.box.in_addr = at;
}

/* ---- Exports ---- */

#ifdef __wasm__
#define ANCHOR__EXPORT(name) __attribute__((export_name(name)))
#else
#define ANCHOR__EXPORT(name)
#endif
ANCHOR__EXPORT("anchor_abi_1") void anchor__marker(void) {}

/* The mailbox of both lanes. Attributes name the exports: clang before 17 loses names that
 * file-level assembly gives. */
ANCHOR__EXPORT("anchor_mailbox") anchor_mailbox_t *anchor__mailbox_export(void) { return &anchor__mem.box; }
ANCHOR__EXPORT("anchor_reserve") uint32_t anchor__reserve_export(uint32_t n) { return anchor__reserve(n); }

#define ANCHOR__BOTH_LANES(op, f)                                                                            \
    ANCHOR__EXPORT("anchor_" #op) int32_t anchor__json_##op(void) { return anchor__in_json(f); }             \
    ANCHOR__EXPORT("anchor_batch_" #op) int32_t anchor__batch_##op(const void *at, uint32_t len) {           \
        return anchor__in_batch(f, at, len);                                                                 \
    }

/* int f(anchor_request *r, anchor_reply *c), in both lanes. */
#define ANCHOR_RETRIEVE(f) ANCHOR__BOTH_LANES(retrieve, f)
#define ANCHOR_PROCESS(f) ANCHOR__BOTH_LANES(process, f)
#define ANCHOR_FILTER(f) ANCHOR__BOTH_LANES(filter, f)
#define ANCHOR_RERANK(f) ANCHOR__BOTH_LANES(rerank, f)

/* int f(anchor_json request, anchor_buf *reply), for the operations that have
 * only the JSON lane, by name: ANCHOR_DOCUMENT(classify, label). ABI.md has the
 * documents. An init function may call anchor_keep_memory. */
#define ANCHOR_DOCUMENT(op, f) \
    ANCHOR__EXPORT("anchor_" #op) int32_t anchor__json_##op(void) { return anchor__in_document(f); }

#ifdef __cplusplus
}
#endif

#endif
