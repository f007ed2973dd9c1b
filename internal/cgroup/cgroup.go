// Package cgroup reads how much memory the control groups of this process allow it.
package cgroup

import (
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// MemoryLimit returns the most memory, in bytes, that this process may use by its control
// groups, of version 1 and 2: the least limit of its own group and of those above it. ok
// is false where none limits it, where it cannot be read, and on systems without control
// groups. It reads the files anew each time.
func MemoryLimit() (bytes int64, ok bool) { return limitIn("/") }

// limitIn is MemoryLimit with the files below root.
func limitIn(root string) (int64, bool) {
	least := int64(math.MaxInt64)
	groups := memberships(read(root, "proc/self/cgroup"))
	for _, m := range mounts(read(root, "proc/self/mountinfo")) {
		if group, ok := groups[m.version]; ok {
			least = min(least, m.least(root, group))
		}
	}
	return least, least < math.MaxInt64
}

// maxFile bounds what is read of a file. A list of mounts is the longest.
const maxFile = 4 << 20

// read returns what a file holds, nothing where it cannot be read.
func read(root, name string) string {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxFile))
	if err != nil {
		return ""
	}
	return string(b)
}

// The versions of control groups, each with the file of the limit.
const (
	version1 = 1
	version2 = 2
)

var limitFiles = map[int]string{version1: "memory.limit_in_bytes", version2: "memory.max"}

// memberships reads /proc/self/cgroup: the group that bounds the memory of the process,
// for each version. A line is "number:controllers:path".
func memberships(text string) map[int]string {
	groups := map[int]string{}
	for line := range strings.Lines(text) {
		fields := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		switch {
		case len(fields) != 3:
		case fields[0] == "0" && fields[1] == "":
			groups[version2] = fields[2]
		case slices.Contains(strings.Split(fields[1], ","), "memory"):
			groups[version1] = fields[2]
		}
	}
	return groups
}

// mount is where the groups below one, its root, are seen as folders.
type mount struct {
	version   int
	root, dir string
}

// mounts reads /proc/self/mountinfo: the mounts of groups that can bound memory. A line is
// "id parent device root dir options [more] - type source options".
func mounts(text string) (found []mount) {
	for line := range strings.Lines(text) {
		left, right, ok := strings.Cut(line, " - ")
		front, back := strings.Fields(left), strings.Fields(right)
		if !ok || len(front) < 6 || len(back) < 3 {
			continue
		}
		m := mount{root: unescape(front[3]), dir: unescape(front[4])}
		switch {
		case back[0] == "cgroup2":
			m.version = version2
		case back[0] == "cgroup" && slices.Contains(strings.Split(back[2], ","), "memory"):
			m.version = version1
		default:
			continue
		}
		found = append(found, m)
	}
	return found
}

// least is the least limit of a group and of those above it that can be seen.
func (m mount) least(root, group string) int64 {
	least := int64(math.MaxInt64)
	for at := m.within(group); ; at = path.Dir(at) {
		least = min(least, number(read(root, path.Join(m.dir, at, limitFiles[m.version]))))
		if at == "/" {
			return least
		}
	}
}

// within is the path of a group below the root of the mount. A group that is not below it,
// as in a container that sees only its own, is that of the mount itself.
func (m mount) within(group string) string {
	rest, ok := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/"))
	if !ok || rest != "" && rest[0] != '/' {
		return "/"
	}
	return path.Join("/", rest)
}

// number reads a limit. Version 2 says "max" for none, version 1 a number that no machine
// reaches.
func number(text string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64>>1 {
		return math.MaxInt64
	}
	return n
}

// unescape undoes the escapes of mountinfo: a backslash and three octal digits.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
