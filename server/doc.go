// Package server answers HTTP requests with the builds, memory and collections of an
// [github.com/anchor-host/anchor-host/anchor.App]. The command "anchor-host serve" is this package with flags.
//
// Bodies are bounded by their bytes together, and not by the number of requests, which is too low
// for small ones or too high for large ones.
package server
