/* Reads batches from standard input, each behind its length as u32, and prints
 * for each one line: "ok" and a hash over every cell, or "error" and the code.
 * With the argument "write" it writes a change set to standard output. */
#include "../anchor_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash;

static void add(const void *p, size_t n) {
    const uint8_t *b = p;
    for (size_t i = 0; i < n; i++) hash = (hash ^ b[i]) * 1099511628211u;
}
static void add_u64(uint64_t v) { add(&v, 8); }
static void add_text(anchor_text t) {
    add_u64(t.len);
    if (t.len) add(t.ptr, t.len);
}
static void add_double(const double *column, uint32_t i) {
    double d = column ? column[i] : 0;
    add(&d, 8);
}

static void add_row(const anchor_batch *b, uint32_t i) {
    add_text(anchor_at(&b->id, i));
    add_double(b->score, i);
    add_text(anchor_at(&b->text, i));
    add_text(anchor_at(&b->source, i));
    add_u64(b->priority ? b->priority[i] : 0);
    add_u64(b->token_count ? b->token_count[i] : 0);
    add_u64(b->created_at ? (uint64_t)b->created_at[i] : (uint64_t)ANCHOR_NO_TIME);
    const float *v = anchor_embedding(b, i);
    add_u64(v ? b->vector_dimensions : 0);
    if (v) add(v, 4 * (size_t)b->vector_dimensions);
    add_u64(anchor_meta_count(b, i));
    for (uint32_t n = 0; n < anchor_meta_count(b, i); n++) {
        anchor_text key;
        anchor_value v = anchor_meta_at(b, i, n, &key), found;
        add_text(key);
        add_u64(v.kind);
        add_u64(v.bits);
        add_text(v.text);
        if (!anchor_meta_find(b, i, key.ptr, key.len, &found)) add_u64(999);
    }
}

static void read_batch(const void *data, uint32_t len) {
    anchor_batch b;
    int err = anchor_batch_open(&b, data, len);
    if (err) {
        printf("error %d\n", err);
        return;
    }
    hash = 14695981039346656037u;
    add_u64(b.rows);
    for (uint32_t i = 0; i < b.rows; i++) add_row(&b, i);
    add_text(b.query_text);
    add_text(b.query_metadata);
    add_text(b.chat_history);
    add_text(b.settings);
    add_u64(b.dimensions);
    if (b.dimensions) add(b.embedding, 4 * (size_t)b.dimensions);
    add_u64(b.top_k);
    add_u64(b.tokens_left);
    printf("ok %016llx\n", (unsigned long long)hash);
}

static int read_all(void) {
    uint32_t len;
    while (fread(&len, 4, 1, stdin) == 1) {
        void *data = malloc(len ? len : 1);
        if (!data || fread(data, 1, len, stdin) != len) return 1;
        read_batch(data, len);
        free(data);
    }
    return 0;
}

static int write_changes(void) {
    static uint64_t out[64];
    const uint32_t keep[] = {0, 2, 3}, rows[] = {2, 0}, order[] = {3, 0, 2};
    const double scores[] = {0.25, 1};
    anchor_changes c;
    uint32_t len;
    for (uint32_t cap = 0; cap < 176; cap++) { /* too small: never a byte beyond cap */
        uint8_t *small = malloc(cap ? cap : 1);
        if (!small) return 1;
        anchor_changes_begin(&c, small, cap);
        anchor_changes_keep(&c, keep, 3);
        anchor_changes_scores(&c, rows, scores, 2);
        anchor_changes_order(&c, order, 3);
        len = anchor_changes_end(&c);
        free(small);
        if (len && cap < len) return 2;
    }
    anchor_changes_begin(&c, out, sizeof out);
    anchor_changes_order(&c, order, 3);
    anchor_changes_keep(&c, keep, 3);
    if (anchor_changes_end(&c)) return 3; /* out of order */
    memset(out, 0xa5, sizeof out);
    anchor_changes_begin(&c, out, sizeof out);
    anchor_changes_keep(&c, keep, 3);
    anchor_changes_scores(&c, rows, scores, 2);
    anchor_changes_order(&c, order, 3);
    len = anchor_changes_end(&c);
    return fwrite(out, 1, len, stdout) == len ? 0 : 4;
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "write")) return write_changes();
    return read_all();
}
