package imagestore

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/anchor-host/anchor-host/host/internal/codestore"
	"github.com/anchor-host/anchor-host/host/internal/linear"
)

// open opens the images of an empty store.
func open(t *testing.T, limit int64) (s *Store, log *bytes.Buffer) {
	t.Helper()
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} { // the key lies there
		t.Setenv(name, t.TempDir())
	}
	log = &bytes.Buffer{}
	store, err := codestore.Open(t.TempDir(), slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	if s, err = Open(store, limit); err != nil {
		t.Fatal(err)
	}
	return s, log
}

// sample is an image of a memory of two pages, and the content of the memory.
func sample(t *testing.T, fill byte) (*Image, []byte) {
	t.Helper()
	memory := make([]byte, 2*page)
	copy(memory[100:], bytes.Repeat([]byte{fill}, 5000))
	memory[len(memory)-1] = fill
	im := &Image{Memory: linear.Copy(memory), Globals: []uint64{1, 1 << 63}, Vectors: [][2]uint64{{3, 4}},
		Mailbox: 0xffffffff, HasBox: true, Vars: map[string][]byte{"a": {0, 255}}}
	t.Cleanup(im.Memory.Free)
	return im, memory
}

func anyImage(*Image) bool { return true }

// check loads an image and compares it with what was saved.
func check(t *testing.T, s *Store, name string, want *Image, memory []byte) {
	t.Helper()
	for _, shared := range []bool{false, true} {
		got := s.Load(name, shared, anyImage)
		if got == nil {
			t.Fatalf("image %s is not found", name)
		}
		content := make([]byte, got.Memory.Size())
		got.Memory.Fill(content)
		got.Memory.Free()
		if !bytes.Equal(content, memory) {
			t.Error("the memory differs")
		}
		got.Memory = want.Memory
		if !reflect.DeepEqual(got, want) {
			t.Errorf("loaded %+v, saved %+v", got, want)
		}
	}
}

func TestImages(t *testing.T) {
	s, log := open(t, 1<<20)
	one, memory := sample(t, 1)
	other, otherMemory := sample(t, 2)
	if s.Load("one", false, anyImage) != nil {
		t.Error("found before it was saved")
	}
	for name, im := range map[string]*Image{"one": one, "other": other} {
		if err := s.Save(name, im); err != nil {
			t.Fatal(err)
		}
	}
	check(t, s, "one", one, memory)
	check(t, s, "other", other, otherMemory)
	if log.Len() != 0 {
		t.Errorf("log:\n%s", log)
	}
	if s.Load("one", false, func(im *Image) bool { return im.Mailbox == 7 }) != nil || s.Load("one", false, anyImage) != nil {
		t.Error("an image that does not fit stays")
	}
}

// However the file of an image is damaged, it is removed and logged, and no image is loaded.
func TestDamagedImages(t *testing.T) {
	s, log := open(t, 1<<20)
	im, memory := sample(t, 1)
	path := filepath.Join(s.dir, "name")
	if err := s.Save("name", im); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	damaged := map[string][]byte{
		"empty": nil, "half": whole[:len(whole)/2], "longer": append(bytes.Clone(whole), 0), "only the magic": whole[:len(magic)],
	}
	for at := 0; at < len(whole); at += 1 + at/8 {
		b := bytes.Clone(whole)
		b[at] ^= 1
		damaged[fmt.Sprint("byte ", at)] = b
	}
	for name, b := range damaged {
		log.Reset()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if s.Load("name", true, anyImage) != nil {
			t.Errorf("%s: it is loaded", name)
		}
		if _, err := os.Lstat(path); err == nil || !strings.Contains(log.String(), path) {
			t.Errorf("%s: it stays, or is not named in the log: %s", name, log)
		}
	}
	if err := s.Save("name", im); err != nil {
		t.Fatal(err)
	}
	check(t, s, "name", im, memory)
	if err := os.Rename(path, filepath.Join(s.dir, "other")); err != nil {
		t.Fatal(err)
	}
	if s.Load("other", true, anyImage) != nil {
		t.Error("an image is loaded from the place of another one")
	}
}

// A header with a good mark cannot have memory read or made beyond bounds.
func TestHeadersOutOfBounds(t *testing.T) {
	for _, h := range []header{
		{Size: -page}, {Size: page + 1}, {Size: 1 << 33},
		{Size: page, Parts: [][2]int{{-1, 1}}}, {Size: page, Parts: [][2]int{{page, 1}}}, {Size: page, Parts: [][2]int{{0, 9}}},
		{Size: page, Parts: [][2]int{{0, 0}}}, {Size: page, Parts: [][2]int{{0, -1}}}, {Size: page, Parts: [][2]int{{4, 4}, {2, 4}}},
		{Size: page, Parts: [][2]int{{0, 4}}}, // bytes are left over
	} {
		if parts, ok := h.parts(make([]byte, 8)); ok {
			t.Errorf("%+v: parts %v", h, parts)
		}
	}
}

// The images together stay below the limit, and one above it is not kept. The least recently
// used ones go first.
func TestLimitOfImages(t *testing.T) {
	s, _ := open(t, 1<<20)
	im, memory := sample(t, 1)
	if err := s.Save("a", im); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(s.dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	s.limit = 2*info.Size() + info.Size()/2
	for i, name := range []string{"a", "b"} {
		if err := s.Save(name, im); err != nil {
			t.Fatal(err)
		}
		past := time.Now().Add(time.Duration(i-10) * time.Hour)
		if err := os.Chtimes(filepath.Join(s.dir, name), past, past); err != nil {
			t.Fatal(err)
		}
	}
	s.Used("a")
	if err := s.Save("c", im); err != nil {
		t.Fatal(err)
	}
	if s.Load("b", false, anyImage) != nil {
		t.Error("the least recently used image stays")
	}
	check(t, s, "a", im, memory)
	check(t, s, "c", im, memory)
	large := &Image{Memory: linear.Copy(bytes.Repeat([]byte{1}, page))}
	defer large.Memory.Free()
	if err := s.Save("d", large); err == nil {
		t.Error("an image above the limit is saved")
	}
}

// A write that fails is an error, and leaves nothing.
func TestFailingWrite(t *testing.T) {
	s, _ := open(t, 1<<20)
	im, _ := sample(t, 1)
	if err := os.MkdirAll(filepath.Join(s.dir, "name", "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.Save("name", im); err == nil {
		t.Error("saved over a folder")
	}
	if list, err := os.ReadDir(s.dir); err != nil || len(list) != 1 {
		t.Errorf("left: %v, error %v", list, err)
	}
	if err := os.RemoveAll(s.dir); err != nil {
		t.Fatal(err)
	}
	if err := s.Save("name", im); err == nil {
		t.Error("saved without a folder")
	}
}

func TestNames(t *testing.T) {
	one, err := Name(1, "a", []string{"b"})
	if err != nil || len(one) != 64 {
		t.Errorf("name %q, error %v", one, err)
	}
	if same, _ := Name(1, "a", []string{"b"}); same != one {
		t.Error("the name changes")
	}
	if other, _ := Name(1, "a", []string{"c"}); other == one {
		t.Error("the name of another image")
	}
	if _, err := Name(func() {}); err == nil {
		t.Error("no error for what has no encoding")
	}
}
