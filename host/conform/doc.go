// Package conform puts plugins through the conformance kit of package
// abi/conformance in this host. It is a package of its own so that package host
// does not carry the kit.
package conform
