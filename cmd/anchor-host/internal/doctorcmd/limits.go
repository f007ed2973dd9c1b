package doctorcmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/host"
	"github.com/anchor-host/anchor-host/internal/agentstore"
	"github.com/anchor-host/anchor-host/internal/cgroup"
	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/rlimit"
)

const (
	// littleRoom is how much room on a disk is called little, in bytes: the log of a busy
	// store, or the machine code of a few plugins.
	littleRoom = 256 << 20
	// coldBuild is what a build with three plugins of stock Go takes that are not compiled
	// yet, in bytes, and warmBuild when they are.
	coldBuild, warmBuild = 256 << 20, 128 << 20
	// fewFiles is how many open files are few: a guest with files may have 256.
	fewFiles = 1024
)

// storePath is the file of the store, "" if it is not known.
func storePath(loaded *config.Loaded) string {
	path, err := agentstore.Path(loaded.StorePath())
	if err != nil {
		return ""
	}
	return path
}

// cachePath is the folder of compiled plugins, "" if there is none.
func cachePath(loaded *config.Loaded) (string, error) {
	switch path := loaded.CachePath(); path {
	case host.CacheOff:
		return "", nil
	case "":
		base, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		return filepath.Join(base, "anchor-host", "compiled"), nil
	default:
		return path, nil
	}
}

// diskFinding says how much room there is where a path is, or will be.
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

// memoryFinding holds what guests may take, and what a build takes beside them, against the
// control group.
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
		return finding{"memory", statusWarning, fmt.Sprintf("%s: guests may take %d MiB together and a build %d MiB beside them (raise the limit, or lower limits.memory of the plugins)", detail, guests>>20, coldBuild>>20)}
	}
	return finding{"memory", statusOK, detail}
}

// addressFinding says whether the system bounds the addresses of a process.
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

// filesFinding says how many files a process may have open.
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
