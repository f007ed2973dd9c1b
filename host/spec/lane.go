package spec

import "github.com/anchor-host/anchor-host/host/internal/choice"

// A Lane is the form in which a request and its answer travel. Both lanes mean the same.
type Lane string

const (
	// LaneJSON takes one document each way.
	LaneJSON Lane = "json"
	// LaneBatch takes columns, written straight into the guest's memory.
	LaneBatch Lane = "batch"
)

// UnmarshalText takes json or batch. Its error names the words that there are.
func (l *Lane) UnmarshalText(text []byte) error {
	return choice.Decode(l, text, []Lane{LaneJSON, LaneBatch})
}
