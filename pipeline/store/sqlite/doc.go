// Package sqlite is the durable [store.Store]: one SQLite file, written by a pure Go
// driver.
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
// The file is in WAL mode. With [Full], the default, every commit is synced before a
// call returns: what was acknowledged survives the end of the process at any point,
// and a power cut as far as the disk keeps what it says it has synced. With [Normal]
// a power cut may take the last commits, but nothing in between. Every record carries
// a checksum, which every read verifies; [Store.Check] verifies all of the file.
//
// # Concurrency
//
// One goroutine writes. It gathers the calls that wait into one transaction, so that
// many writers share one sync, and answers each after the commit. Readers have
// connections of their own and wait for nobody. Several processes may open one file;
// their writes take turns. The file must be on a local disk: locks and shared memory
// of network file systems do not hold.
//
// # Files
//
// The file and its directory are created if need be; new ones belong to their owner
// alone. While the file is open, two more are next to it, its name with -wal and -shm.
// They are part of it: copy, move and delete all three together, and only when no
// process has them open.
package sqlite
