// Package rlimit reads the limits that the system has set for this process.
package rlimit

import "sync"

// AddressSpace returns how many bytes of addresses this process may have mapped (ulimit -v),
// whether they are in use or not. ok is false where nothing bounds them, and on systems that
// have no such limit. It is read once.
func AddressSpace() (bytes int64, ok bool) {
	l := addressSpace()
	return l.most, l.bounded
}

const (
	// ForRuntime is what a reservation of addresses leaves to the Go runtime, in bytes.
	ForRuntime = 1 << 30
	// ForNext is what memory that is taken at once leaves, in bytes: the runtime takes
	// addresses in parts of 64 MiB, and others take memory at the same time.
	ForNext = 128 << 20
)

// Room says whether the process may map n more bytes. Where nothing bounds its addresses it
// always may. Ask before taking much: the Go runtime ends the process when it gets none.
func Room(n uint64) bool {
	if _, bounded := AddressSpace(); !bounded {
		return true
	}
	return canMap(n)
}

// OpenFiles returns how many files this process may have open (ulimit -n): the soft limit,
// which Go raises to the hard one when it starts. ok is false where nothing bounds them, and
// on systems that have no such limit.
func OpenFiles() (n int64, ok bool) {
	l := openFiles()
	return l.most, l.bounded
}

var addressSpace = sync.OnceValue(readAddressSpace)
