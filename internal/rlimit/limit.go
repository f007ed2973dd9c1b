package rlimit

// limit is one limit of the process.
type limit struct {
	most    int64
	bounded bool
}
