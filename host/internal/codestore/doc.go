// Package codestore owns the folder in which a host keeps what it trusts between
// processes: machine code that is executed, and what was found out about modules. It does
// not know what the files mean.
//
// Two things make a file trusted. The folder is the user's alone: no other user but root
// can write to it, or put another folder into its place, see [Open]. And the file bears a
// mark that only this user can make: an HMAC-SHA-256 over its content and its place, under
// a key that nobody else can read, see [Store.Mark].
//
// Whatever lies in the place of a file is opened with care. Pipes, devices and symbolic links
// are not opened, nothing is waited for, no more than a bound is read, and what is refused
// is removed and named in the log.
//
// Ownership is checked on Unix, macOS included. Elsewhere only the marks count.
package codestore
