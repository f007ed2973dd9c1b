package registry

import (
	"fmt"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// signed is the manifest of a signature of cosign with a layer of this type and size.
func signed(layer string, size int64) string {
	zeros := "sha256:" + strings.Repeat("0", 64)
	return fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"config":{"mediaType":%q,"digest":%q,"size":2},"layers":[{"mediaType":%q,"digest":%q,"size":%d}]}`,
		ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageConfig, zeros, layer, zeros, size)
}

func FuzzReadCosign(f *testing.F) {
	for _, seed := range []string{signed(cosignLayer, 2), signed(cosignLayer, 1<<40), signed(cosignLayer, -1), signed("text/plain", 2), "{}", "<html>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := readCosign("", text)
		if err != nil {
			return
		}
		if len(m.Layers) > maxCosignSignatures || m.Config.Size <= 0 || m.Config.Size > maxCosignPayload {
			t.Errorf("%d layers, a config of %d bytes", len(m.Layers), m.Config.Size)
		}
		for _, layer := range m.Layers {
			if layer.MediaType != cosignLayer || layer.Size <= 0 || layer.Size > maxCosignPayload {
				t.Errorf("accepted the layer %+v", layer)
			}
		}
	})
}

func TestReadCosign(t *testing.T) {
	if m, err := readCosign("", []byte(signed(cosignLayer, 2))); err != nil || len(m.Layers) != 1 {
		t.Errorf("a signature: %+v, %v", m, err)
	}
	for want, text := range map[string]string{
		"announces":      signed(cosignLayer, 1<<30),
		"want more than": signed(cosignLayer, 0),
		"want only":      signed("text/plain", 2),
	} {
		if _, err := readCosign("", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
