package linear

// Finder is the way in which a reset finds the pages that differ from the image.
type Finder int

// The finders, each better than the one before.
const (
	// Compares compares the whole memory.
	Compares Finder = iota
	// ReadsMap compares the pages that the page map of the process shows as private
	// copies.
	ReadsMap
	// Tracks compares the pages that the system saw being written.
	Tracks
)

// String describes the finder.
func (f Finder) String() string {
	switch f {
	case ReadsMap:
		return "comparing pages that are no longer shared"
	case Tracks:
		return "comparing pages that were written"
	}
	return "comparing everything"
}
