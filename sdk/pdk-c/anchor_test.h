/* anchor_test.h - tests of a plugin without Wasm, with any C or C++ compiler:
 *
 *     #include "plugin.c"
 *     #include "anchor_test.h"
 *
 *     int main(void) {
 *         ANCHOR_TEST(classify, "{\"query\":{\"query_str\":\"Panic!\"}}", "{\"label\":\"code\"}");
 *         return anchor_test_end();
 *     }
 *
 * Each test calls an operation with a request of ABI.md. The host is not there: what is
 * logged goes to stderr, and there is no configuration, key-value store, HTTP or tokenizer.
 * Services of anchor_services.h answer what anchor_test_answer says, else nothing. */
#ifndef ANCHOR_TEST_H
#define ANCHOR_TEST_H

#include <stdio.h>
#include <stdlib.h>

static struct {
    char blocks[1 << 22]; /* each after its length */
    uint64_t next;
    const char *request;
    anchor_text reply, error;
    int checks, failures;
} anchor__test;

/* Runs operation op with a request, and checks its answer byte by byte. The answer is "" if
 * there is none or no change, and "error: why" if the call fails. Requests name the columns of
 * their items: {"columns":["text"],"items":[…]}. */
#define ANCHOR_TEST(op, request, want) \
    anchor__test_answer(__FILE__, __LINE__, #op, anchor__json_##op, request, want)

/* Checks a condition. */
#define ANCHOR_CHECK(condition) \
    (anchor__test.checks++, (condition) ? (void)0 : anchor__test_failed(__FILE__, __LINE__, #condition))

static void anchor__test_failed(const char *file, int line, const char *what) {
    anchor__test.failures++;
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

static inline void anchor__test_answer(const char *file, int line, const char *op, int32_t (*call)(void), const char *request, const char *want) {
    anchor_text none = {0, 0}, got;
    char text[4096];
    anchor__test.next = 0, anchor__test.request = request, anchor__test.checks++;
    anchor__test.reply = anchor__test.error = none;
    int status = call();
    got = status == ANCHOR_DONE ? anchor__test.reply : status == ANCHOR_NO_CHANGE ? none : anchor__test.error;
    snprintf(text, sizeof text, "%s%.*s", status < 0 ? "error: " : "", (int)got.len, got.ptr ? got.ptr : "");
    if (strcmp(text, want) == 0) return;
    anchor__test_failed(file, line, op);
    fprintf(stderr, "    want %s\n    got  %s\n", want, text);
}

/* Says how many checks passed. Returns what main returns. */
static inline int anchor_test_end(void) {
    printf("%d passed, %d failed\n", anchor__test.checks - anchor__test.failures, anchor__test.failures);
    return anchor__test.failures > 0;
}

/* ---- The functions of the host ---- */

#ifdef __cplusplus
extern "C" {
#endif

static anchor_text anchor__test_block(uint64_t at) {
    uint64_t n;
    memcpy(&n, anchor__test.blocks + at - 8, 8);
    anchor_text t = {anchor__test.blocks + at, (uint32_t)n};
    return t;
}
static void anchor__test_log(const char *level, uint64_t at) {
    anchor_text t = anchor__test_block(at);
    fprintf(stderr, "%s: %.*s\n", level, (int)t.len, t.ptr);
}

uint64_t anchor__k_alloc(uint64_t n) {
    uint64_t at = anchor__test.next + 8;
    if (n > sizeof anchor__test.blocks - 16 - at) abort();
    memcpy(anchor__test.blocks + at - 8, &n, 8);
    anchor__test.next = (at + n + 7) & ~7ull;
    return at;
}
uint64_t anchor__k_length(uint64_t at) { return anchor__test_block(at).len; }
uint32_t anchor__k_load_u8(uint64_t at) { return (uint8_t)anchor__test.blocks[at]; }
uint64_t anchor__k_load_u64(uint64_t at) {
    uint64_t word;
    memcpy(&word, anchor__test.blocks + at, 8);
    return word;
}
void anchor__k_store_u8(uint64_t at, uint32_t byte) { anchor__test.blocks[at] = (char)byte; }
void anchor__k_store_u64(uint64_t at, uint64_t word) { memcpy(anchor__test.blocks + at, &word, 8); }
uint64_t anchor__k_input_length(void) { return strlen(anchor__test.request); }
uint32_t anchor__k_input_load_u8(uint64_t i) { return (uint8_t)anchor__test.request[i]; }
uint64_t anchor__k_input_load_u64(uint64_t i) {
    uint64_t word;
    memcpy(&word, anchor__test.request + i, 8);
    return word;
}
void anchor__k_output_set(uint64_t at, uint64_t n) {
    anchor__test.reply = anchor__test_block(at);
    anchor__test.reply.len = (uint32_t)n;
}
void anchor__k_error_set(uint64_t at) { anchor__test.error = anchor__test_block(at); }
void anchor__k_log_debug(uint64_t at) { anchor__test_log("debug", at); }
void anchor__k_log_info(uint64_t at) { anchor__test_log("info", at); }
void anchor__k_log_warn(uint64_t at) { anchor__test_log("warn", at); }
void anchor__k_log_error(uint64_t at) { anchor__test_log("error", at); }
uint64_t anchor__k_config_get(uint64_t key) { return (void)key, 0; }
uint64_t anchor__k_http_request(uint64_t request, uint64_t body) { return (void)request, (void)body, 0; }
int32_t anchor__k_http_status_code(void) { return 0; }
uint64_t anchor__k_http_headers(void) { return 0; }
uint64_t anchor__k_http_batch(uint64_t requests) { return (void)requests, 0; }
uint64_t anchor__k_kv_get(uint64_t key) { return (void)key, 0; }
int32_t anchor__k_kv_set(uint64_t key, uint64_t value) { return (void)key, (void)value, 2; }
uint64_t anchor__k_count_tokens(uint64_t text) { return (void)text, 0; }

#ifdef ANCHOR_SERVICES_H
static struct {
    const char *embed, *search, *llm;
    const float *values;
    uint32_t dimension, count;
    anchor_text asked;
} anchor__test_services;

/* Makes a document of ABI.md, section 7, the answer of the service embed, search or llm. It
 * stays so until the next one. Null is no answer. */
static inline void anchor_test_answer(const char *service, const char *document) {
    if (*service == 'e') anchor__test_services.embed = document, anchor__test_services.dimension = 0;
    else if (*service == 's') anchor__test_services.search = document;
    else anchor__test_services.llm = document;
}

/* Makes vectors the answer of the service embed: count numbers, one vector after the other. */
static inline void anchor_test_vectors(uint32_t dimension, const float *values, uint32_t count) {
    anchor__test_services.dimension = dimension, anchor__test_services.values = values, anchor__test_services.count = count;
}

/* The document that a service was asked last, until the next test. */
static inline anchor_text anchor_test_asked(void) { return anchor__test_services.asked; }

static uint64_t anchor__test_answered(uint64_t request, const char *document) {
    anchor__test_services.asked = anchor__test_block(request);
    return document ? anchor__block(anchor_str(document)) : 0;
}
uint64_t anchor__k_search(uint64_t request) { return anchor__test_answered(request, anchor__test_services.search); }
uint64_t anchor__k_llm(uint64_t request) { return anchor__test_answered(request, anchor__test_services.llm); }
uint64_t anchor__k_embed(uint64_t request) {
    char document[100];
    anchor_text bytes = {(const char *)(const void *)anchor__test_services.values, 4 * anchor__test_services.count};
    if (!anchor__test_services.dimension) return anchor__test_answered(request, anchor__test_services.embed);
    snprintf(document, sizeof document, "{\"model\":\"test\",\"dimension\":%u,\"vectors\":%llu}", (unsigned)anchor__test_services.dimension,
        (unsigned long long)anchor__block(bytes));
    return anchor__test_answered(request, document);
}
#endif

#ifdef __cplusplus
}
#endif

#endif
