// Package registry moves plugins to and from OCI registries, and keeps them in a cache on this
// machine.
//
//	client, err := registry.New(registry.Options{})
//	ref, err := registry.ParseReference("oci://ghcr.io/acme/bm25:1.2")
//	plugin, err := client.Pull(ctx, ref)
//
// A plugin is one artifact in the form that the CNCF describes for WebAssembly: an image manifest
// with a small config and one layer, the module. Its own manifest is inside of the module. What
// belongs to a plugin, such as a README or a signature, is attached to the digest of its
// manifest (Attach, Referrers).
//
// Everything that a registry sends is taken as hostile. Sizes are held against limits before
// memory or disk is used, and each byte is held against the digest that names it. A plugin is
// either complete and verified, or it is not there. Package registry does not judge who made a
// plugin, and runs nothing.
//
// Digests are strings of the form "sha256:" and 64 hexadecimal digits.
//
// Start reading at pull.go. blob.go downloads and cache.go keeps what came. internal/image reads
// manifests and layers, internal/outbound decides which servers a request may reach.
package registry
