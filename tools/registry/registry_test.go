package registrytest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/registry"
)

// servers are the registries that each test of the product runs against.
func servers() map[string]func(testing.TB) server {
	return map[string]func(testing.TB) server{
		"go-containerregistry":                     func(t testing.TB) server { return inProcess(t, true) },
		"go-containerregistry without attachments": func(t testing.TB) server { return inProcess(t, false) },
		"docker-registry":                          dockerRegistry,
	}
}

// TestRoundTrip pushes a plugin with attachments, and pulls both.
func TestRoundTrip(t *testing.T) {
	for name, start := range servers() {
		t.Run(name, func(t *testing.T) {
			s, ctx := start(t), t.Context()
			a := artifact(t, "1.2.0", 4_000_000)
			author := s.client(t, registry.Options{})
			ref, err := author.Push(ctx, s.ref("acme/team/p", "1.2.0"), a, registry.PushOptions{})
			if err != nil {
				t.Fatal(err)
			}
			documents := map[string]string{registry.TypeReadme: "# Keep first", registry.TypeSBOM: `{"spdxVersion":"SPDX-2.3"}`,
				registry.TypeConformance: `{"passed":true}`, registry.TypeSignature: `{"payloadType":"application/vnd.in-toto+json"}`}
			for range 2 {
				for kind, text := range documents {
					if _, err := author.Attach(ctx, ref, registry.Attachment{Type: kind, Title: "file", Data: []byte(text)}); err != nil {
						t.Fatal(err)
					}
				}
			}
			operator := s.client(t, registry.Options{})
			p, err := operator.Pull(ctx, s.ref("acme/team/p", "1.2.0"))
			if err != nil || !bytes.Equal(p.Module, a.Module) || p.Reference != ref {
				t.Fatalf("pull: %v", err)
			}
			all, err := operator.Referrers(ctx, ref, "")
			if err != nil || len(all) != len(documents) {
				t.Fatalf("attachments: %d, %v", len(all), err)
			}
			for _, each := range all {
				if string(each.Data) != documents[each.Type] {
					t.Errorf("%s is %q", each.Type, each.Data)
				}
			}
			if some, err := operator.Referrers(ctx, ref, registry.TypeSignature); err != nil || len(some) != 1 {
				t.Errorf("signatures: %d, %v", len(some), err)
			}
			tags, err := operator.Tags(ctx, ref)
			if err != nil || !slices.Contains(tags, "1.2.0") {
				t.Errorf("tags: %v, %v", tags, err)
			}
			if _, err := operator.Pull(ctx, s.ref("acme/team/p", "9")); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("an unknown tag: %v", err)
			}
			if _, err := operator.Pull(ctx, s.ref("acme/none", "1")); !errors.Is(err, registry.ErrNotFound) {
				t.Errorf("an unknown repository: %v", err)
			}
		})
	}
}

// TestLogin needs credentials, and says how to get them.
func TestLogin(t *testing.T) {
	s := dockerRegistry(t)
	a := artifact(t, "1.0.0", 0)
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	c := s.client(t, registry.Options{})
	if _, err := c.Push(t.Context(), s.ref("acme/p", "1"), a, registry.PushOptions{}); !errors.Is(err, registry.ErrDenied) {
		t.Errorf("push without credentials: %v", err)
	}
	if _, err := c.Pull(t.Context(), s.ref("acme/p", "1")); !errors.Is(err, registry.ErrDenied) {
		t.Errorf("pull without credentials: %v", err)
	} else {
		t.Log(err)
	}
}

// TestInstall prints what an install of ten plugins of 4 MB costs, first and again.
func TestInstall(t *testing.T) {
	for name, start := range servers() {
		s := start(t)
		author := s.client(t, registry.Options{})
		refs := make([]registry.Reference, 10)
		for i := range refs {
			ref, err := author.Push(t.Context(), s.ref(fmt.Sprintf("acme/p%d", i), "1"), artifact(t, "1.0.0", 4_000_000), registry.PushOptions{})
			if err != nil {
				t.Fatal(err)
			}
			refs[i] = ref.At("")
		}
		operator := s.client(t, registry.Options{})
		for _, what := range []string{"first", "again"} {
			begin := time.Now()
			var all sync.WaitGroup
			for i, ref := range refs {
				all.Go(func() {
					p, err := operator.Pull(t.Context(), ref)
					if err != nil || p.Cached != (what == "again") {
						t.Errorf("%s: %v", what, err)
						return
					}
					refs[i] = p.Reference
				})
			}
			all.Wait()
			t.Logf("%s: ten plugins of 4 MB, %s: %s", name, what, time.Since(begin).Round(time.Millisecond))
		}
	}
}
