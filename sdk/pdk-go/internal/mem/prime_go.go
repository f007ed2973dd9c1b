//go:build wasip1 && !tinygo

package mem

// The bounds, in bytes, of the objects that prime allocates in advance. They cover calls
// with up to WarmRows rows. Above primeSmall, size classes are further apart.
const (
	primeSmall    = 1024
	primePointers = 1024
	primeBytes    = 8 * WarmRows
)

var primed struct {
	bytes    []byte
	pointers []*byte
}

// stackRoom is the size in bytes to which the warm-up grows the stack.
const stackRoom = 32 << 10

// deepen makes the stack grow by using a large frame. The stack keeps its size afterwards.
// Calls then need not grow it, which would copy it.
//
//go:noinline
func deepen(i int) byte {
	var room [stackRoom]byte
	room[i] = 1
	return room[stackRoom-1-i]
}

// prime allocates an object of each size class, so that the allocator has memory for more of
// each. Without this, calls would fetch that memory, which takes longer than many a call.
func prime() {
	deepen(0)
	for n := 8; n <= primePointers; n += 8 {
		primed.pointers = make([]*byte, n/8)
	}
	for n, step := 8, 8; n <= primeBytes; n += step {
		if n == primeSmall {
			step = 128
		}
		primed.bytes = make([]byte, n)
	}
	primed.bytes, primed.pointers = nil, nil
	state.out = make([]byte, 0, 8*WarmRows)
}
