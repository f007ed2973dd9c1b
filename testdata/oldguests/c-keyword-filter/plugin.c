/* Keeps the items that hold any, or all, of the keywords. */
#include "anchor.h"

static char lower(char c) { return c >= 'A' && c <= 'Z' ? c + 32 : c; }

/* Reports whether text holds word, ASCII letters compared without case. */
static int holds(anchor_text text, anchor_text word) {
    for (uint32_t at = 0; at + word.len <= text.len; at++) {
        uint32_t i = 0;
        while (i < word.len && lower(text.ptr[at + i]) == lower(word.ptr[i])) i++;
        if (i == word.len) return 1;
    }
    return 0;
}

static int matches(anchor_text text, anchor_text words, int all) {
    anchor_text word;
    while ((word = anchor_next_word(&words)).len)
        if (holds(text, word) != all) return !all;
    return all;
}

static int filter(anchor_request *r, anchor_reply *c) {
    anchor_text words = anchor_setting_text(r, "keywords", ""), rest = words;
    int all = anchor_equal(anchor_setting_text(r, "match", "any"), anchor_str("all"));
    if (anchor_next_word(&rest).len == 0) return ANCHOR_NO_CHANGE;
    anchor_keep_none(c);
    for (uint32_t i = 0; i < r->rows; i++)
        if (matches(anchor_at(&r->text, i), words, all)) anchor_keep(c, i);
    return ANCHOR_DONE;
}
ANCHOR_FILTER(filter)
