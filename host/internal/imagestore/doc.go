// Package imagestore keeps the states of plugins after their init on disk, so that other
// processes need not run init again. An image is one file in a folder of a
// [codestore.Store], with the user's mark over all of it.
//
// The name of an image is the hash of everything that init can depend on; see [Name] and
// [Fingerprint]. Which plugins may have images, and what their init depends on, is up to the
// caller.
package imagestore
