package hf

// table maps a node and a byte to the next node. A zero key marks a free slot.
type table struct {
	keys   []uint64
	values []uint32
	used   int
}

func (t *table) slot(node uint32, b byte) (int, uint64) {
	key := uint64(node)<<8 | uint64(b)
	key++
	mask := len(t.keys) - 1
	for i := int(key * 0x9E3779B97F4A7C15 >> 32); ; i++ {
		if k := t.keys[i&mask]; k == key || k == 0 {
			return i & mask, key
		}
	}
}

func (t *table) find(node uint32, b byte) (uint32, bool) {
	i, key := t.slot(node, b)
	return t.values[i], t.keys[i] == key
}

// child returns the next node, which is created as fresh if there is none.
func (t *table) child(node uint32, b byte, fresh uint32) uint32 {
	if 2*t.used >= len(t.keys) {
		t.grow()
	}
	i, key := t.slot(node, b)
	if t.keys[i] == key {
		return t.values[i]
	}
	t.keys[i], t.values[i] = key, fresh
	t.used++
	return fresh
}

func (t *table) grow() {
	keys, values := t.keys, t.values
	size := max(1<<10, 2*len(keys))
	t.keys, t.values = make([]uint64, size), make([]uint32, size)
	for i, key := range keys {
		if key != 0 {
			key--
			j, k := t.slot(uint32(key>>8), byte(key))
			t.keys[j], t.values[j] = k, values[i]
		}
	}
}
