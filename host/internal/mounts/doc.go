// Package mounts shows folders of the host, and file systems of the embedder, to guests as
// file systems of WASI. A guest sees regular files, directories and links. It cannot leave a
// mount, wait for a pipe, open a device, exceed the quota of a folder, or have more files
// open than its plugin may.
//
// A [Set] holds the mounts of one plugin. A [Guest] holds what they keep of one guest. The
// plugins of a host share [Folders], and all plugins of the process share the file
// descriptors that a [Budget] counts.
//
// The package knows nothing of plugins and instances. What it needs of the call that a guest
// is in, it asks of a [Call].
//
// The files of a folder are counted when it is mounted, and each change counts from then on. A
// count of growth alone would start at zero in every process.
package mounts
