/* Uses init, an operation of the JSON lane alone, and the host. */
#include "anchor.h"

static anchor_text prefix;

static int init(anchor_json request, anchor_buf *reply) {
    (void)reply;
    prefix = anchor_json_text(anchor_json_get(anchor_json_get(request, "settings"), "prefix"));
    anchor_keep_memory();
    return ANCHOR_DONE;
}
ANCHOR_DOCUMENT(init, init)

static int classify(anchor_json request, anchor_buf *reply) {
    anchor_text query = anchor_json_text(anchor_json_get(anchor_json_get(request, "query"), "query_str"));
    anchor_text suffix = anchor_json_text(anchor_json_get(anchor_json_get(request, "settings"), "suffix"));
    anchor_text mode = anchor_str("none"), stored = anchor_str("nothing");
    anchor_buf label = {0};
    if (anchor_config("absent", &mode) || !anchor_config("mode", &mode)) return anchor_fail("config");
    if (anchor_kv_get(anchor_str("k"), &stored)) return anchor_fail("kv is not empty");
    if (!anchor_kv_set(anchor_str("k"), query) || !anchor_kv_get(anchor_str("k"), &stored)) return anchor_fail("kv");
    anchor_add_text(&label, prefix);
    anchor_add_text(&label, mode);
    anchor_add(&label, ":");
    anchor_add_text(&label, stored);
    anchor_add(&label, ":");
    anchor_add_int(&label, (int64_t)anchor_count_tokens(query));
    anchor_add_text(&label, suffix);
    anchor_log_info(suffix);
    anchor_add(reply, "{\"label\":");
    anchor_add_json(reply, anchor_buf_text(&label));
    anchor_add(reply, "}");
    anchor_kv_set(anchor_str("k"), anchor_str(""));
    return ANCHOR_DONE;
}
ANCHOR_DOCUMENT(classify, classify)
