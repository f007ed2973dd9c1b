//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import (
	"errors"
	"os"
	"slices"
	"syscall"
)

// trial is a mapped image of a few pages, to try out what the system says of them.
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

// collects returns a function that notes the numbers of the pages of a part, and the
// list that it fills.
func (t *trial) collects() (note func(from, to int), noted *[]int) {
	noted = new([]int)
	return func(from, to int) {
		for at := from; at < to; at += t.page {
			*noted = append(*noted, at/t.page)
		}
	}, noted
}

// try checks what the page map says of a trial.
func (p *pagemap) try() error {
	t, err := newTrial(p.page)
	if err != nil {
		return err
	}
	defer t.close()
	t.touch()
	t.mapped[trialPages*t.page] = 1 // beyond the image
	note, private := t.collects()
	if err := p.private(t.mapped, note); err != nil {
		return err
	}
	if !slices.Equal(*private, []int{1, 5, trialPages}) {
		return errTrial
	}
	return nil
}

// try checks what the tracker says of a trial: of pages that this process wrote, of one
// that the kernel wrote in a system call, and of those that nobody wrote.
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
	if err := t.unprotect(mem[:page]); err != nil {
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
