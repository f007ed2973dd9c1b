//go:build !unix

package rlimit

func openFiles() limit { return limit{} }
