/* anchor_batch.h - reads batches in place and writes change sets, in layout 1.0 of
 * ABI.md. It is one header of freestanding C99. It needs no library and allocates
 * nothing. It is for little-endian machines, such as WebAssembly.
 *
 *     int32_t anchor_batch_filter(const void *ptr, uint32_t len) {
 *         anchor_batch b;
 *         if (anchor_batch_open(&b, ptr, len)) return -1;
 *         uint32_t n = 0;
 *         for (uint32_t i = 0; i < b.rows; i++)
 *             if (b.score[i] >= 0.5) keep[n++] = i;
 *         anchor_changes c;
 *         anchor_changes_begin(&c, out, sizeof out);
 *         anchor_changes_keep(&c, keep, n);
 *         mailbox.out_len = anchor_changes_end(&c);
 *         return mailbox.out_len ? 0 : -1;
 *     }
 */
#ifndef ANCHOR_BATCH_H
#define ANCHOR_BATCH_H

#include <stddef.h>
#include <stdint.h>

#define ANCHOR_BATCH_MAGIC 0x42434e41u   /* "ANCB" */
#define ANCHOR_CHANGES_MAGIC 0x43434e41u /* "ANCC" */
#define ANCHOR_HEADER_SIZE 32u
#define ANCHOR_ENTRY_SIZE 16u
#define ANCHOR_MAX_ROWS (1u << 20)
#define ANCHOR_MAX_BYTES (256u << 20)
#define ANCHOR_MAX_DIMENSION (1u << 14)
#define ANCHOR_FLAG_REQUIRED 1u
#define ANCHOR_NO_TIME INT64_MIN

/* The mailbox, at the address that the export anchor_mailbox returns. */
typedef struct {
    uint32_t size; /* sizeof(anchor_mailbox_t) */
    uint32_t in_addr, in_cap;
    uint32_t out_addr, out_len;
    uint32_t reserved;
} anchor_mailbox_t;

/* Section ids and types. */
enum {
    ANCHOR_ID = 1, ANCHOR_SCORE, ANCHOR_TEXT, ANCHOR_METADATA, ANCHOR_SOURCE,
    ANCHOR_PRIORITY, ANCHOR_TOKEN_COUNT, ANCHOR_CREATED_AT, ANCHOR_EMBEDDING,
    ANCHOR_QUERY_TEXT = 256, ANCHOR_QUERY_METADATA, ANCHOR_CHAT_HISTORY,
    ANCHOR_QUERY_EMBEDDING, ANCHOR_SETTINGS, ANCHOR_TOP_K, ANCHOR_TOKENS_LEFT,
    ANCHOR_KEEP = 512, ANCHOR_SCORE_ROWS = 519, ANCHOR_SCORE_VALUES = 520,
    ANCHOR_ORDER = 521
};
enum {
    ANCHOR_TYPE_TEXT = 1, ANCHOR_TYPE_JSON, ANCHOR_TYPE_U32, ANCHOR_TYPE_I64,
    ANCHOR_TYPE_F32, ANCHOR_TYPE_F64, ANCHOR_TYPE_STRINGS, ANCHOR_TYPE_METADATA,
    ANCHOR_TYPE_VECTORS
};
/* Kinds of metadata values. */
enum {
    ANCHOR_NULL, ANCHOR_BOOL, ANCHOR_INT, ANCHOR_FLOAT, ANCHOR_STRING, ANCHOR_JSON
};
/* What anchor_batch_open returns. */
enum {
    ANCHOR_OK = 0,
    ANCHOR_E_HEADER,    /* not a batch of layout 1, or its counts are wrong */
    ANCHOR_E_ALIGN,     /* the batch does not begin at a multiple of 8 */
    ANCHOR_E_DIRECTORY, /* a section is out of order, out of bounds or of the wrong type */
    ANCHOR_E_REQUIRED,  /* a section must not be skipped and is not known */
    ANCHOR_E_SECTION    /* the content of a section breaks the layout */
};

/* Text that points into the batch; it does not end with a zero byte. */
typedef struct { const char *ptr; uint32_t len; } anchor_text;

/* What happens when a program reads a column that is absent, given its section id. */
#ifndef ANCHOR_ABSENT
#define ANCHOR_ABSENT(column) ((void)(column))
#endif

/* A column of text; off is null when the column is absent. column is its section id, or 0. */
typedef struct { const uint32_t *off; const char *bytes; uint32_t column; } anchor_strings;

/* A batch. Columns that are absent are null pointers. */
typedef struct {
    uint32_t rows;
    anchor_strings id, text, source;
    const double *score;
    const uint32_t *priority, *token_count;
    const int64_t *created_at; /* nanoseconds, or ANCHOR_NO_TIME */
    struct {
        const uint64_t *cells;
        const uint32_t *row_off, *entry_key;
        const uint8_t *kinds;
        anchor_strings keys;
        const char *values;
    } meta;
    anchor_text query_text, query_metadata, chat_history, settings;
    const float *embedding; /* of the query */
    uint32_t dimensions;
    const float *vectors; /* of the rows, see anchor_embedding */
    uint32_t vector_dimensions; /* 0 when no row has a vector */
    uint32_t top_k, tokens_left; /* 0 when absent */
} anchor_batch;

/* A metadata value: bits for bool, int and float, text for string and JSON. */
typedef struct { uint8_t kind; uint64_t bits; anchor_text text; } anchor_value;

static inline anchor_text anchor_at(const anchor_strings *s, uint32_t i) {
    anchor_text t = {0, 0};
    if (s->off) {
        t.ptr = s->bytes + s->off[i];
        t.len = s->off[i + 1] - s->off[i];
    } else {
        ANCHOR_ABSENT(s->column);
    }
    return t;
}

static inline uint32_t anchor_meta_count(const anchor_batch *b, uint32_t row) {
    if (!b->meta.row_off) return ANCHOR_ABSENT(ANCHOR_METADATA), 0;
    return b->meta.row_off[row + 1] - b->meta.row_off[row];
}

/* The n-th value of a row; n is below anchor_meta_count. */
static inline anchor_value anchor_meta_at(const anchor_batch *b, uint32_t row, uint32_t n, anchor_text *key) {
    uint32_t e = b->meta.row_off[row] + n;
    anchor_value v = {b->meta.kinds[e], b->meta.cells[e], {0, 0}};
    if (key) *key = anchor_at(&b->meta.keys, b->meta.entry_key[e]);
    if (v.kind >= ANCHOR_STRING) {
        v.text.ptr = b->meta.values + (uint32_t)v.bits;
        v.text.len = (uint32_t)(v.bits >> 32);
        v.bits = 0;
    }
    return v;
}

/* Finds the value of a key. Returns 1 if the row has one. */
static inline int anchor_meta_find(const anchor_batch *b, uint32_t row, const char *key, uint32_t len, anchor_value *v) {
    uint32_t count = anchor_meta_count(b, row);
    for (uint32_t n = 0; n < count; n++) {
        anchor_text k;
        anchor_value found = anchor_meta_at(b, row, n, &k);
        uint32_t i = 0;
        while (k.len == len && i < len && k.ptr[i] == key[i]) i++;
        if (k.len == len && i == len) {
            *v = found;
            return 1;
        }
    }
    return 0;
}

/* The vector of a row, which has vector_dimensions elements. It is null if the row has none. */
static inline const float *anchor_embedding(const anchor_batch *b, uint32_t row) {
    const float *v = b->vectors;
    if (!v) return ANCHOR_ABSENT(ANCHOR_EMBEDDING), (const float *)0;
    v += (size_t)row * b->vector_dimensions;
    for (uint32_t i = 0; i < b->vector_dimensions; i++)
        if (v[i] != 0) return v;
    return 0;
}

/* Reports whether n + 1 offsets begin with 0, never decrease and end with end. */
static inline int anchor__rising(const uint32_t *off, uint32_t n, uint64_t end) {
    uint32_t last = 0;
    for (uint32_t i = 0; i <= n; i++) {
        if (off[i] < last) return 0;
        last = off[i];
    }
    return off[0] == 0 && last == end;
}

static inline int anchor__strings(anchor_strings *s, const uint8_t *p, uint32_t len, uint32_t n) {
    uint32_t head = 4 * (n + 1);
    if (len < head) return ANCHOR_E_SECTION;
    s->off = (const uint32_t *)(const void *)p;
    s->bytes = (const char *)p + head;
    return anchor__rising(s->off, n, len - head) ? ANCHOR_OK : ANCHOR_E_SECTION;
}

/* Checks one cell. next is the end of the value bytes used so far. */
static inline int anchor__cell(uint8_t kind, uint64_t bits, uint64_t values, uint64_t *next) {
    switch (kind) {
    case ANCHOR_NULL: return bits == 0;
    case ANCHOR_BOOL: return bits <= 1;
    case ANCHOR_INT: return 1;
    case ANCHOR_FLOAT: return (bits >> 52 & 0x7ff) != 0x7ff; /* finite */
    case ANCHOR_STRING:
    case ANCHOR_JSON:
        if ((uint32_t)bits != *next) return 0;
        *next += bits >> 32;
        return *next <= values;
    }
    return 0;
}

static inline int anchor__meta(anchor_batch *b, const uint8_t *p, uint32_t len) {
    const uint32_t *head = (const uint32_t *)(const void *)p;
    uint64_t keys, entries, key_bytes, value_bytes, next = 0;
    if (len < 16) return ANCHOR_E_SECTION;
    keys = head[0], entries = head[1], key_bytes = head[2], value_bytes = head[3];
    if (16 + 13 * entries + 4 * ((uint64_t)b->rows + 1) + 4 * (keys + 1) + key_bytes + value_bytes != len)
        return ANCHOR_E_SECTION;
    b->meta.cells = (const uint64_t *)(const void *)(p + 16);
    b->meta.row_off = (const uint32_t *)(const void *)(b->meta.cells + entries);
    b->meta.keys.off = b->meta.row_off + b->rows + 1;
    b->meta.entry_key = b->meta.keys.off + keys + 1;
    b->meta.kinds = (const uint8_t *)(b->meta.entry_key + entries);
    b->meta.keys.bytes = (const char *)(b->meta.kinds + entries);
    b->meta.values = b->meta.keys.bytes + key_bytes;
    if (!anchor__rising(b->meta.row_off, b->rows, entries)) return ANCHOR_E_SECTION;
    if (!anchor__rising(b->meta.keys.off, (uint32_t)keys, key_bytes)) return ANCHOR_E_SECTION;
    for (uint32_t row = 0; row < b->rows; row++) {
        int64_t last = -1;
        for (uint32_t e = b->meta.row_off[row]; e < b->meta.row_off[row + 1]; e++) {
            uint32_t k = b->meta.entry_key[e];
            if (k >= keys || (int64_t)k <= last) return ANCHOR_E_SECTION;
            last = k;
            if (!anchor__cell(b->meta.kinds[e], b->meta.cells[e], value_bytes, &next)) return ANCHOR_E_SECTION;
        }
    }
    return next == value_bytes ? ANCHOR_OK : ANCHOR_E_SECTION;
}

static inline int anchor__vectors(anchor_batch *b, const uint8_t *p, uint32_t len) {
    uint32_t n;
    if (len < 8) return ANCHOR_E_SECTION;
    n = *(const uint32_t *)(const void *)p;
    if (n > ANCHOR_MAX_DIMENSION || 8 + (uint64_t)4 * n * b->rows != len) return ANCHOR_E_SECTION;
    b->vectors = (const float *)(const void *)(p + 8), b->vector_dimensions = n;
    return ANCHOR_OK;
}

/* The type of a section of a batch, or 0 if the id is unknown. */
static inline uint32_t anchor__type(uint32_t id) {
    switch (id) {
    case ANCHOR_ID: case ANCHOR_TEXT: case ANCHOR_SOURCE: return ANCHOR_TYPE_STRINGS;
    case ANCHOR_SCORE: return ANCHOR_TYPE_F64;
    case ANCHOR_METADATA: return ANCHOR_TYPE_METADATA;
    case ANCHOR_CREATED_AT: return ANCHOR_TYPE_I64;
    case ANCHOR_EMBEDDING: return ANCHOR_TYPE_VECTORS;
    case ANCHOR_PRIORITY: case ANCHOR_TOKEN_COUNT: case ANCHOR_TOP_K: case ANCHOR_TOKENS_LEFT: return ANCHOR_TYPE_U32;
    case ANCHOR_QUERY_TEXT: return ANCHOR_TYPE_TEXT;
    case ANCHOR_QUERY_METADATA: case ANCHOR_CHAT_HISTORY: case ANCHOR_SETTINGS: return ANCHOR_TYPE_JSON;
    case ANCHOR_QUERY_EMBEDDING: return ANCHOR_TYPE_F32;
    }
    return 0;
}

static inline int anchor__section(anchor_batch *b, uint32_t id, const uint8_t *p, uint32_t len) {
    const void *v = p;
    anchor_text t;
    t.ptr = (const char *)p, t.len = len;
    switch (id) {
    case ANCHOR_ID: return anchor__strings(&b->id, p, len, b->rows);
    case ANCHOR_TEXT: return anchor__strings(&b->text, p, len, b->rows);
    case ANCHOR_SOURCE: return anchor__strings(&b->source, p, len, b->rows);
    case ANCHOR_METADATA: return anchor__meta(b, p, len);
    case ANCHOR_EMBEDDING: return anchor__vectors(b, p, len);
    case ANCHOR_SCORE: b->score = (const double *)v; return len == 8 * b->rows ? ANCHOR_OK : ANCHOR_E_SECTION;
    case ANCHOR_CREATED_AT: b->created_at = (const int64_t *)v; return len == 8 * b->rows ? ANCHOR_OK : ANCHOR_E_SECTION;
    case ANCHOR_PRIORITY: b->priority = (const uint32_t *)v; return len == 4 * b->rows ? ANCHOR_OK : ANCHOR_E_SECTION;
    case ANCHOR_TOKEN_COUNT: b->token_count = (const uint32_t *)v; return len == 4 * b->rows ? ANCHOR_OK : ANCHOR_E_SECTION;
    case ANCHOR_QUERY_TEXT: b->query_text = t; return ANCHOR_OK;
    case ANCHOR_QUERY_METADATA: b->query_metadata = t; return ANCHOR_OK;
    case ANCHOR_CHAT_HISTORY: b->chat_history = t; return ANCHOR_OK;
    case ANCHOR_SETTINGS: b->settings = t; return ANCHOR_OK;
    case ANCHOR_QUERY_EMBEDDING:
        b->embedding = (const float *)v, b->dimensions = len / 4;
        return len % 4 == 0 ? ANCHOR_OK : ANCHOR_E_SECTION;
    }
    if (len != 4) return ANCHOR_E_SECTION;
    if (id == ANCHOR_TOP_K) b->top_k = *(const uint32_t *)v;
    if (id == ANCHOR_TOKENS_LEFT) b->tokens_left = *(const uint32_t *)v;
    return ANCHOR_OK;
}

/* Checks the batch at data once. After ANCHOR_OK, everything in b can be read without
 * checks for row numbers below b->rows. */
static inline int anchor_batch_open(anchor_batch *b, const void *data, uint32_t len) {
    static const anchor_batch empty = {0};
    const uint8_t *p = (const uint8_t *)data;
    const uint32_t *h = (const uint32_t *)data;
    uint32_t at, count, end, last = 0;
    *b = empty;
    b->id.column = ANCHOR_ID, b->text.column = ANCHOR_TEXT, b->source.column = ANCHOR_SOURCE;
    if ((uintptr_t)data % 8 != 0) return ANCHOR_E_ALIGN;
    if (len < ANCHOR_HEADER_SIZE || h[0] != ANCHOR_BATCH_MAGIC || (h[1] & 0xffff) != 1) return ANCHOR_E_HEADER;
    at = h[2], count = h[5];
    if (h[3] != len || len > ANCHOR_MAX_BYTES || h[4] > ANCHOR_MAX_ROWS) return ANCHOR_E_HEADER;
    if (at < ANCHOR_HEADER_SIZE || at % 8 != 0 || at > len || count > (len - at) / ANCHOR_ENTRY_SIZE) return ANCHOR_E_HEADER;
    b->rows = h[4];
    end = at + ANCHOR_ENTRY_SIZE * count;
    for (; count > 0; count--, at += ANCHOR_ENTRY_SIZE) {
        const uint32_t *e = (const uint32_t *)(const void *)(p + at);
        uint32_t id = e[0] & 0xffff, type = e[0] >> 16, off = e[2], n = e[3], want;
        int err;
        if (id <= last || off % 8 != 0 || off < end || (uint64_t)off + n > len) return ANCHOR_E_DIRECTORY;
        last = id, end = off + n;
        want = anchor__type(id);
        if (want == 0 && (e[1] & ANCHOR_FLAG_REQUIRED)) return ANCHOR_E_REQUIRED;
        if (want == 0) continue;
        if (type != want) return ANCHOR_E_DIRECTORY;
        if ((err = anchor__section(b, id, p + off, n)) != ANCHOR_OK) return err;
    }
    return ANCHOR_OK;
}

/* A change set under construction. Call begin, then keep, scores and order, in this order
 * and each at most once, then end. */
typedef struct { uint8_t *buf; uint32_t cap, at, count, last; int failed; } anchor_changes;

static inline void anchor_changes_begin(anchor_changes *c, void *buf, uint32_t cap) {
    c->buf = (uint8_t *)buf, c->cap = cap, c->count = 0, c->last = 0;
    c->at = ANCHOR_HEADER_SIZE + 4 * ANCHOR_ENTRY_SIZE;
    c->failed = cap < c->at || (uintptr_t)buf % 8 != 0;
}

static inline void anchor__put(anchor_changes *c, uint32_t id, uint32_t type, const void *data, uint32_t size) {
    uint32_t *e;
    const uint8_t *from = (const uint8_t *)data;
    if (c->failed || id <= c->last || size > c->cap - c->at) {
        c->failed = 1;
        return;
    }
    e = (uint32_t *)(void *)(c->buf + ANCHOR_HEADER_SIZE + ANCHOR_ENTRY_SIZE * c->count++);
    e[0] = id | type << 16, e[1] = 0, e[2] = c->at, e[3] = size;
    for (uint32_t i = 0; i < size; i++) c->buf[c->at + i] = from[i];
    c->at += size, c->last = id;
    while (c->at % 8 != 0) {
        if (c->at == c->cap) {
            c->failed = 1;
            return;
        }
        c->buf[c->at++] = 0;
    }
}

/* The rows to keep, in ascending order. */
static inline void anchor_changes_keep(anchor_changes *c, const uint32_t *rows, uint32_t n) {
    if (n > ANCHOR_MAX_ROWS) c->failed = 1;
    else anchor__put(c, ANCHOR_KEEP, ANCHOR_TYPE_U32, rows, 4 * n);
}

/* New scores, from 0 to 1. */
static inline void anchor_changes_scores(anchor_changes *c, const uint32_t *rows, const double *scores, uint32_t n) {
    if (n > ANCHOR_MAX_ROWS) {
        c->failed = 1;
        return;
    }
    anchor__put(c, ANCHOR_SCORE_ROWS, ANCHOR_TYPE_U32, rows, 4 * n);
    anchor__put(c, ANCHOR_SCORE_VALUES, ANCHOR_TYPE_F64, scores, 8 * n);
}

/* The new order of the rows that are kept. */
static inline void anchor_changes_order(anchor_changes *c, const uint32_t *rows, uint32_t n) {
    if (n > ANCHOR_MAX_ROWS) c->failed = 1;
    else anchor__put(c, ANCHOR_ORDER, ANCHOR_TYPE_U32, rows, 4 * n);
}

/* Returns the length of the change set. Returns 0 if the buffer is too small or not
 * 8-aligned, or if the parts came out of order. */
static inline uint32_t anchor_changes_end(anchor_changes *c) {
    uint32_t *h = (uint32_t *)(void *)c->buf;
    if (c->failed) return 0;
    h[0] = ANCHOR_CHANGES_MAGIC, h[1] = 1, h[2] = ANCHOR_HEADER_SIZE, h[3] = c->at;
    h[4] = 0, h[5] = c->count, h[6] = 0, h[7] = 0;
    return c->at;
}

#endif
