package record

import (
	"bytes"
	"unsafe"

	"github.com/anchor-host/anchor-host/pipeline/core"
)

// identical reports whether two lists are the same bit for bit, which is usual after a step
// that does nothing. The recorder calls it after every native step, and comparing the fields
// of each item takes several times as long. This is the only use of unsafe here. It only
// reads memory, as bytes.
func identical(a, b []core.Item) bool {
	return len(a) == len(b) && bytes.Equal(memoryOf(a), memoryOf(b))
}

func memoryOf(items []core.Item) []byte {
	size := uintptr(len(items)) * unsafe.Sizeof(core.Item{})
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(items))), size)
}

// sameItem reports whether two items have the same id, source and text.
func sameItem(a, b *core.Item) bool {
	return a.ID == b.ID && a.Source == b.Source && a.Content == b.Content
}

func samePrefix(a, b []core.Item) int {
	n := min(len(a), len(b))
	for i := range n {
		if !sameItem(&a[i], &b[i]) {
			return i
		}
	}
	return n
}
