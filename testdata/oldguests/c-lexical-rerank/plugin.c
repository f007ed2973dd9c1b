/* Scores items by the words they share with the query, rare words first. */
#include "anchor.h"

enum { MAX_TERMS = 32 };

static int in_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80); }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

/* Takes the next token off the front of rest; its len is 0 when there is none. */
static anchor_text next_token(anchor_text *rest) {
    while (rest->len && !in_word(*rest->ptr)) rest->ptr++, rest->len--;
    anchor_text token = {rest->ptr, 0};
    while (token.len < rest->len && in_word(token.ptr[token.len])) token.len++;
    rest->ptr += token.len, rest->len -= token.len;
    return token;
}

/* Returns the number of the term that the token is, count when it is none. */
static uint32_t find(const anchor_text *terms, uint32_t count, anchor_text token) {
    for (uint32_t t = 0; t < count; t++) {
        uint32_t i = 0;
        if (terms[t].len != token.len) continue;
        while (i < token.len && lower(terms[t].ptr[i]) == lower(token.ptr[i])) i++;
        if (i == token.len) return t;
    }
    return count;
}

static int rerank(anchor_request *r, anchor_reply *c) {
    anchor_text terms[MAX_TERMS], rest = r->query_text, token;
    uint32_t count = 0, rows = r->rows, *len = anchor_alloc(4 * rows);
    while (count < MAX_TERMS && (token = next_token(&rest)).len)
        if (find(terms, count, token) == count) terms[count++] = token;

    double df[MAX_TERMS] = {0}, total = 0; /* items that hold each term; tokens in all */
    uint32_t *tf = anchor_alloc(4 * rows * count);
    memset(tf, 0, 4 * rows * count);
    for (uint32_t i = 0; i < rows; i++, total += len[i - 1]) {
        rest = anchor_at(&r->text, i);
        for (len[i] = 0; (token = next_token(&rest)).len; len[i]++) {
            uint32_t t = find(terms, count, token);
            if (t < count && tf[i * count + t]++ == 0) df[t]++;
        }
    }
    if (count == 0 || total == 0) return ANCHOR_NO_CHANGE;

    for (uint32_t i = 0; i < rows; i++) {
        double norm = 1.2 * (0.25 + 0.75 * len[i] / (total / rows)), sum = 0, weights = 0;
        for (uint32_t t = 0; t < count; t++) {
            double weight = 1 - df[t] / (rows + 1.0), n = tf[i * count + t];
            sum += weight * n / (n + norm);
            weights += weight;
        }
        anchor_set_score(c, i, sum / weights);
    }
    return ANCHOR_DONE;
}
ANCHOR_RERANK(rerank)
