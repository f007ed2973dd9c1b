// Package c holds anchor_batch.h, the reader of batches and writer of change
// sets for guests in C and C++, and the test that holds it against the Go
// reader. There is no Go to import.
package c
