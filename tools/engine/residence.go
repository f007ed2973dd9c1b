package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
)

// residence is how much memory a process has, in bytes.
type residence struct {
	// resident is RSS: the pages that the system maps for it.
	resident int64
	// held is what the process takes from others. RSS moves by megabytes of which nothing
	// is taken:
	//
	// An image is in memory once, and RSS counts it once for each instance that has had a
	// call. How many a pool has changes, and each is retired after so many calls: its
	// successor has the image too, but none of its pages is mapped before a call.
	//
	// The program is a file, whose pages the system may drop and read again. Go's runtime
	// looks up each function in which it stops a goroutine to collect garbage. When that is
	// one it has not met, the system maps the 64 KiB around its entry in the program's tables.
	held int64
}

// mapping is one of the mappings of a process.
type mapping struct {
	path, inode               string
	size, resident, anonymous int64
}

// residentMemory reads what this process has in memory.
func residentMemory() (residence, error) {
	const file = "/proc/self/smaps"
	data, err := procFile(file)
	if err != nil {
		return residence{}, err
	}
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return residence{}, fmt.Errorf("%w: %w", errAbsent, err)
	}
	mappings, err := parseMappings(data)
	if err != nil {
		return residence{}, fmt.Errorf("%s: %w", file, err)
	}
	return residenceOf(mappings, program), nil
}

// residenceOf adds up the mappings of a program. Of the program's file it holds what it
// has written to. A file in memory is held once and whole, by whatever maps it.
func residenceOf(mappings []mapping, program string) (r residence) {
	shared := map[string]int64{}
	for _, m := range mappings {
		r.resident += m.resident
		switch {
		case m.path == program:
			r.held += m.anonymous
		case strings.HasPrefix(m.path, "/memfd:"):
			r.held += m.anonymous
			shared[m.inode] = max(shared[m.inode], m.size)
		default:
			r.held += m.resident
		}
	}
	for _, size := range shared {
		r.held += size
	}
	return r
}

// parseMappings reads smaps: for each mapping a line of its place, and lines of sizes.
func parseMappings(smaps []byte) (all []mapping, err error) {
	for lines := bufio.NewScanner(bytes.NewReader(smaps)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) >= 5 && strings.Contains(fields[0], "-") {
			all = append(all, mapping{inode: fields[4], path: strings.Join(fields[5:], " ")})
			continue
		}
		name, value, _ := strings.Cut(lines.Text(), ":")
		if len(all) == 0 {
			return nil, fmt.Errorf("%q: no mapping before", lines.Text())
		}
		m := &all[len(all)-1]
		size, ok := map[string]*int64{"Size": &m.size, "Rss": &m.resident, "Anonymous": &m.anonymous}[name]
		if !ok {
			continue
		}
		if *size, err = parseSize(value); err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: no mappings", errAbsent)
	}
	return all, nil
}
