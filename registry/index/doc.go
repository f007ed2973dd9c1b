// Package index reads, searches and writes indexes. An index is a static JSON file that lists
// plugins and where they are. Anybody can make one and serve it from any web server. There can be
// any number of them, and none is needed to install or to run a plugin.
//
//	{
//	  "version": 1,
//	  "plugins": [
//	    {
//	      "name": "bm25",
//	      "reference": "oci://ghcr.io/acme/bm25:1.2.0",
//	      "version": "1.2.0",
//	      "digest": "sha256:…",
//	      "abi": 1,
//	      "operations": ["rerank"],
//	      "description": "Ranks items by BM25.",
//	      "license": "MIT",
//	      "versions": ["1.2.0", "1.1.0"]
//	    }
//	  ]
//	}
//
// Indexes are taken as hostile. What one says of a plugin only helps to find it: the registry, the
// signature and the lock decide what is installed.
//
// Start reading at index.go. build.go makes an index from registries.
package index
