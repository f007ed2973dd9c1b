package lock_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/anchor-host/anchor-host/abi/manifest"
	"github.com/anchor-host/anchor-host/host/spec"
	"github.com/anchor-host/anchor-host/registry/lock"
)

const module = "sha256:1111111111111111111111111111111111111111111111111111111111111111"

// An update that asks for more waits until somebody approves it.
func ExampleFile_Plan() {
	dir, err := os.MkdirTemp("", "lock")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	plugin := func(version string, permissions ...manifest.Permission) lock.Entry {
		m := &manifest.Manifest{Name: "bm25", Version: version, Permissions: permissions}
		e, err := lock.EntryOf(&spec.Spec{Name: "bm25", Digest: module, Manifest: m}, "", "", "")
		if err != nil {
			fmt.Println(err)
		}
		return e
	}
	path := filepath.Join(dir, lock.Name)
	err = lock.Edit(context.Background(), path, func(f *lock.File) error {
		f.Set(plugin("1.2.0"))
		update := plugin("1.3.0", manifest.Permission{Kind: "http", Hosts: manifest.HostList{"api.example.com"}, Methods: []string{"GET"}})
		d := f.Plan(update)
		fmt.Println(d.Action, d.Reasons)
		f.Set(update) // approved
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := lock.Read(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Find("bm25").Version, f.Find("bm25").Permissions)
	// Output:
	// wait [asks for more: http GET https://api.example.com:443]
	// 1.3.0 [http GET https://api.example.com:443]
}

// A permission more needs a new major version.
func ExampleCompare() {
	before := &manifest.Manifest{Name: "bm25", ABI: 1, Version: "1.2.0"}
	after := &manifest.Manifest{Name: "bm25", ABI: 1, Version: "1.3.0", Permissions: []manifest.Permission{{Kind: "service", Service: "llm"}}}
	c, err := lock.Compare(before, after)
	fmt.Println(c.Level, c.Reasons, err)
	fmt.Println(c.Check(before.Version, after.Version))
	// Output:
	// major [major: permission more: service llm] <nil>
	// version 1.3.0 after 1.2.0: check: wrong version: major: permission more: service llm (want at least 2.0.0)
}
