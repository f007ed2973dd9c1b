//go:build linux && (amd64 || arm64 || riscv64 || loong64)

package linear

import "syscall"

// restoreMapped resets a memory that maps its image. It reads only the pages that may
// differ. It returns how many bytes of the image the memory holds private copies of, and
// whether the reset worked. mem is the content of the memory.
func (m *Memory) restoreMapped(mem []byte) (private int64, ok bool) {
	p, err := pages()
	if err != nil {
		return 0, false
	}
	im := m.image
	restore := func(from, to int) {
		private += int64(max(0, min(to, im.size)-from))
		im.restore(mem, from, to)
	}
	if m.track == nil {
		err = p.private(mem, restore) // before tracking begins, which changes the page map
		if m.resets++; m.resets == trackAfter && im.size <= trackMost {
			m.follow(p)
		}
		return private, err == nil
	}
	if m.track.written(mem[:im.size], restore) != nil {
		return 0, false
	}
	if len(mem) == im.size {
		return private, true
	}
	beyond := mem[im.size:]
	return private, p.private(beyond, func(from, to int) { wipe(beyond[from:to]) }) == nil
}

// follow begins to track the writes to m, which maps its image. Pages that are private
// already count as written: most calls write them again and pay no fault for it.
func (m *Memory) follow(p *pagemap) {
	t, err := writes()
	if err != nil {
		return
	}
	mem := m.mapped[:m.image.size]
	for _, r := range m.image.runs { // at once, which is quicker than one fault a page
		_ = syscall.Madvise(mem[r.at:r.end()], advisePopulateRead)
	}
	var private [][]byte // found before protect, which changes the page map
	err = p.private(mem, func(from, to int) { private = append(private, mem[from:to]) })
	if err != nil || t.protect(mem) != nil {
		return
	}
	for _, part := range private {
		if t.unprotect(part) != nil {
			return
		}
	}
	m.track = t.track()
}
