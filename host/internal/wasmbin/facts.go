package wasmbin

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"sync"
)

// Facts are the properties of a module that only its code shows. They also state that the
// code could be decoded. Finding them takes most of the time of [Inspect]. They are plain
// data and can be stored under the digest of the module and the [Revision] of this package.
type Facts struct {
	Uses Uses `json:"uses"`
	// Compiled, Interpreted, Frame, FrameFunc and Code are as in Info.
	Compiled    Estimate `json:"compiled"`
	Interpreted Estimate `json:"interpreted"`
	Frame       uint64   `json:"frame"`
	FrameFunc   uint32   `json:"frame_func"`
	Code        [32]byte `json:"code"`
}

// Facts returns the facts of the module.
func (i *Info) Facts() Facts {
	return Facts{i.Uses, i.Compiled, i.Interpreted, i.Frame, i.FrameFunc, i.Code}
}

// parseKnown is parse for a module with facts that Inspect found.
func parseKnown(bin []byte, f Facts) (*module, error) {
	m, err := parse(bin)
	if err != nil {
		return nil, err
	}
	m.known = true
	m.info.Uses, m.info.Compiled, m.info.Interpreted = f.Uses, f.Compiled, f.Interpreted
	m.info.Frame, m.info.FrameFunc, m.info.Code = f.Frame, f.FrameFunc, f.Code
	return m, nil
}

// source is the source of this package. It includes the tests, so that no list of the files
// that matter has to be maintained.
//
//go:embed *.go
var source embed.FS

// Revision returns the version of this package as a hexadecimal digest. What one version
// makes of a module must not be used as the result of another. It is the digest of the
// source, so that nobody has to remember to change it.
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
