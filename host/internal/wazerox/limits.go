package wazerox

const (
	// MaxMemory is what 32-bit addresses reach, without the last page: the size of a full
	// memory reads as 0.
	MaxMemory = 4<<30 - 64<<10
	// TableElement is what an element of a table takes, in bytes.
	TableElement = 8
)
