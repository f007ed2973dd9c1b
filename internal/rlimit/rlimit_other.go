//go:build !(linux || darwin || freebsd || netbsd)

package rlimit

func readAddressSpace() limit { return limit{} }

func canMap(uint64) bool { return true }
