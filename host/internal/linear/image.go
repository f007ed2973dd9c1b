package linear

// Image is the content of a memory at one moment, without the parts that are
// zero. It does not change and may be used by several goroutines.
type Image struct {
	size int
	held int64
	runs []run
}

// run is a part of an image that is not zero.
type run struct {
	at    int
	bytes []byte
}

// grain is the size of the pieces that are zero or are not, that of a page of
// most systems: a new mapping pays for every page it writes.
const grain = 4 << 10

// Capture copies the content of a memory.
func Capture(mem []byte) *Image {
	im := &Image{size: len(mem)}
	for at := 0; at < len(mem); {
		end := at
		for end < len(mem) && !zero(mem[end:min(end+grain, len(mem))]) {
			end = min(end+grain, len(mem))
		}
		if end > at {
			im.runs = append(im.runs, run{at, append([]byte(nil), mem[at:end]...)})
			im.held += int64(end - at)
			at = end
			continue
		}
		at += grain
	}
	return im
}

// zero reports whether b is all zeros.
func zero(b []byte) bool {
	for len(b) >= 8 {
		if b[0]|b[1]|b[2]|b[3]|b[4]|b[5]|b[6]|b[7] != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// Size is the size of the memory the image was taken of, in bytes.
func (im *Image) Size() int { return im.size }

// Held is what the image itself takes, in bytes.
func (im *Image) Held() int64 { return im.held }

// Fill writes the image into a memory of at least its size that is all zeros.
func (im *Image) Fill(mem []byte) {
	for _, r := range im.runs {
		r.write(mem)
	}
}

// Restore puts the image back into a memory of at least its size and zeroes the
// rest.
func (im *Image) Restore(mem []byte) {
	at := 0
	for _, r := range im.runs {
		clear(mem[at:r.at])
		r.write(mem)
		at = r.at + len(r.bytes)
	}
	clear(mem[at:])
}

// stride is the most that is copied at a time: larger copies pass by the caches
// and take nearly twice as long.
const stride = 128 << 10

func (r run) write(mem []byte) {
	for at := 0; at < len(r.bytes); at += stride {
		copy(mem[r.at+at:], r.bytes[at:min(at+stride, len(r.bytes))])
	}
}
