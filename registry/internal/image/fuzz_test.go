package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
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
		_ = CheckConfig(text)
		img, err := Read(mediaType, text, 1<<20)
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
