// first-words cuts texts to their first words.
#include "anchor.h"

namespace {

// words calls f with each word of a text until f returns false.
template <typename F> void words(anchor_text text, F f) {
    for (anchor_text word; (word = anchor_next_word(&text)).len && f(word);) {}
}

int cut(anchor_request *r, anchor_reply *c) {
    const auto most = static_cast<uint32_t>(anchor_setting_number(r, "max_words", 50));
    for (uint32_t row = 0; row < r->rows; row++) {
        anchor_text text = anchor_at(&r->text, row);
        uint32_t count = 0;
        const char *end = nullptr;
        words(text, [&](anchor_text word) {
            if (count++ == most) return false;
            end = word.ptr + word.len;
            return true;
        });
        if (count <= most) continue;
        text.len = static_cast<uint32_t>(end - text.ptr);
        anchor_set_text(c, row, text);
    }
    return ANCHOR_DONE;
}

} // namespace

ANCHOR_PROCESS(cut)
