package linear

import "bytes"

// run is a part of an image that is not zero.
type run struct {
	at    int
	bytes []byte
}

// end is where the run ends.
func (r run) end() int { return r.at + len(r.bytes) }

// clip is the part of a run that lies between from and to.
func (r run) clip(from, to int) run {
	from, to = max(r.at, from), min(r.end(), to)
	return run{from, r.bytes[from-r.at : to-r.at]}
}

func (r run) write(mem []byte) {
	for at := 0; at < len(r.bytes); at += stride {
		copy(mem[r.at+at:], r.bytes[at:min(at+stride, len(r.bytes))])
	}
}

// stride is the most that is copied at a time, in bytes. Larger copies bypass the caches
// and take nearly twice as long.
const stride = 128 << 10

// PageSize is the unit in which memories grow, in bytes.
const PageSize = 64 << 10

// grain is the size of the pieces in which content is compared, in bytes. It is that of
// a page on most systems: writing one byte of a shared page copies the whole page.
const grain = 4 << 10

var zeros [grain]byte

// zero reports whether b, at most a grain, is all zeros.
func zero(b []byte) bool { return bytes.Equal(b, zeros[:len(b)]) }

// put makes dst what src is.
func put(dst, src []byte) {
	for at := 0; at < len(src); at += grain {
		end := min(at+grain, len(src))
		if !bytes.Equal(dst[at:end], src[at:end]) {
			copy(dst[at:end], src[at:end])
		}
	}
}

// wipe zeroes b.
func wipe(b []byte) {
	for at := 0; at < len(b); at += grain {
		if p := b[at:min(at+grain, len(b))]; !zero(p) {
			clear(p)
		}
	}
}
