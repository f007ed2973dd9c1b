// Package sqlite implements a durable [store.Store]: one SQLite file, written by a driver in
// pure Go.
//
//	path, err := sqlite.DefaultPath()
//	…
//	s, err := sqlite.Open(ctx, path, sqlite.Options{})
//	if err != nil {
//		return err
//	}
//	defer s.Close()
//
// # Durability
//
// The file is in WAL mode. With [Full], the default, every commit is synced to the disk
// before a call returns. An acknowledged write then survives the end of the process at any
// point. It also survives a power cut, if the disk really keeps what it reports as synced.
// With [Normal] a power cut may lose the last commits, but never an earlier one without the
// later ones. Every record has a checksum, which every read verifies; [Store.Check] verifies
// the whole file.
//
// # Concurrency
//
// One goroutine writes. It combines waiting calls into one transaction, so that many writers
// share one sync, and answers each of them after the commit. Readers have their own
// connections and never wait for the writer. Several processes may open one file; they write
// one at a time. The file must be on a local disk, because network file systems do not
// provide reliable locks and shared memory.
//
// # Files
//
// Open creates the file and its directory if they do not exist. Only their owner can access
// them. While the file is open, there are two more files next to it, with -wal and -shm
// added to its name. They are part of the store: copy, move and delete all three together,
// and only when no process has them open.
//
// SQLite in pure Go needs no C compiler, and a file that outlives the program. A backup is one
// pass over a snapshot (VACUUM INTO): a copy page by page begins again with each write of another
// process, and of a busy store would never end.
package sqlite
