package wazerox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
)

// OpenCode has wazero keep machine code in an empty folder, and returns the folder that it
// makes there. Its name tells versions, systems and processors apart. In it lies a file for
// each module, whose name depends on the bytes of the module alone.
func OpenCode(dir string) (cache wazero.CompilationCache, files string, err error) {
	if cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
		return nil, "", err
	}
	made, err := os.ReadDir(dir)
	if err == nil && len(made) != 1 {
		err = errors.New("wazero keeps its files elsewhere")
	}
	if err != nil {
		return nil, "", err
	}
	return cache, filepath.Join(dir, made[0].Name()), nil
}

// Unfinished reports whether a file of that name is one that wazero is still writing.
func Unfinished(name string) bool { return strings.HasSuffix(name, ".tmp") }
