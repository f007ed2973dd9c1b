package wasmbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"sync"
)

// Facts are what only the code of a module says about it, and that it could be
// decoded. Reading them takes most of the time of [Inspect]; they are plain data
// and can be kept, by the digest of the module and the [Revision] of this package.
type Facts struct {
	Uses Uses `json:"uses"`
	// Compiled, Interpreted, Frame and FrameFunc are as in Info.
	Compiled    Estimate `json:"compiled"`
	Interpreted Estimate `json:"interpreted"`
	Frame       uint64   `json:"frame"`
	FrameFunc   uint32   `json:"frame_func"`
}

// Facts returns what the code of the module said.
func (i *Info) Facts() Facts {
	return Facts{i.Uses, i.Compiled, i.Interpreted, i.Frame, i.FrameFunc}
}

// InspectKnown is [Inspect] for a module whose code is known: what Inspect made of
// the same bytes. It reads everything else.
func InspectKnown(bin []byte, f Facts) (*Info, error) {
	m, err := parseKnown(bin, f)
	if err != nil {
		return nil, err
	}
	return &m.info, nil
}

func parseKnown(bin []byte, f Facts) (*module, error) {
	m, err := parse(bin)
	if err != nil {
		return nil, err
	}
	m.known = true
	m.info.Uses, m.info.Compiled, m.info.Interpreted = f.Uses, f.Compiled, f.Interpreted
	m.info.Frame, m.info.FrameFunc = f.Frame, f.FrameFunc
	return m, nil
}

// source is this package, its tests included: which files matter need not be
// told apart.
//
//go:embed *.go
var source embed.FS

// Revision tells apart versions of this package: what one makes of a module must
// not be taken for what another does. It is the digest of the source, so that no
// change can forget to change it.
var Revision = sync.OnceValue(func() string {
	h := sha256.New()
	files, _ := fs.Glob(source, "*") // in the order of their names
	for _, name := range files {
		text, _ := source.ReadFile(name)
		h.Write([]byte(name))
		h.Write(text)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))
})
