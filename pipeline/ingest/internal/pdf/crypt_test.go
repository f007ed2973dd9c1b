package pdf

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anchor-host/anchor-host/pipeline/ingest/meter"
)

// TestEncrypted reads files that pypdf 5.1 made of one page, with an owner password and mostly an empty user password.
func TestEncrypted(t *testing.T) {
	paths, err := filepath.Glob("testdata/encrypted/*.pdf")
	if err != nil || len(paths) != 7 {
		t.Fatalf("%d files, error %v", len(paths), err)
	}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Read(account(t, len(data)), data)
		switch {
		case strings.Contains(path, "-password"):
			if !errors.Is(err, ErrEncrypted) {
				t.Errorf("%s: error %v, want %v", path, err, ErrEncrypted)
			}
		case err != nil || len(f.Pages) != 1 || f.Pages[0] != "Standards are often\nlocked this way." || f.Title != "A locked title":
			t.Errorf("%s: %+v, error %v", path, f, err)
		}
	}
}

// TestIdentityFilter holds that a crypt filter may leave streams as they are.
func TestIdentityFilter(t *testing.T) {
	data, err := os.ReadFile("testdata/encrypted/aes-128.pdf")
	if err != nil {
		t.Fatal(err)
	}
	clear := strings.Replace(string(data), "/StmF /StdCF", "/StmF /Identity", 1)
	from, to := strings.Index(clear, "stream"), strings.Index(clear, "endstream")
	clear = clear[:from] + "stream\nBT /F1 10 Tf (in the clear) Tj ET\n" + clear[to:]
	f, err := Read(account(t, len(data)), []byte(clear))
	if err != nil || len(f.Pages) != 1 || f.Pages[0] != "in the clear" || f.Title != "A locked title" {
		t.Errorf("%+v, error %v", f, err)
	}
}

// TestSimpleFont holds that a font of one byte a code stays that, whatever the code space of its table.
func TestSimpleFont(t *testing.T) {
	table := "1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <20> <7E> <0020> endbfrange"
	for _, subtype := range []string{"Type1", "TrueType", "Type3", "MMType1"} {
		data := withContent("BT /G 12 Tf 72 700 Td (National Park Service) Tj ET", "", "<< >>",
			"<< /Type /Font /Subtype /"+subtype+" /ToUnicode 10 0 R >>", "<< >>\nstream\n"+table+"\nendstream")
		data = []byte(strings.Replace(string(data), "/F1 5 0 R", "/G 9 0 R", 1))
		if f, err := Read(account(t, 1000), data); err != nil || f.Pages[0] != "National Park Service" {
			t.Errorf("%s: %+v, error %v", subtype, f, err)
		}
	}
}

// TestLZW unpacks the example of the specification, and what is damaged.
func TestLZW(t *testing.T) {
	r := &reader{m: meter.New(t.Context(), meter.Budget{Memory: 1 << 20, Work: 1 << 20})}
	if got := string(r.unpackLZW([]byte{0x80, 0x0B, 0x60, 0x50, 0x22, 0x0C, 0x0C, 0x85, 0x01})); got != "-----A---B" {
		t.Errorf("%q", got)
	}
	for _, data := range []string{"", "\xff", "\xff\xff\xff\xff", strings.Repeat("\x80\x0b\x60", 5000)} {
		r.unpackLZW([]byte(data)) // must end
	}
}
