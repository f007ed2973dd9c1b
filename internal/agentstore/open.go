package agentstore

import (
	"context"

	"github.com/anchor-host/anchor-host/pipeline/store/sqlite"
)

// The kinds under which a run is stored, beside those of package memory.
const (
	KindFrame = "frame" // a log of frames
	KindRun   = "run"   // the pipeline document of the frames, without them
	KindState = "state" // the state, newest version last
)

// Open opens the store in a file, by default that of the user, and creates it if
// need be. synchronous is full, normal or empty for full.
func Open(ctx context.Context, path, synchronous string) (*sqlite.Store, error) {
	if path == "" {
		var err error
		if path, err = sqlite.DefaultPath(); err != nil {
			return nil, err
		}
	}
	o := sqlite.Options{Sync: sqlite.Full}
	if synchronous == "normal" {
		o.Sync = sqlite.Normal
	}
	return sqlite.Open(ctx, path, o)
}
