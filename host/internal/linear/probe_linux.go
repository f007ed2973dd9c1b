//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// trial is an image of a few pages, mapped, to try out what the system says of
// them.
type trial struct {
	page   int
	mapped []byte
	file   *backing
}

const trialPages = 8

var errTrial = errors.New("the system does not report written pages as expected")

func newTrial(page int) (*trial, error) {
	content := make([]byte, trialPages*page)
	for i := range trialPages / 2 { // the rest is a hole
		content[i*page] = byte(1 + i)
	}
	im := Capture(content)
	mapped, err := reserve(2 * uint64(len(content)))
	if err == nil && im.file == nil {
		err = errors.ErrUnsupported
	}
	if err == nil {
		err = im.file.mapOver(mapped, len(content))
	}
	if err != nil {
		im.Free()
		return nil, err
	}
	return &trial{page, mapped, im.file}, nil
}

func (t *trial) close() {
	release(t.mapped)
	t.file.close()
}

// touch reads all pages but the last, and writes one of the image and a hole.
func (t *trial) touch() {
	var sum byte
	for i := range trialPages - 1 {
		sum += t.mapped[i*t.page]
	}
	t.mapped[1*t.page] = sum
	t.mapped[5*t.page] = sum
}

// collects returns what notes the first byte of each page of a part, and the
// pages noted.
func (t *trial) collects() (note func(from, to int), noted *[]int) {
	noted = new([]int)
	return func(from, to int) {
		for at := from; at < to; at += t.page {
			*noted = append(*noted, at/t.page)
		}
	}, noted
}

// try holds the page map to what is known of a trial.
func (p *pagemap) try() error {
	t, err := newTrial(p.page)
	if err != nil {
		return err
	}
	defer t.close()
	t.touch()
	t.mapped[trialPages*t.page] = 1 // beyond the image
	note, own := t.collects()
	if err := p.own(t.mapped, note); err != nil {
		return err
	}
	if !slices.Equal(*own, []int{1, 5, trialPages}) {
		return errTrial
	}
	return nil
}

// try holds the tracker to what is known of a trial: writes of this process, of
// the kernel on its behalf, and none.
func (t *tracker) try() error {
	page := os.Getpagesize()
	tr, err := newTrial(page)
	if err != nil {
		return err
	}
	defer tr.close()
	mem := tr.mapped[:trialPages*page]
	mem[0]++
	if err := t.protect(mem); err != nil {
		return err
	}
	if err := t.release(mem[:page]); err != nil {
		return err
	}
	tr.touch()
	if _, err := syscall.Pread(int(tr.file.file.Fd()), mem[3*page:3*page+1], 0); err != nil {
		return err
	}
	for range 2 {
		note, written := tr.collects()
		if err := t.track().written(mem, note); err != nil {
			return err
		}
		if !slices.Equal(*written, []int{0, 1, 3, 5}) {
			return errTrial
		}
	}
	return nil
}

// counted reports whether threads count the faults by which the pages of a trial are
// written, by this process and by the kernel on its behalf, and have none without cause.
func (t *tracker) counted() bool {
	page := os.Getpagesize()
	tr, err := newTrial(page)
	if err != nil {
		return false
	}
	defer tr.close()
	mem := tr.mapped[:trialPages*page]
	if t.protect(mem) != nil {
		return false
	}
	for at := 0; at < len(mem); at += page {
		value := mem[at] // to read has a fault of its own
		var w Watch      // which must not count that one
		w.Begin(0)
		if at/page%2 == 0 {
			mem[at] = value + 1
		} else {
			_, err = syscall.Pread(int(tr.file.file.Fd()), mem[at:at+1], 0)
		}
		if w.End(0) || err != nil {
			return false
		}
	}
	var w Watch
	for range 10 {
		w.Begin(0)
		mem[0]++
		if w.End(0) {
			return true
		}
	}
	return false
}
