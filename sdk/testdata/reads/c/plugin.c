/* Reads columns that its manifest does not name. */
#include "anchor.h"

static int keep(anchor_request *r, anchor_reply *c) {
    anchor_value v;
    anchor_keep_none(c);
    for (uint32_t i = 0; i < r->rows; i++)
        if (!anchor_meta_find(r, i, "drop", 4, &v) && !anchor_equal(anchor_at(&r->source, i), anchor_str("tool")) && anchor_at(&r->text, i).len) anchor_keep(c, i);
    return ANCHOR_DONE;
}
ANCHOR_FILTER(keep)
