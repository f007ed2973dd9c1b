/* by-source keeps the items of some sources. */
#include "anchor.h"

static int keep(anchor_request *r, anchor_reply *c) {
    anchor_json sources = anchor_json_get(r->settings, "sources"), source;
    anchor_keep_none(c);
    for (uint32_t i = 0; i < r->rows; i++) {
        anchor_json_iter it = anchor_json_each(sources);
        while (anchor_json_next(&it, 0, &source)) {
            if (!anchor_equal(anchor_at(&r->source, i), anchor_json_text(source))) continue;
            anchor_keep(c, i);
            break;
        }
    }
    return ANCHOR_DONE;
}
ANCHOR_FILTER(keep)
