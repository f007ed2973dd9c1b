package linear

import (
	"bytes"
	"iter"
	"sort"
	"sync/atomic"
)

// Image is the content of a memory at one moment, without the parts that are
// zero. It does not change and may be used by several goroutines.
type Image struct {
	size int
	held int64
	runs []run
	// file is what memories map, nil where they cannot.
	file *backing
	// mostPrivate is the most bytes of it that one memory was found to have private
	// copies of.
	mostPrivate atomic.Int64
}

// Capture copies the content of a memory: into a file in memory where the system has
// such files, else to the heap. The image must be freed.
func Capture(mem []byte) *Image {
	im := parts(mem)
	im.file, _ = newBacking(im.size, im.runs) // without one, the heap serves
	im.hold()
	return im
}

// Copy is Capture to the heap.
func Copy(mem []byte) *Image {
	im := parts(mem)
	im.hold()
	return im
}

// Part is a part of an image: bytes and where they belong.
type Part struct {
	At    int
	Bytes []byte
}

// Rebuild makes an image of a size of its parts, which must be in order and lie
// within it. shared asks for a file in memory, where the system has such files.
func Rebuild(size int, parts []Part, shared bool) *Image {
	im := &Image{size: size}
	for _, p := range parts {
		im.runs = append(im.runs, run{p.At, p.Bytes})
		im.held += int64(len(p.Bytes))
	}
	if shared {
		im.file, _ = newBacking(im.size, im.runs)
	}
	im.hold()
	return im
}

// Parts are the parts of the image that are not zero. They must not be changed.
func (im *Image) Parts() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for _, r := range im.runs {
			if !yield(r.at, r.bytes) {
				return
			}
		}
	}
}

// parts makes an image whose runs are views of the memory.
func parts(mem []byte) *Image {
	im := &Image{size: len(mem)}
	for at := 0; at < len(mem); {
		end := at
		for end < len(mem) && !zero(mem[end:min(end+grain, len(mem))]) {
			end = min(end+grain, len(mem))
		}
		if end > at {
			im.runs = append(im.runs, run{at, mem[at:end]})
			im.held += int64(end - at)
			at = end
			continue
		}
		at += grain
	}
	return im
}

// hold gives the image bytes of its own.
func (im *Image) hold() {
	for i := range im.runs {
		r := &im.runs[i]
		if im.file != nil {
			r.bytes = im.file.view[r.at:r.end()]
		} else {
			r.bytes = bytes.Clone(r.bytes)
		}
	}
}

// Free releases the image, which must not be used afterwards. Memories that map it stay
// valid.
func (im *Image) Free() {
	if im.file != nil {
		im.file.close()
	}
	im.runs, im.file = nil, nil
}

// Size is the size of the memory the image was taken of, in bytes.
func (im *Image) Size() int { return im.size }

// Held is the most memory that the image takes, in bytes. In a file, zero parts take
// memory too as soon as a guest reads them.
func (im *Image) Held() int64 {
	if im.file != nil {
		return int64(im.size)
	}
	return im.held
}

// Fill writes the image into a memory of at least its size that is all zeros.
func (im *Image) Fill(mem []byte) {
	for _, r := range im.runs {
		r.write(mem)
	}
}

// Restore copies the image into a memory of at least its size and zeroes the rest.
// Pieces that are equal already are not written: an unwritten page stays shared with the
// image's file, and its cache lines stay shared between processors.
func (im *Image) Restore(mem []byte) { im.restore(mem, 0, len(mem)) }

// restore is Restore for the bytes from from to to.
func (im *Image) restore(mem []byte, from, to int) {
	at := from
	for _, r := range im.after(from) {
		if r.at >= to {
			break
		}
		r = r.clip(from, to)
		wipe(mem[at:r.at])
		put(mem[r.at:r.end()], r.bytes)
		at = r.end()
	}
	wipe(mem[at:to])
}

// after are the runs that do not end before from.
func (im *Image) after(from int) []run {
	return im.runs[sort.Search(len(im.runs), func(i int) bool { return im.runs[i].end() > from }):]
}
