// Plugins that store bytes one by one, as the first Extism kits did: as many calls of
// store_u8 as their input says, an even number.
#include "extism.h"

EXPORT(stores) int stores(void) {
	u64 n = extism_input_load_u64(0);
	u64 at = extism_alloc(n);
	if (at == 0) return 1;
	for (u64 i = 0; i < n; i++) extism_store_u8(at + i, (u8)(i * 7 + 3));
	return answer(extism_load_u8(at + n - 1));
}

// The same, but each two the other way around, so that none lies behind the one before.
EXPORT(scattered) int scattered(void) {
	u64 n = extism_input_load_u64(0);
	u64 at = extism_alloc(n);
	if (at == 0) return 1;
	for (u64 i = 0; i < n; i++) extism_store_u8(at + (i ^ 1), (u8)((i ^ 1) * 7 + 3));
	return answer(extism_load_u8(at + n - 1));
}
