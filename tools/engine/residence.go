package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
)

// residence is the memory of a process, in bytes.
type residence struct {
	// resident is RSS: the pages that are mapped for the process.
	resident int64
	// held is the memory that is not available to other processes. RSS differs from it by
	// megabytes, for two reasons.
	//
	// An image is in memory once, but RSS counts it for each instance that has had a call.
	// The number of instances in a pool changes. Each is replaced after a number of calls,
	// and the pages of its successor are not mapped before its first call.
	//
	// The program is a file, whose pages the system may drop and read again. To collect
	// garbage, Go's runtime looks up each function in which it stops a goroutine. When it
	// looks up a function for the first time, the system maps 64 KiB around the function's
	// entry in the tables of the program.
	held int64
}

// mapping is one of the mappings of a process.
type mapping struct {
	path, inode               string
	size, resident, anonymous int64
}

// residentMemory returns the memory of this process.
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

// residenceOf adds up the mappings of a program. Of the program's file, only pages that were
// written to count as held. A file in memory counts once and as a whole.
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

// parseMappings parses smaps, which has a line for the range of each mapping and lines of
// sizes.
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
