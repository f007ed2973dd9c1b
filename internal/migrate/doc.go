// Package migrate rewrites an anchor.yaml with former keys. Its table is the only place that knows them.
//
// [Rewrite] works on the tree of the YAML library, so that comments stay with their keys. [Moved] says where
// a former key went, for errors.
package migrate
