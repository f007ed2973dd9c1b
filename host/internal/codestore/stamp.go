package codestore

// Stamp tells versions of a file apart beyond its size and time, which whoever
// changes it may set.
type Stamp struct {
	// Device and Inode say which file it is.
	Device, Inode int64
	// Changed is when the file was changed in any way, in nanoseconds since 1970.
	Changed int64
}
