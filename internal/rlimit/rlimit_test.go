//go:build linux || darwin || freebsd || netbsd

package rlimit

import "testing"

func TestRoom(t *testing.T) {
	if _, bounded := AddressSpace(); !bounded && !Room(1<<62) {
		t.Error("no room where nothing bounds it")
	}
	if !canMap(1<<20) || canMap(1<<62) {
		t.Error("trying says otherwise")
	}
	if n, bounded := OpenFiles(); bounded && n < 3 {
		t.Errorf("%d open files", n)
	}
}
