package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

func FuzzRead(f *testing.F) {
	digest := "sha256:" + strings.Repeat("0", 64)
	f.Add(ocispec.MediaTypeImageManifest, fmt.Appendf(nil, `{"schemaVersion":2,"config":{"mediaType":%q,"digest":%q,"size":2},"layers":[{"mediaType":%q,"digest":%q,"size":9}]}`,
		ConfigType, digest, ModuleType, digest))
	f.Add("", fmt.Appendf(nil, `{"schemaVersion":2,"manifests":[{"digest":%q}]}`, digest))
	f.Add(DockerManifest, fmt.Appendf(nil, `{"schemaVersion":2,"config":{"mediaType":%q},"layers":[{}]}`, DockerConfig))
	f.Fuzz(func(t *testing.T, mediaType string, text []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_ = CheckConfig(text)
		img, err := Read(mediaType, text, 1<<20)
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20+64*uint64(len(text)) {
			t.Fatalf("%d bytes took %d", len(text), took)
		}
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Fatalf("%q", err)
			}
			return
		}
		if img.Layer.Size <= 0 || img.Layer.Size > 1<<20 || !DigestForm.MatchString(string(img.Layer.Digest)) || !DigestForm.MatchString(string(img.Config.Digest)) {
			t.Fatalf("accepted %s", text)
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(text, &members); err != nil {
			t.Fatalf("accepted what is no JSON: %v", err)
		}
	})
}

// TestWeigh states what a document may hold: strings count as one value, however they are written.
func TestWeigh(t *testing.T) {
	for text, want := range map[string]bool{
		"": true, "{}": true, `"`: true, `"\`: true, `"\\`: true,
		strings.Repeat("{},", 10_000):                                            false,
		`"` + strings.Repeat("{},", 100_000) + `"`:                               true,
		`"` + strings.Repeat(`\"{},`, 100_000) + `"`:                             true,
		`"\\"` + strings.Repeat("{},", 10_000):                                   false,
		strings.Repeat(`"1.2.3",`, 30_000):                                       true,
		strings.Repeat(`"digest":"sha256:`+strings.Repeat("0", 64)+`",`, 30_000): true,
	} {
		if err := Weigh([]byte(text)); (err == nil) != want {
			t.Errorf("%.30s…: %v", text, err)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for _, name := range []string{"plugin.wasm", "./plugin.wasm", "a/../plugin.wasm"} {
		var b, z bytes.Buffer
		w := tar.NewWriter(&b)
		_ = w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 4})
		_, _ = w.Write([]byte("\x00asm"))
		_ = w.Close()
		f.Add(b.Bytes())
		c := gzip.NewWriter(&z)
		_, _ = c.Write(b.Bytes())
		_ = c.Close()
		f.Add(z.Bytes())
	}
	f.Fuzz(func(t *testing.T, layer []byte) {
		if module, err := Unpack(layer, 4096); err == nil && (len(module) == 0 || len(module) > 4096) {
			t.Fatalf("unpacked %d bytes", len(module))
		}
	})
}
