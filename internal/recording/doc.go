// Package recording writes what calls of plugins were as files of cases, which "plugin test" runs.
package recording

// DefaultMaxBytes bounds what a recorder writes, in bytes.
const DefaultMaxBytes = 64 << 20

// MaxFile bounds a file of a recording, in bytes. Package plugincmd reads files of that size.
const MaxFile = 8 << 20
