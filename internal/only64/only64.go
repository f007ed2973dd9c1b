// Package only64 keeps the packages that import it from being built for a 32-bit platform:
// they address memories of 4 GiB and count tokens and bytes beyond 2^31. Building it there
// fails, with one line that says so.
package only64
