package registry_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/anchor-host/anchor-host/registry"
)

func ExampleParseReference() {
	ref, err := registry.ParseReference("oci://ghcr.io/acme/bm25:1.2")
	fmt.Println(ref.Host, ref.Repository, ref.Tag, err)
	_, err = registry.ParseReference("acme/bm25:1.2")
	fmt.Println(err)
	// Output:
	// ghcr.io acme/bm25 1.2 <nil>
	// reference "acme/bm25:1.2": "acme" is not the name of a server, begin with the registry, such as docker.io/acme
}

// An offline client opens no socket. It says what is missing and how to get it.
func ExampleClient_Pull() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	cache, err := registry.OpenCache(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := registry.New(registry.Options{Cache: cache, Offline: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	_, err = client.Pull(context.Background(), registry.Reference{Host: "ghcr.io", Repository: "acme/bm25", Tag: "1.2"})
	fmt.Println(errors.Is(err, registry.ErrOffline), err)
	// Output:
	// true oci://ghcr.io/acme/bm25:1.2: is not in the cache and the client is offline: pull it once without --offline, or load an archive that has it
}
