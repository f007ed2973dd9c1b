package registry

import (
	"fmt"
	"sync"
	"testing"

	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// BenchmarkInstall pulls ten plugins of 4 MB: from a registry on this machine, and again by the
// digests of a lock, from the cache.
func BenchmarkInstall(b *testing.B) {
	f := newFake(b)
	refs := make([]Reference, 10)
	for i := range refs {
		a := pack(b, fmt.Sprintf("1.0.%d", i), 4_000_000)
		tag := fmt.Sprint(i)
		hold(f, tag, a)
		refs[i] = f.ref(tag)
	}
	install := func(b *testing.B, c *Client, refs []Reference) []Reference {
		pinned := make([]Reference, len(refs))
		var all sync.WaitGroup
		for i, ref := range refs {
			all.Go(func() {
				p, err := c.Pull(b.Context(), ref)
				if err != nil {
					b.Error(err)
					return
				}
				pinned[i] = p.Reference
			})
		}
		all.Wait()
		return pinned
	}
	b.Run("first", func(b *testing.B) {
		for range b.N {
			install(b, newClient(b, Options{}), refs)
		}
	})
	b.Run("again", func(b *testing.B) {
		c := newClient(b, Options{})
		pinned := install(b, c, refs)
		f.sent()
		for b.Loop() {
			install(b, c, pinned)
		}
		if n := f.sent(); n != 0 {
			b.Errorf("sent %d requests", n)
		}
	})
}

// BenchmarkDigest verifies 4 MB.
func BenchmarkDigest(b *testing.B) {
	text := make([]byte, 4_000_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		image.DigestOf(text)
	}
}
