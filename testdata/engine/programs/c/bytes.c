// A plugin that stores bytes one by one, as the first Extism kits did: as many calls of
// store_u8 as its input says.
#include "extism.h"

EXPORT(stores) int stores(void) {
	u64 n = extism_input_load_u64(0);
	u64 at = extism_alloc(n);
	if (at == 0) return 1;
	for (u64 i = 0; i < n; i++) extism_store_u8(at + i, (u8)(i * 7 + 3));
	return answer(extism_load_u8(at + n - 1));
}
