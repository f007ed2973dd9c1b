// Package codestore owns the folder in which a host stores files that later processes trust:
// machine code that is executed, and facts about modules. It does not know what the files
// mean. [Notes] keep small values in such files.
//
// A file is trusted for two reasons. The folder belongs to the user: no other user except
// root can write to it, or put another folder in its place, see [Open]. And the file has a
// mark that only this user can make: an HMAC-SHA-256 of its content and its place, with a
// key that nobody else can read, see [Store.Mark].
//
// The package does not open pipes, devices or symbolic links, never waits for a file, and
// reads no more than a bound. [Store.Refuse] removes a file that is not trusted and logs why.
//
// Ownership is checked on Unix, including macOS. On other systems only the marks protect.
package codestore
