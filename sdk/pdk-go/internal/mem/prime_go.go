//go:build wasip1 && !tinygo

package mem

// The largest objects of which one is made ahead, in bytes: those of calls with
// up to a few hundred rows.
const (
	primeBytes    = 2048
	primePointers = 1024
)

var primed struct {
	bytes    []byte
	pointers []*byte
}

// prime allocates an object of each size class, so that the allocator has room
// for more of each: fetching it takes longer than many a call.
func prime() {
	for n := 8; n <= primeBytes; n += 8 {
		primed.bytes = make([]byte, n)
		if n <= primePointers {
			primed.pointers = make([]*byte, n/8)
		}
	}
	primed.bytes, primed.pointers = nil, nil
	state.out = make([]byte, 0, 8*WarmRows)
}
