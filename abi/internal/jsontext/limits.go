package jsontext

const (
	// MaxBytes is the maximum size in bytes of a container, and of a document that a guest
	// answers with.
	MaxBytes = 256 << 20
	// MaxDepth is how deep lists and objects in a metadata value may nest.
	MaxDepth = 64
)
