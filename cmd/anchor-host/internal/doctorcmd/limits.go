package doctorcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/cachedir"
	"github.com/anchor-host/anchor-host/internal/cgroup"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/rlimit"
	"github.com/anchor-host/anchor-host/internal/storeurl"
)

const (
	// littleRoom is the number of free bytes on a disk below which doctor warns. The log of
	// a busy store, or the machine code of a few plugins, needs as much.
	littleRoom = 256 << 20
	// coldBuild and warmBuild are the memory in bytes of a build with three plugins in
	// stock Go: coldBuild if it must compile them, and warmBuild if they are compiled.
	coldBuild, warmBuild = 256 << 20, 128 << 20
	// fewFiles is the limit of open files below which doctor warns: one guest may have 256.
	fewFiles = 1024
)

// storePath returns the path of the store, "" if it is unknown or a database.
func storePath(loaded *config.Loaded) string {
	path, err := agentstore.Path(loaded.StorePath())
	if err != nil || storeurl.Is(path) {
		return ""
	}
	return path
}

// cachePath returns the folder of compiled plugins, "" if there is none.
func cachePath(loaded *config.Loaded) (string, error) {
	switch path := loaded.CachePath(); path {
	case host.CacheOff:
		return "", nil
	case "":
		return cachedir.Folder(cachedir.Compiled)
	default:
		return path, nil
	}
}

// diskFinding says how much room is free on the disk of an existing or future path.
func diskFinding(check, path string) finding {
	if path == "" {
		return finding{check, statusOK, "none is needed"}
	}
	for _, err := os.Stat(path); err != nil && filepath.Dir(path) != path; _, err = os.Stat(path) {
		path = filepath.Dir(path)
	}
	free, err := freeBytes(path)
	detail := fmt.Sprintf("%d MiB are free at %s", free>>20, path)
	switch {
	case err != nil:
		return finding{check, statusOK, fmt.Sprintf("not known: %v", err)}
	case free < littleRoom:
		return finding{check, statusWarning, fmt.Sprintf("%s (make room: %d MiB or more)", detail, littleRoom>>20)}
	}
	return finding{check, statusOK, detail}
}

// memoryFinding compares the memory that guests may use, and the additional memory of a
// build, with the limit of the control group.
func memoryFinding(guests int64) finding {
	limit, ok := cgroup.MemoryLimit()
	if !ok {
		return finding{"memory", statusOK, "no control group bounds it"}
	}
	return memoryIn(limit, guests)
}

func memoryIn(limit, guests int64) finding {
	detail := fmt.Sprintf("the control group allows %d MiB", limit>>20)
	switch {
	case limit < coldBuild:
		return finding{"memory", statusWarning, fmt.Sprintf("%s: compiling plugins may need %d MiB, running compiled ones %d MiB (raise the limit)", detail, coldBuild>>20, warmBuild>>20)}
	case limit < guests+coldBuild:
		return finding{"memory", statusWarning, fmt.Sprintf("%s: guests may take %d MiB together, and a build takes another %d MiB (raise the limit, or lower limits.memory of the plugins)", detail, guests>>20, coldBuild>>20)}
	}
	return finding{"memory", statusOK, detail}
}

// addressFinding says whether the system limits the address space of a process.
func addressFinding() finding {
	n, bounded := rlimit.AddressSpace()
	detail := fmt.Sprintf("bounded to %d MiB (ulimit -v)", n>>20)
	if !bounded {
		return finding{"addresses", statusOK, "not bounded"}
	}
	if h, err := host.New(host.Config{CacheDir: host.CacheOff}); err != nil {
		return finding{"addresses", statusProblem, err.Error()}
	} else if err := h.Close(context.Background()); err != nil {
		return finding{"addresses", statusProblem, err.Error()}
	}
	return finding{"addresses", statusWarning, detail + ": memories of plugins are copied when they grow (set it to unlimited, and bound the memory with a control group)"}
}

// filesFinding says how many files a process may open.
func filesFinding() finding {
	n, bounded := rlimit.OpenFiles()
	switch {
	case !bounded:
		return finding{"open files", statusOK, "not bounded"}
	case n < fewFiles:
		return finding{"open files", statusWarning, fmt.Sprintf("at most %d (ulimit -n): a plugin with files may need 256 (raise it to %d)", n, fewFiles)}
	}
	return finding{"open files", statusOK, fmt.Sprintf("at most %d (ulimit -n)", n)}
}
