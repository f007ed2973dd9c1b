package codestore

// Stamp distinguishes versions of a file better than size and modification time, which a
// writer of the file can set.
type Stamp struct {
	// Device and Inode identify the file.
	Device, Inode int64
	// Changed is the time of the last change of any kind, in nanoseconds since 1970.
	Changed int64
}
