// Package server answers HTTP requests with the builds, memory and collections of an
// [github.com/anchor-host/anchor-host/anchor.App]. The command "anchor-host serve" is this package with flags.
package server
