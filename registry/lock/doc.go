// Package lock reads and writes anchor.lock, the file beside anchor.yaml that says which plugins
// belong to a configuration: where each comes from, its digests, who signed it, and what it asks
// for.
//
//	version: 1
//	plugins:
//	  - name: bm25
//	    reference: oci://ghcr.io/acme/bm25:1.2
//	    version: 1.2.3
//	    manifest: sha256:…
//	    module: sha256:…
//	    signer: C752394A98B8BDD0
//	    permissions_hash: sha256:…
//	    permissions:
//	      - http GET https://api.example.com:443
//	    operations: [retrieve]
//
// [Guard] holds a plugin folder against the file and against the policy of trust: what differs is
// refused by its name. [File.Plan] decides whether an update may replace what is locked: one that
// asks for more may not, until somebody approves it. [Compare] says how much of its version number
// a plugin must raise.
//
// # The form of permissions
//
// [Asks] writes the permissions of a manifest as lines, sorted and each once, without the reasons:
//
//	files ro /docs
//	http GET https://api.example.com:443
//	http GET from_grant
//	kv 1MiB
//	service embed
//
// An http permission has a line for each method and host; the host has its scheme and its port,
// which is * for every port. Without methods these are GET and HEAD. The mode of files is ro unless
// the manifest says rw. A path of files that has spaces, quotation marks, backslashes or characters
// that cannot be seen is quoted as in Go. [Hash] is "sha256:" and the SHA-256 of the line
// "anchor-host permissions 1" and these lines, each with a line feed at its end.
//
// An update that asks for nothing new is made without a question, because a question that comes
// each time is answered unread.
package lock
