/* Uses every column and every kind of change. */
#include "anchor.h"

static anchor_text join(anchor_text a, const char *between, anchor_text b) {
    anchor_buf out = {0};
    anchor_add_text(&out, a);
    anchor_add(&out, between);
    anchor_add_text(&out, b);
    return anchor_buf_text(&out);
}

static void change(anchor_request *r, anchor_reply *c, uint32_t i) {
    uint32_t n;
    anchor_text text = anchor_at(&r->text, i);
    anchor_field *f = anchor_metadata(r, i, 4, &n);
    f[n++] = anchor_field_int("a row", i);
    f[n++] = anchor_field_double("half", r->score[i] / 2);
    f[n++] = anchor_field_bool("first", i == 0);
    f[n++] = anchor_field_text("was", text);
    anchor_keep(c, i);
    anchor_set_metadata(c, i, f, n);
    anchor_set_text(c, i, join(join(anchor_at(&r->id, i), " ", text), "/", anchor_at(&r->source, i)));
    anchor_set_priority(c, i, 11 - r->priority[i]);
    anchor_set_score(c, i, (1 - r->score[i]) * anchor_setting_number(r, "factor", 1));
}

static int process(anchor_request *r, anchor_reply *c) {
    anchor_value v;
    anchor_field f[] = {anchor_field_int("left", r->tokens_left), anchor_field_int("tokens", r->token_count[0]), anchor_field_double("tenth", 0.1)};
    if (!anchor_setting_bool(r, "loud", 0)) return anchor_fail("not loud");
    anchor_item item = {.key = anchor_str("k"), .content = join(r->query_text, "\n", anchor_setting_text(r, "suffix", "")), .score = 0.25, .priority = 3};
    item.created_at = r->created_at[0], item.metadata = f, item.fields = 3;
    for (uint32_t i = 0; i < r->rows; i++)
        if (!anchor_meta_find(r, i, "drop", 4, &v)) change(r, c, i);
    uint32_t added = anchor_add_item(c, item);
    anchor_order(c, added);
    for (uint32_t i = r->rows; i-- > 0;)
        if (!anchor_meta_find(r, i, "drop", 4, &v)) anchor_order(c, i);
    return ANCHOR_DONE;
}
ANCHOR_PROCESS(process)
