package project

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The bounds of what is read of a git folder. All of it may come from somebody else.
const (
	maxConfig  = 256 << 10
	maxPointer = 4 << 10
	maxLogLine = 4 << 10
	maxAbove   = 64 // folders above the given one
)

// repository is a worktree and its git folder.
type repository struct {
	top    string // the folder that has .git
	dir    string // the git folder of the worktree
	common string // the git folder that all worktrees share
}

// findGit looks for .git in a folder and above.
func findGit(dir string) (repository, bool) {
	for range maxAbove {
		if r, ok := gitAt(dir); ok {
			return r, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return repository{}, false
}

// gitAt reads .git in a folder: a folder, or the file of a worktree or a submodule that names one.
func gitAt(top string) (repository, bool) {
	dir := filepath.Join(top, ".git")
	info, err := os.Stat(dir)
	if err != nil {
		return repository{}, false
	}
	if !info.IsDir() {
		line, _, _ := strings.Cut(string(readSmall(dir, maxPointer)), "\n")
		target, ok := strings.CutPrefix(line, "gitdir:")
		if target = strings.TrimSpace(target); !ok || target == "" {
			return repository{}, false
		}
		if dir = target; !filepath.IsAbs(dir) {
			dir = filepath.Join(top, dir)
		}
	}
	r := repository{top: top, dir: dir, common: dir}
	if common := strings.TrimSpace(string(readSmall(filepath.Join(dir, "commondir"), maxPointer))); common != "" {
		if !filepath.IsAbs(common) {
			common = filepath.Join(dir, common)
		}
		r.common = filepath.Clean(common)
	}
	// An empty folder or any other file of that name is no repository.
	head, err := os.Stat(filepath.Join(dir, "HEAD"))
	return r, err == nil && head.Mode().IsRegular()
}

// readSmall returns the first bytes of a regular file, nil if there is none. A pipe does not block.
func readSmall(name string, most int64) []byte {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	return Beginning(f, most)
}

// Beginning returns the first bytes of an open file, nil if it is not a regular one, and closes it.
func Beginning(f *os.File, most int64) []byte {
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return nil
	}
	return data
}

// remote returns the address of the remote that stands for the project, in one form for all ways to reach it: that
// of origin, else of upstream, else of the first by name. Empty means none.
func (r *repository) remote() string {
	urls := remotes(readSmall(filepath.Join(r.common, "config"), maxConfig))
	for _, name := range append([]string{"origin", "upstream"}, slices.Sorted(maps.Keys(urls))...) {
		if remote := normalize(urls[name]); remote != "" {
			return remote
		}
	}
	return ""
}

// maxRemotes bounds the remotes that are looked at.
const maxRemotes = 100

// remotes reads the first URL of each remote of a git configuration. It follows no include.
func remotes(config []byte) map[string]string {
	urls, remote := map[string]string{}, ""
	lines := bufio.NewScanner(bytes.NewReader(config))
	lines.Buffer(nil, 64<<10) // a longer line ends the reading
	for lines.Scan() && len(urls) < maxRemotes {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			remote = ""
			if rest, ok := strings.CutPrefix(line, `[remote "`); ok {
				remote, _, _ = strings.Cut(rest, `"`)
			}
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if _, has := urls[remote]; ok && remote != "" && !has && strings.EqualFold(strings.TrimSpace(key), "url") {
			urls[remote] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	return urls
}

// normalize gives addresses of one repository one form, host/path in lower case, without protocol, user, password,
// port and ".git". A path in the home folder of a user, such as ann@host:shop, keeps the user. An address on this machine is none: it is a path.
func normalize(address string) string {
	address = strings.TrimSpace(address)
	var host, path string
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		if u.Scheme == "file" {
			return ""
		}
		host, path = u.Hostname(), u.Path
	} else if strings.Contains(address, "://") { // of this machine, such as file:///srv/shop
		return ""
	} else {
		before, after, ok := strings.Cut(address, ":")
		if !ok || strings.ContainsAny(before, `/\`) || len(before) < 2 { // a path, also of Windows
			return ""
		}
		user, _, named := strings.Cut(before, "@")
		host, path = before[strings.LastIndexByte(before, '@')+1:], after
		if named && user != "git" && !strings.HasPrefix(after, "/") {
			path = "~" + user + "/" + path // in the home folder of that user
		}
	}
	path = strings.Trim(path, "/")
	path = strings.TrimSuffix(path, ".git")
	if host == "" || path == "" {
		return ""
	}
	return strings.ToLower(host + "/" + path)
}

// rootCommit returns the first commit of the history. Empty means that it is not known, as in a shallow clone.
func (r *repository) rootCommit(ctx context.Context) string {
	if info, err := os.Stat(filepath.Join(r.common, "shallow")); err == nil && info.Size() > 0 {
		return ""
	}
	// The log of a repository that was made here begins with its first commit.
	line, _, _ := strings.Cut(string(readSmall(filepath.Join(r.common, "logs", "HEAD"), maxLogLine)), "\n")
	if fields := strings.Fields(line); len(fields) > 2 && strings.Trim(fields[0], "0") == "" && isCommit(fields[1]) && strings.Contains(line, "\tcommit (initial)") {
		return fields[1]
	}
	return r.askGit(ctx)
}

// gitTimeout is how long git may take. Tests, which run on busy machines, give it more.
var gitTimeout = 2 * time.Second

// askGit has git find the root commit. The oldest root counts, if there are several.
func (r *repository) askGit(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "--git-dir="+r.common, "rev-list", "--max-parents=0", "HEAD")
	// Nothing that the repository or the user configured may run, as git does to fetch what a partial clone lacks.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C"}
	cmd.WaitDelay = 100 * time.Millisecond
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return ""
	}
	data, readErr := io.ReadAll(io.LimitReader(out, maxPointer))
	if err := cmd.Wait(); err != nil || readErr != nil {
		return ""
	}
	lines := strings.Fields(string(data))
	if len(lines) == 0 || !isCommit(lines[len(lines)-1]) {
		return ""
	}
	return lines[len(lines)-1]
}

// isCommit reports whether s is the name of an object in hex.
func isCommit(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
