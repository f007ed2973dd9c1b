package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// kibibytes is the unit of memory.
const kibibytes unit = " KiB"

// privateMemory returns the memory that only this process uses, in bytes.
func privateMemory() (int64, error) { return procSum("/proc/self/smaps_rollup", "Private_") }

// goMemory returns the size of Go's heap and stacks, in bytes.
func goMemory() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

// procFile reads a file of the system about memory, after freeing garbage.
func procFile(file string) ([]byte, error) {
	for range 3 { // finalizers run concurrently, and what they release is free after the next collection
		runtime.GC()
		time.Sleep(10 * time.Millisecond)
	}
	debug.FreeOSMemory()
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAbsent, err)
	}
	return data, nil
}

// procSum adds up the lines of such a file that begin with prefix.
func procSum(file, prefix string) (int64, error) {
	data, err := procFile(file)
	if err != nil {
		return 0, err
	}
	sum := int64(0)
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		if !strings.HasPrefix(name+":", prefix) {
			continue
		}
		n, err := parseSize(value)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", file, err)
		}
		sum += n
	}
	if sum == 0 {
		return 0, fmt.Errorf("%w: %s has no line %s", errAbsent, file, prefix)
	}
	return sum, nil
}

// parseSize parses a size in the form of the system, such as "12 kB", and returns bytes.
func parseSize(s string) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(s), " kB"), 10, 64)
	return n << 10, err
}

// megabytes formats a number of bytes.
func megabytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
