/* anchor_services.h - vectors of texts, search in collections, and answers of models. Each
 * needs the permission service in plugin.yaml. The operator chooses which models and
 * collections there are.
 *
 *     anchor_message ask[] = {{"user", anchor_str("Which of these is newer?")}};
 *     anchor_llm_request request = {0, ask, 1, {0}, 200, 0};
 *     anchor_llm_answer answer;
 *     if (!anchor_llm(&request, 1, &answer)) return anchor_fail_text(answer.message);
 *
 * A text, list or number that is left out is 0. Texts that come back live until the end of
 * the call. */
#ifndef ANCHOR_SERVICES_H
#define ANCHOR_SERVICES_H

#include "anchor.h"

#ifdef __cplusplus
extern "C" {
#endif

ANCHOR__USER("anchor_embed") uint64_t anchor__k_embed(uint64_t);
ANCHOR__USER("anchor_search") uint64_t anchor__k_search(uint64_t);
ANCHOR__USER("anchor_llm") uint64_t anchor__k_llm(uint64_t);

/* Why a service has no answer. 0 is no error. */
enum {
    ANCHOR_SERVICE_UNAVAILABLE = 1, /* the service cannot be reached, or refuses for now */
    ANCHOR_SERVICE_TIMEOUT,         /* there was no answer in time */
    ANCHOR_SERVICE_REFUSED,         /* the service refuses this request */
    ANCHOR_SERVICE_INVALID,         /* the answer is not what was asked for, such as no JSON */
    ANCHOR_SERVICE_BUDGET,          /* the calls or the tokens of the build are spent */
    ANCHOR_SERVICE_NOT_FOUND        /* there is no such collection */
};

ANCHOR__SMALL int anchor__service_wrong(anchor_text *message, const char *why) {
    return *message = anchor_str(why), ANCHOR_SERVICE_INVALID;
}

/* Reads why there is no answer. Returns 0 if there is one. Words of later hosts mean that the
 * service is unavailable. */
ANCHOR__SMALL int anchor__service_error(anchor_json answer, anchor_text *message) {
    static const char *const words[] = {"timeout", "refused", "invalid", "budget", "not_found"};
    anchor_json error = anchor_json_get(answer, "error");
    if (!answer.len) return anchor__service_wrong(message, "the host has not answered");
    *message = anchor_json_text(anchor_json_get(answer, "message"));
    if (!error.len) return 0;
    for (int i = 0; i < 5; i++)
        if (anchor_equal(anchor_json_text(error), anchor_str(words[i]))) return ANCHOR_SERVICE_TIMEOUT + i;
    return ANCHOR_SERVICE_UNAVAILABLE;
}

static inline anchor_json anchor__service_answer(uint64_t at) {
    anchor_json none = {0, 0};
    return at ? anchor__unblock(at) : none;
}

ANCHOR__SMALL uint32_t anchor__natural(anchor_json object, const char *name) {
    double v = anchor_json_number(anchor_json_get(object, name), 0);
    return v > 0 && v <= UINT32_MAX ? (uint32_t)v : 0;
}

static inline anchor_text anchor__member_text(anchor_json object, const char *name) {
    return anchor_json_text(anchor_json_get(object, name));
}

/* Adds a member unless it is empty. */
ANCHOR__SMALL void anchor__add_member(anchor_buf *b, const char *name, anchor_text value) {
    if (value.len) anchor__json_member(b, name), anchor_add_json(b, value);
}
static inline void anchor__add_word(anchor_buf *b, const char *name, const char *value) {
    if (value) anchor__add_member(b, name, anchor_str(value));
}
ANCHOR__SMALL void anchor__add_natural(anchor_buf *b, const char *name, uint64_t value) {
    if (value) anchor__json_member(b, name), anchor_add_int(b, (int64_t)value);
}
ANCHOR__SMALL void anchor__add_texts(anchor_buf *b, const char *name, const anchor_text *texts, uint32_t n) {
    anchor__json_member(b, name);
    anchor_add_char(b, '[');
    for (uint32_t i = 0; i < n; i++) {
        if (i) anchor_add_char(b, ',');
        anchor_add_json(b, texts[i]);
    }
    anchor_add_char(b, ']');
}

/* ---- Vectors ---- */

/* The vectors of texts, one after the other, in the order of the texts. Vectors of different
 * models cannot be compared. If error is not 0, message says why there are none. */
typedef struct {
    int error;
    anchor_text message, model;
    uint32_t count, dimension;
    const float *values;
} anchor_vectors;

/* Makes vectors of n texts, at most 1024, with the permission service: embed. side is "query"
 * for questions, for which documents are looked for, else "document". Returns 0 if there are
 * none. */
ANCHOR__SMALL int anchor_embed(const char *side, const anchor_text *texts, uint32_t n, anchor_vectors *out) {
    static const anchor_vectors none = {0};
    anchor_buf b = {0, 0, 0};
    anchor_add_char(&b, '{');
    anchor__add_word(&b, "side", side);
    anchor__add_texts(&b, "texts", texts, n);
    anchor_add_char(&b, '}');
    anchor_json answer = anchor__service_answer(anchor__k_embed(anchor__block(anchor_buf_text(&b))));
    *out = none;
    if ((out->error = anchor__service_error(answer, &out->message))) return 0;
    uint64_t block = (uint64_t)anchor_json_number(anchor_json_get(answer, "vectors"), 0);
    anchor_text bytes = anchor__service_answer(block);
    uint32_t dimension = anchor__natural(answer, "dimension");
    if ((n && !dimension) || (uint64_t)bytes.len != (uint64_t)4 * dimension * n) {
        out->error = anchor__service_wrong(&out->message, "the host has not answered with a vector for each text");
        return 0;
    }
    out->model = anchor__member_text(answer, "model");
    out->count = n, out->dimension = dimension, out->values = (const float *)(const void *)bytes.ptr;
    return 1;
}

/* The vector of text i, which has v->dimension numbers. */
static inline const float *anchor_vector(const anchor_vectors *v, uint32_t i) { return v->values + (size_t)v->dimension * i; }

/* ---- Search ---- */

/* A condition of a search. field is id, path, title, hash, time, heading, page, line, or a name
 * in the metadata; op is =, !=, prefix, >=, <=, > or <. */
typedef struct {
    const char *field, *op;
    const anchor_text *values;
    uint32_t count;
} anchor_condition;

/* What to look for. Without a collection it is the first that the operator grants. Without a
 * vector, of dimension numbers, the host makes one of the text if it needs one. by is words,
 * vectors or hybrid. k is the most hits, up to 1000; 0: 10. */
typedef struct {
    const char *collection;
    anchor_text text;
    const float *vector;
    uint32_t dimension;
    const char *by;
    uint32_t k;
    const anchor_condition *filter;
    uint32_t filters;
} anchor_search_request;

/* A piece of a document that was found: the number of the piece, from 1, its score of 0 to 1, its text,
 * what the document has, and where it is in it. headings is a list of strings, metadata an
 * object. */
typedef struct {
    anchor_text document, text, title, path;
    uint32_t chunk, page, line_from, line_to;
    double score;
    anchor_json headings, metadata;
} anchor_hit;

/* What was found, the best first. If error is not 0, message says why there is nothing. */
typedef struct {
    int error;
    anchor_text message;
    const anchor_hit *hits;
    uint32_t count;
} anchor_hits;

ANCHOR__SMALL void anchor__add_filter(anchor_buf *b, const anchor_condition *c, uint32_t n) {
    anchor__json_member(b, "filter");
    for (uint32_t i = 0; i < n; i++) {
        anchor_add(b, i ? ",{" : "[{");
        anchor__add_word(b, "field", c[i].field);
        anchor__add_word(b, "op", c[i].op);
        anchor__add_texts(b, "values", c[i].values, c[i].count);
        anchor_add_char(b, '}');
    }
    anchor_add_char(b, ']');
}

ANCHOR__SMALL uint64_t anchor__ask_search(const anchor_search_request *r) {
    anchor_buf b = {0, 0, 0};
    anchor_text vector = {(const char *)(const void *)r->vector, 4 * r->dimension};
    anchor_add_char(&b, '{');
    anchor__add_word(&b, "collection", r->collection);
    anchor__add_member(&b, "text", r->text);
    if (vector.len) anchor__add_natural(&b, "vector", anchor__block(vector));
    anchor__add_natural(&b, "dimension", r->dimension);
    anchor__add_word(&b, "by", r->by);
    anchor__add_natural(&b, "k", r->k);
    if (r->filters) anchor__add_filter(&b, r->filter, r->filters);
    anchor_add_char(&b, '}');
    return anchor__k_search(anchor__block(anchor_buf_text(&b)));
}

ANCHOR__SMALL anchor_hit anchor__hit(anchor_json v) {
    anchor_hit h;
    h.document = anchor__member_text(v, "document"), h.text = anchor__member_text(v, "text");
    h.title = anchor__member_text(v, "title"), h.path = anchor__member_text(v, "path");
    h.chunk = anchor__natural(v, "chunk"), h.page = anchor__natural(v, "page");
    h.line_from = anchor__natural(v, "line_from"), h.line_to = anchor__natural(v, "line_to");
    h.score = anchor_json_number(anchor_json_get(v, "score"), 0);
    h.headings = anchor_json_get(v, "headings"), h.metadata = anchor_json_get(v, "metadata");
    return h;
}

/* Searches a collection, with the permission service: search. Returns 0 after an error. Nothing
 * found is no error. */
ANCHOR__SMALL int anchor_search(const anchor_search_request *r, anchor_hits *out) {
    static const anchor_hits none = {0};
    anchor_json answer = anchor__service_answer(anchor__ask_search(r)), value;
    anchor_json list = anchor_json_get(answer, "hits");
    *out = none;
    if ((out->error = anchor__service_error(answer, &out->message))) return 0;
    for (anchor_json_iter it = anchor_json_each(list); anchor_json_next(&it, 0, &value);) out->count++;
    anchor_hit *hit = (anchor_hit *)anchor_alloc(out->count * (uint32_t)sizeof *hit);
    out->hits = hit;
    for (anchor_json_iter it = anchor_json_each(list); anchor_json_next(&it, 0, &value);) *hit++ = anchor__hit(value);
    return 1;
}

/* ---- Models ---- */

/* A message for a model. role is system, user or assistant. */
typedef struct {
    const char *role;
    anchor_text content;
} anchor_message;

/* What to ask a model. Without model it is the first that the operator grants. schema is the JSON
 * Schema of an object: with it, the answer is JSON that fits it. max_tokens is the most tokens of
 * the answer. temperature, 0 to 2, is how much chance there is in it; null: the operator's
 * value. */
typedef struct {
    const char *model;
    const anchor_message *messages;
    uint32_t count;
    anchor_json schema;
    uint32_t max_tokens;
    const double *temperature;
} anchor_llm_request;

/* What a model answered. json is there if there was a schema. finish is stop, or length if the
 * answer was cut because it had the most tokens. If error is not 0, message says why there is no
 * answer. */
typedef struct {
    int error;
    anchor_text message, text, model, finish;
    anchor_json json;
    uint32_t input_tokens, output_tokens;
} anchor_llm_answer;

ANCHOR__SMALL void anchor__add_llm(anchor_buf *b, const anchor_llm_request *r) {
    anchor_add_char(b, '{');
    anchor__add_word(b, "model", r->model);
    anchor__json_member(b, "messages");
    anchor_add_char(b, '[');
    for (uint32_t i = 0; i < r->count; i++) {
        anchor_add(b, i ? ",{" : "{");
        anchor__add_word(b, "role", r->messages[i].role);
        anchor__json_member(b, "content");
        anchor_add_json(b, r->messages[i].content);
        anchor_add_char(b, '}');
    }
    anchor_add_char(b, ']');
    if (r->schema.len) anchor__json_member(b, "schema"), anchor_add_text(b, r->schema);
    anchor__add_natural(b, "max_tokens", r->max_tokens);
    if (r->temperature) anchor__json_member(b, "temperature"), anchor_add_double(b, *r->temperature);
    anchor_add_char(b, '}');
}

ANCHOR__SMALL anchor_llm_answer anchor__llm_answer(anchor_json v) {
    anchor_llm_answer a;
    a.error = anchor__service_error(v, &a.message);
    a.text = anchor__member_text(v, "text"), a.model = anchor__member_text(v, "model"), a.finish = anchor__member_text(v, "finish");
    a.json = anchor_json_get(v, "json");
    a.input_tokens = anchor__natural(v, "input_tokens"), a.output_tokens = anchor__natural(v, "output_tokens");
    return a;
}

/* Asks models n times, at most 32, at the same time, with the permission service: llm, and sets
 * as many answers, in the same order. One that fails does not stop the others. Returns 1 if none
 * has failed. */
ANCHOR__SMALL int anchor_llm(const anchor_llm_request *r, uint32_t n, anchor_llm_answer *answers) {
    anchor_buf b = {0, 0, 0};
    anchor_json value, none = {0, 0};
    int ok = 1;
    anchor_add(&b, "{\"requests\":[");
    for (uint32_t i = 0; i < n; i++) {
        if (i) anchor_add_char(&b, ',');
        anchor__add_llm(&b, &r[i]);
    }
    anchor_add(&b, "]}");
    anchor_json answer = anchor__service_answer(anchor__k_llm(anchor__block(anchor_buf_text(&b))));
    anchor_json_iter it = anchor_json_each(anchor_json_get(answer, "responses"));
    for (uint32_t i = 0; i < n; i++) {
        answers[i] = anchor__llm_answer(anchor_json_next(&it, 0, &value) ? value : none);
        if (answers[i].error) ok = 0;
    }
    return ok;
}

#ifdef __cplusplus
}
#endif

#endif
