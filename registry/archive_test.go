package registry

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// filled returns a cache with two plugins, one of which has a README.
func filled(t *testing.T) (c *Client, f *fake, a, b *Artifact) {
	t.Helper()
	f = newFake(t)
	a, b = pack(t, "1.0.0", 0), pack(t, "1.1.0", 0)
	c = newClient(t, Options{})
	for tag, each := range map[string]*Artifact{"1.0": a, "1.1": b} {
		ref, err := c.Push(t.Context(), f.ref(tag), each, PushOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Attach(t.Context(), ref, Attachment{Type: TypeReadme, Title: "README.md", Data: []byte("# " + tag)}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Pull(t.Context(), f.ref(tag)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Referrers(t.Context(), ref, ""); err != nil {
			t.Fatal(err)
		}
	}
	return c, f, a, b
}

func TestSaveAndLoad(t *testing.T) {
	c, f, a, b := filled(t)
	var first, again bytes.Buffer
	if err := c.Cache().Save(&first, f.ref("1.0"), f.ref("").At(b.Digest)); err != nil {
		t.Fatal(err)
	}
	if err := c.Cache().Save(&again, f.ref("").At(b.Digest), f.ref("1.0"), f.ref("1.0")); err != nil || !bytes.Equal(first.Bytes(), again.Bytes()) {
		t.Errorf("the archives of equal artifacts differ, %v", err)
	}
	if err := c.Cache().Save(io.Discard, f.ref("9")); !errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "pull it first") {
		t.Errorf("an unknown artifact: %v", err)
	}
	far := newClient(t, Options{Offline: true})
	entries, err := far.Cache().Load(t.Context(), bytes.NewReader(first.Bytes()))
	if err != nil || len(entries) != 4 {
		t.Fatalf("loaded %v, %v", entries, err)
	}
	for tag, each := range map[string]*Artifact{"1.0": a, "1.1": b} {
		p, err := far.Pull(t.Context(), f.ref(tag))
		if err != nil || !bytes.Equal(p.Module, each.Module) {
			t.Fatalf("%s after loading: %v", tag, err)
		}
		readme, err := far.Referrers(t.Context(), p.Reference, TypeReadme)
		if err != nil || len(readme) != 1 || string(readme[0].Data) != "# "+tag {
			t.Errorf("the README of %s after loading: %v, %v", tag, readme, err)
		}
	}
	if _, err := far.Cache().Load(t.Context(), bytes.NewReader(first.Bytes())); err != nil {
		t.Errorf("loading again: %v", err)
	}
}

// TestLoadRefuses loads archives that are not what they should be.
func TestLoadRefuses(t *testing.T) {
	c, f, a, _ := filled(t)
	var saved bytes.Buffer
	if err := c.Cache().Save(&saved, f.ref("1.0")); err != nil {
		t.Fatal(err)
	}
	var entries []tar.Header
	for r := tar.NewReader(bytes.NewReader(saved.Bytes())); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		body, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, tar.Header{Name: h.Name, Mode: 0o644, Uname: string(body)})
	}
	with := func(h ...tar.Header) []byte { return tarOf(t, append(append([]tar.Header{}, entries...), h...)...) }
	change := func(name string, to func(string) string) []byte {
		changed := append([]tar.Header{}, entries...)
		for i := range changed {
			if strings.HasSuffix(changed[i].Name, name) {
				changed[i].Uname = to(changed[i].Uname)
			}
		}
		return tarOf(t, changed...)
	}
	without := func(name string) (kept []byte) {
		var left []tar.Header
		for _, h := range entries {
			if !strings.HasSuffix(h.Name, name) {
				left = append(left, h)
			}
		}
		return tarOf(t, left...)
	}
	layer := strings.TrimPrefix(a.ModuleDigest, "sha256:")
	huge := bytes.Clone(with())[:512]
	copy(huge[124:136], "\x80\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00") // 64 GiB in base 256
	for name, each := range map[string]struct {
		archive []byte
		kind    error
		want    string
	}{
		"path that leads out":       {with(tar.Header{Name: "blobs/../../../etc/x", Uname: "x"}), ErrArchive, "leads out"},
		"backslashes":               {with(tar.Header{Name: `..\x`, Uname: "x"}), ErrArchive, "not a valid path"},
		"symbolic link":             {with(tar.Header{Name: "blobs/sha256/" + strings.Repeat("0", 64), Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), ErrArchive, "link"},
		"hard link":                 {with(tar.Header{Name: "index.json", Typeflag: tar.TypeLink, Linkname: "oci-layout"}), ErrArchive, "link"},
		"device":                    {with(tar.Header{Name: "dev", Typeflag: tar.TypeChar}), ErrArchive, "device"},
		"file that belongs nowhere": {with(tar.Header{Name: "README", Uname: "x"}), ErrArchive, "does not belong"},
		"blob of other bytes":       {change(layer, func(s string) string { return s[:len(s)-1] + "\x00" }), ErrDigest, "does not match its digest"},
		"blob twice":                {with(entries[len(entries)-1]), ErrArchive, "there twice"},
		"index twice":               {with(tar.Header{Name: "index.json", Uname: "{}"}), ErrArchive, "there twice"},
		"no index":                  {without("index.json"), ErrArchive, "no index.json"},
		"no layout":                 {without("oci-layout"), ErrArchive, "no oci-layout"},
		"no module":                 {without(layer), ErrArchive, "has no sha256:"},
		"no manifest":               {without(strings.TrimPrefix(a.Digest, "sha256:")), ErrArchive, "has no manifest"},
		"index of no JSON":          {change("index.json", func(string) string { return "{" }), ErrArchive, "index.json"},
		"entry without a name":      {change("index.json", func(s string) string { return strings.Replace(s, "ref.name", "ref.eman", 1) }), ErrArchive, "names no repository"},
		"attachment of another": {change("index.json", func(s string) string {
			return strings.Replace(s, `"`+annotationSubject+`":"`+a.Digest, `"`+annotationSubject+`":"`+a.ModuleDigest, 1)
		}), ErrArchive, "belongs to another artifact"},
		"truncated":  {saved.Bytes()[:saved.Len()/2], ErrArchive, ""},
		"of 64 GiB":  {huge, ErrArchive, ""},
		"not a tar":  {bytes.Repeat([]byte("x"), 2000), ErrArchive, "read the tar"},
		"empty file": {nil, ErrArchive, "no oci-layout"},
	} {
		cache := &Cache{dir: filepath.Join(t.TempDir(), "oci")}
		_, err := cache.Load(t.Context(), bytes.NewReader(each.archive))
		if !errors.Is(err, each.kind) || !strings.Contains(err.Error(), each.want) {
			t.Errorf("%s: got %v, want %q", name, err, each.want)
		}
		left := 0
		_ = filepath.WalkDir(cache.dir, func(path string, d os.DirEntry, _ error) error {
			if !d.IsDir() && !strings.Contains(path, "locks") && d.Name() != "oci-layout" {
				left++
			}
			return nil
		})
		if left != 0 {
			t.Errorf("%s: left %d files", name, left)
		}
	}
}

func TestPrune(t *testing.T) {
	c, f, a, b := filled(t)
	old := c.cache.partPath("sha256:" + strings.Repeat("2", 64))
	fresh := c.cache.partPath("sha256:" + strings.Repeat("3", 64))
	for _, path := range []string{old, fresh} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(old, time.Now(), time.Now().Add(-2*abandoned)); err != nil {
		t.Fatal(err)
	}
	freed, err := c.cache.Prune(t.Context(), a.Digest)
	if err != nil || freed < int64(len(b.Module)) {
		t.Fatalf("freed %d, %v", freed, err)
	}
	entries, err := c.cache.Entries()
	if err != nil || len(entries) != 2 || entries[1].Reference.Digest != a.Digest && entries[0].Reference.Digest != a.Digest {
		t.Errorf("the cache lists %+v, %v", entries, err)
	}
	offline := newClient(t, Options{Offline: true, Cache: c.cache})
	if _, err := offline.Pull(t.Context(), f.ref("1.0")); err != nil {
		t.Errorf("what was kept: %v", err)
	}
	if all, err := offline.Referrers(t.Context(), f.ref("").At(a.Digest), ""); err != nil || len(all) != 1 {
		t.Errorf("its README: %v, %v", all, err)
	}
	if _, err := offline.Pull(t.Context(), f.ref("1.1")); !errors.Is(err, ErrOffline) {
		t.Errorf("what was removed: %v", err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an abandoned download is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a running download was removed")
	}
}

// TestBrokenIndex damages the index: offline the error names the file and the remedy, and the next
// write heals it.
func TestBrokenIndex(t *testing.T) {
	for name, damage := range map[string]string{"empty": "", "cut": "{", "of another form": `{"manifests":5}`} {
		for by, heal := range map[string]func(c *Client, ref Reference, archive io.Reader) error{
			"pull": func(c *Client, ref Reference, _ io.Reader) error { _, err := c.Pull(t.Context(), ref); return err },
			"pull of what is there": func(c *Client, ref Reference, _ io.Reader) error {
				ref, err := c.Resolve(t.Context(), ref)
				if err == nil {
					_, err = c.Pull(t.Context(), ref)
				}
				return err
			},
			"load": func(c *Client, _ Reference, archive io.Reader) error {
				_, err := c.cache.Load(t.Context(), archive)
				return err
			},
		} {
			c, f, _, _ := filled(t)
			var archive bytes.Buffer
			if err := c.cache.Save(&archive, f.ref("1.0")); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(c.cache.dir, "index.json")
			if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
				t.Fatal(err)
			}
			offline := newClient(t, Options{Offline: true, Cache: c.cache})
			if _, err := offline.Pull(t.Context(), f.ref("1.0")); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "plugin install --from") {
				t.Errorf("%s: got %v", name, err)
			}
			if err := heal(c, f.ref("1.0"), &archive); err != nil {
				t.Errorf("%s, %s: %v", name, by, err)
			}
			if _, err := offline.Pull(t.Context(), f.ref("1.0")); err != nil {
				t.Errorf("%s, offline after a %s: %v", name, by, err)
			}
		}
	}
}

// TestPruneBrokenIndex keeps what is to be kept even if the index has lost it.
func TestPruneBrokenIndex(t *testing.T) {
	c, f, a, b := filled(t)
	if err := os.WriteFile(filepath.Join(c.cache.dir, "index.json"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if freed, err := c.cache.Prune(t.Context(), a.Digest); err != nil || freed < int64(len(b.Module)) {
		t.Fatalf("freed %d, %v", freed, err)
	}
	offline := newClient(t, Options{Offline: true, Cache: c.cache})
	if _, err := offline.Pull(t.Context(), f.ref("1.0").At(a.Digest)); err != nil {
		t.Errorf("what was kept: %v", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(tarOf(f, tar.Header{Name: "oci-layout", Uname: layoutText}, tar.Header{Name: "index.json", Uname: `{"schemaVersion":2,"manifests":[]}`}))
	f.Add(tarOf(f, tar.Header{Name: "blobs/sha256/" + strings.Repeat("0", 64), Uname: "x"}))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, archive []byte) {
		l := newLoading(dir)
		err := l.read(t.Context(), tar.NewReader(bytes.NewReader(archive)))
		if err == nil {
			_, err = l.check()
		}
		files, _ := os.ReadDir(dir)
		for _, file := range files {
			if err == nil && l.blobs["sha256:"+file.Name()] == 0 {
				t.Errorf("accepted an archive and left %s", file.Name())
			}
			_ = os.Remove(filepath.Join(dir, file.Name()))
		}
	})
}
