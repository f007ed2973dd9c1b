package wazerox

const (
	// MaxMemory is what 32-bit addresses reach, without the last page: the size of a full
	// memory reads as 0.
	MaxMemory = 4<<30 - 64<<10
	// TableElement is what an element of a table takes, in bytes.
	TableElement = 8
)

const (
	// StackSize is how large a stack is, 9 MiB: nine times what browsers give, and twice
	// what stock Go needs for JSON that is nested 10,000 deep.
	StackSize = small + huge
	// StackKept is how many bytes of memory a stack keeps when it is shed. It is not told
	// from one that is empty.
	StackKept = 256 << 10
	// usable is how many of its bytes calls may use together.
	usable = StackSize - margin
)

const (
	// small is the part that comes in small pages, as few as calls need. A guest with
	// large frames reaches the end of its stack between two safe points, and small pages
	// take 1 ms for each 4 MB, so the rest may come in large ones.
	small, huge = 1 << 20, 8 << 20
	// margin lies between what calls may use and what cannot be touched.
	margin = 64 << 10
	// unmoved is a size of which wazero makes no stack larger.
	unmoved = 48 << 20
)
