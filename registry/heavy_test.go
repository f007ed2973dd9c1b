package registry

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/registry/internal/image"
)

// allocated returns how many bytes f allocates in all, which is more than it ever has at a time.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// filledTo repeats a text, with commas between, in a document of about that many bytes.
func filledTo(size int, begin, each, end string) []byte {
	return []byte(begin + strings.Repeat(each+",", (size-len(begin)-len(end))/(len(each)+1)-1) + each + end)
}

// TestHeavyDocuments has a registry send small values in great numbers. What is refused costs no
// more than to read it, and what is not a small multiple of its bytes.
func TestHeavyDocuments(t *testing.T) {
	const head = `{"schemaVersion":2,"mediaType":`
	manifest, index := head+`"`+imageType+`",`, head+`"`+ocispec.MediaTypeImageIndex+`",`
	air := strings.Repeat(" ", 60)
	f := newFake(t)
	c := newClient(t, Options{})
	pull := func() error { _, err := c.Pull(t.Context(), f.ref("1")); return err }
	tags := func() error { _, err := c.Tags(t.Context(), f.ref("")); return err }
	referrers := func() error {
		_, err := c.Referrers(t.Context(), f.ref("").At("sha256:"+strings.Repeat("0", 64)), "")
		return err
	}
	for name, each := range map[string]struct {
		begin, each, end string
		ask              func() error
		most             uint64 // times its bytes
	}{
		"layers":              {manifest + `"layers":[`, `{}`, `]}`, pull, 4},
		"as many as allowed":  {manifest + `"layers":[`, `{}` + air, `]}`, pull, 32},
		"addresses":           {manifest + `"layers":[{"urls":[`, `""`, `]}]}`, pull, 4},
		"manifests":           {index + `"manifests":[`, `{}`, `]}`, pull, 4},
		"what nobody knows":   {manifest + `"x":[`, `[]`, `]}`, pull, 4},
		"tags":                {`{"tags":[`, `""`, `]}`, tags, 4},
		"tags with air":       {`{"tags":[`, `""` + air, `]}`, tags, 8},
		"attachments":         {index + `"manifests":[`, `{}`, `]}`, referrers, 4},
		"attachments and air": {index + `"manifests":[`, `{}` + air, `]}`, referrers, 32},
	} {
		text := filledTo(image.MaxManifest, each.begin, each.each, each.end)
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
			if strings.HasSuffix(r.URL.Path, "/manifests/1") {
				w.Header().Set("Content-Type", imageType)
			}
			w.Header().Set("Link", "<"+r.URL.Path+`?n=1>; rel="next"`)
			_, _ = w.Write(text)
			return true
		}
		var err error
		if n := allocated(func() { err = each.ask() }); err == nil || n > each.most*uint64(len(text)) {
			t.Errorf("%s: %d bytes took %d, %v", name, len(text), n, err)
		} else {
			t.Logf("%s: %.1f times its bytes, %v", name, float64(n)/float64(len(text)), err)
		}
	}
	text := filledTo(maxIndex, `{"schemaVersion":2,"manifests":[`, `{}`, `]}`)
	if n := allocated(func() { _, _ = parseIndex(text) }); n > uint64(len(text)) {
		t.Errorf("an index of %d bytes took %d", len(text), n)
	}
	// As many honest entries as fit.
	honest := filledTo(maxIndex, `{"schemaVersion":2,"manifests":[`, `{"mediaType":"`+imageType+`","digest":"sha256:`+strings.Repeat("0", 64)+
		`","size":1234,"annotations":{"org.opencontainers.image.ref.name":"a.io/a:1"}}`, `]}`)
	if x, err := parseIndex(honest); err != nil || len(x.Manifests) < 30_000 {
		t.Errorf("an honest index: %v", err)
	}
}

// TestManyAttachments lists one attachment again and again, and manifests that are much together.
func TestManyAttachments(t *testing.T) {
	f := newFake(t)
	subject := image.Describe(imageType, []byte("{}"))
	var listed []string
	for i := range 18 {
		text := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"subject":{"digest":%q},"annotations":{"x":%q}}`, imageType, subject.Digest, fmt.Sprint(i)+strings.Repeat("x", 4_000_000))
		f.put("x", imageType, text)
		d := fmt.Sprintf(`{"mediaType":%q,"digest":%q,"size":%d}`, imageType, image.DigestOf(text), len(text))
		listed = append(listed, d, d)
	}
	answer := `{"schemaVersion":2,"mediaType":"` + ocispec.MediaTypeImageIndex + `","manifests":[`
	list := func(all []string) error {
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if !strings.Contains(r.URL.Path, "/referrers/") {
				return false
			}
			w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
			fmt.Fprint(w, answer+strings.Join(all, ",")+"]}")
			return true
		}
		_, err := newClient(t, Options{}).Referrers(t.Context(), f.ref("").At(string(subject.Digest)), "")
		return err
	}
	f.sent()
	if err := list(listed); !errors.Is(err, ErrTooLarge) || f.sent() > 30 {
		t.Errorf("manifests of 72 MB: %v", err)
	}
	same := make([]string, 500)
	for i := range same {
		same[i] = listed[0]
	}
	f.sent()
	if err := list(same); errors.Is(err, ErrTooLarge) || f.sent() > 5 {
		t.Errorf("one again and again: %v", err)
	}
}

// sparseEntry is an entry of a tar with a hole of that many bytes.
func sparseEntry(name string, size int) []byte {
	header := func(kind byte, size int) []byte {
		b := make([]byte, 512)
		copy(b, "x")
		for at, text := range map[int]string{100: "0000644", 108: "0000000", 116: "0000000", 124: fmt.Sprintf("%011o", size), 136: "00000000000", 148: "        ", 156: string(kind), 257: "ustar\x0000"} {
			copy(b[at:], text)
		}
		sum := 0
		for _, c := range b {
			sum += int(c)
		}
		copy(b[148:], fmt.Sprintf("%06o\x00 ", sum))
		return b
	}
	var records string
	for _, r := range []string{"major=0", "minor=1", "name=" + name, fmt.Sprintf("size=%d", size), "numblocks=1", fmt.Sprintf("map=%d,0", size)} {
		r = " GNU.sparse." + r + "\n"
		n := len(r) + 2
		if len(fmt.Sprint(n)) == 3 {
			n++
		}
		records += fmt.Sprint(n) + r
	}
	body := append([]byte(records), make([]byte, 512-len(records)%512)...)
	return append(append(header('x', len(records)), body...), header('0', 0)...)
}

// TestHeavyArchives loads archives of a few bytes that would fill a disk or take hours.
func TestHeavyArchives(t *testing.T) {
	digest := image.DigestOf(make([]byte, 1<<20))
	holes := sparseEntry(blobsFolder+digest[len("sha256:"):], 1<<20)
	if h, err := tar.NewReader(bytes.NewReader(holes)).Next(); err != nil || h.Size != 1<<20 || h.Typeflag != tar.TypeReg {
		t.Fatalf("the test is wrong: %+v, %v", h, err)
	}
	if _, err := newClient(t, Options{}).Cache().Load(t.Context(), bytes.NewReader(holes)); !errors.Is(err, ErrArchive) || !strings.Contains(err.Error(), "is a sparse file") {
		t.Errorf("a sparse file: %v", err)
	}
	// One large manifest under thousands of names.
	config := []byte("{}")
	manifest := fmt.Appendf(nil, `{"schemaVersion":2,"mediaType":%q,"config":{"digest":%q,"size":2},"layers":[],"annotations":{"x":%q}}`, imageType, image.DigestOf(config), strings.Repeat("x", 1<<20))
	index := filledTo(1<<20, `{"schemaVersion":2,"manifests":[`, fmt.Sprintf(`{"digest":%q,"size":%d,"annotations":{%q:"a.io/p:NUMBER"}}`, image.DigestOf(manifest), len(manifest), ocispec.AnnotationRefName), `]}`)
	n := 0
	for bytes.Contains(index, []byte("NUMBER")) && n < 300 {
		index, n = bytes.Replace(index, []byte("NUMBER"), fmt.Append(nil, n), 1), n+1
	}
	index = bytes.ReplaceAll(index, []byte("NUMBER"), []byte("x"))
	archive := tarOf(t, tar.Header{Name: "oci-layout", Uname: layoutText}, tar.Header{Name: "index.json", Uname: string(index)},
		tar.Header{Name: blobsFolder + image.DigestOf(config)[7:], Uname: string(config)}, tar.Header{Name: blobsFolder + image.DigestOf(manifest)[7:], Uname: string(manifest)})
	c := newClient(t, Options{})
	var entries []Entry
	var err error
	if took := allocated(func() { entries, err = c.Cache().Load(t.Context(), bytes.NewReader(archive)) }); err != nil || len(entries) < 4000 || took > 64<<20 {
		t.Errorf("%d names of one manifest took %d bytes, %v", len(entries), took, err)
	}
	if all, err := c.Cache().Entries(); err != nil || len(all) != n+1 {
		t.Errorf("the cache lists %d, want %d, %v", len(all), n+1, err)
	}
}
