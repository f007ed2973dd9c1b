/* Uses everything that the host offers, and reads columns that its manifest does not name. */
#include "anchor_services.h"

static anchor_text path(anchor_text url, const char *end) {
    anchor_buf b = {0};
    anchor_add_text(&b, url);
    anchor_add(&b, end);
    return anchor_buf_text(&b);
}

static void add_word(anchor_buf *b, anchor_text t) {
    anchor_add_text(b, t);
    anchor_add_char(b, ' ');
}

static void add_number(anchor_buf *b, int64_t n) {
    anchor_add_int(b, n);
    anchor_add_char(b, ' ');
}

#include "services.h"

static int reply_label(anchor_buf *reply, const anchor_buf *label) {
    anchor_add(reply, "{\"label\":");
    anchor_add_json(reply, anchor_buf_text(label));
    anchor_add(reply, "}");
    return ANCHOR_DONE;
}

static int classify(anchor_json request, anchor_buf *reply) {
    anchor_text url = anchor_json_text(anchor_json_get(anchor_json_get(request, "settings"), "url")), stored;
    anchor_text question = anchor_json_text(anchor_json_get(anchor_json_get(request, "query"), "query_str"));
    anchor_text bytes = {"\0\377z", 3};
    anchor_http_request post = {"POST", path(url, "/echo"), anchor_str("{\"X-Word\":\"w\u00f6rd\"}"), bytes, 0};
    anchor_http_request slow = {0, path(url, "/never"), {0, 0}, {0, 0}, 50};
    anchor_http_request both[2] = {{"POST", post.url, {0, 0}, anchor_str("{\"n\":1}"), 60000}, slow};
    anchor_http_response one, late, answers[2];
    anchor_buf label = {0};
    if (!url.len) return serve(question, &label) ? -1 : reply_label(reply, &label);
    anchor_http(&post, &one);
    if (!anchor_equal(one.body, bytes)) return anchor_fail("bytes");
    anchor_http(&slow, &late);
    if (!anchor_http_batch(both, 2, answers)) return anchor_fail("batch");
    if (anchor_kv_get(anchor_str("k"), &stored) || !anchor_kv_set(anchor_str("k"), anchor_str("stored"))) return anchor_fail("kv");
    if (!anchor_kv_get(anchor_str("k"), &stored)) return anchor_fail("kv");
    anchor_kv_set(anchor_str("k"), anchor_str(""));
    add_number(&label, one.status);
    add_word(&label, anchor_json_text(anchor_json_get(one.headers, "x-word")));
    add_number(&label, late.status);
    add_number(&label, answers[0].status);
    add_number(&label, (int64_t)anchor_json_number(anchor_json_get(answers[0].body, "n"), 0));
    add_number(&label, answers[1].status);
    add_word(&label, answers[1].error);
    add_word(&label, stored);
    anchor_add_int(&label, (int64_t)anchor_count_tokens(question));
    return reply_label(reply, &label);
}
ANCHOR_DOCUMENT(classify, classify)

static int keep(anchor_request *r, anchor_reply *c) {
    anchor_value v;
    anchor_keep_none(c);
    for (uint32_t i = 0; i < r->rows; i++)
        if (!anchor_meta_find(r, i, "drop", 4, &v) && !anchor_equal(anchor_at(&r->source, i), anchor_str("tool")) && !anchor_embedding(r, i) && anchor_at(&r->text, i).len) anchor_keep(c, i);
    return ANCHOR_DONE;
}
ANCHOR_FILTER(keep)
