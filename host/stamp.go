package host

// stamp tells versions of a file apart beyond its size and time, which whoever
// changes it may set: which file it is, and when that was changed in any way.
type stamp struct {
	device, inode int64
	// changed is in nanoseconds since 1970.
	changed int64
}
