/* high-priority keeps items of priority 5 and more. It uses the layout of batches alone, and
 * is built and packed by hand: tools of any language can do the same. */
#include "anchor_batch.h"

#define EXPORT(name) __attribute__((export_name(name)))

static _Alignas(8) unsigned char room[1 << 20], answer[1 << 20];
static uint32_t rows[1 << 17];
static anchor_mailbox_t box = {sizeof box, 0, 0, 0, 0, 0};

EXPORT("anchor_abi_1") void marker(void) {}
EXPORT("anchor_mailbox") anchor_mailbox_t *mailbox(void) { return &box; }
EXPORT("anchor_reserve") void *reserve(uint32_t n) {
    if (n > sizeof room) return 0;
    box.in_addr = (uint32_t)(uintptr_t)room, box.in_cap = sizeof room;
    return room;
}

EXPORT("anchor_batch_filter") int32_t filter(const void *at, uint32_t n) {
    anchor_batch b;
    anchor_changes c;
    uint32_t kept = 0;
    if (anchor_batch_open(&b, at, n) != ANCHOR_OK || b.rows > sizeof rows / sizeof *rows) return -1;
    for (uint32_t i = 0; i < b.rows; i++)
        if (b.priority[i] >= 5) rows[kept++] = i;
    anchor_changes_begin(&c, answer, sizeof answer);
    anchor_changes_keep(&c, rows, kept);
    box.out_addr = (uint32_t)(uintptr_t)answer;
    box.out_len = anchor_changes_end(&c);
    return box.out_len ? 0 : -1;
}
