// A plugin that moves its bytes one by one, as the first Extism kits did: 650,000
// calls of store_u8.
#include "extism.h"

#define BYTES 650000

EXPORT(stores) int stores(void) {
	u64 at = extism_alloc(BYTES);
	for (u64 i = 0; i < BYTES; i++) extism_store_u8(at + i, (u8)(i * 7 + 3));
	u64 last = extism_load_u8(at + BYTES - 1);
	return answer(at == 0 ? 0 : last);
}
