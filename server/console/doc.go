// Package console shows an operator in a browser what a service does: how many builds there are and
// how long they take, each build with its window and the reasons for it, and the plugins, the memory
// and the configuration.
//
// The pages are HTML that the server makes. They work without scripts, load nothing from other hosts,
// and allow no inline script or style. With keys a user signs in with one; without keys the pages are
// open on this computer. A key with the scope admin sees all tenants, any other key only its own.
// Texts are shown with the scope content alone; else there are ids, sizes and digests.
package console
