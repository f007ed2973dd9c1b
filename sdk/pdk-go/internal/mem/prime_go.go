//go:build wasip1 && !tinygo

package mem

// The largest objects of which one is made ahead, in bytes: those of calls with
// up to WarmRows rows. The sizes of larger ones lie further apart.
const (
	primeSmall    = 1024
	primePointers = 1024
	primeBytes    = 8 * WarmRows
)

var primed struct {
	bytes    []byte
	pointers []*byte
}

// stackRoom is what the stack of calls has room for after the warm-up, in bytes.
const stackRoom = 32 << 10

// deepen has the stack of calls grow. It stays as large, and growing is moving it.
//
//go:noinline
func deepen(i int) byte {
	var room [stackRoom]byte
	room[i] = 1
	return room[stackRoom-1-i]
}

// prime allocates an object of each size class, so that the allocator has room
// for more of each: fetching it takes longer than many a call.
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
