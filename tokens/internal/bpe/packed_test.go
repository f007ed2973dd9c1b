package bpe

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"maps"
	"os"
	"testing"

	"github.com/klauspost/compress/zstd"
	loader "github.com/pkoukk/tiktoken-go-loader"
)

var update = flag.Bool("update", false, "write vocab.zst")

// pack makes a frame of a vocabulary.
func pack(t *testing.T, ranks map[string]int) []byte {
	most := 0
	for _, rank := range ranks {
		most = max(most, rank)
	}
	tokens := make([]string, most+1)
	for token, rank := range ranks {
		tokens[rank] = token
	}
	body := binary.BigEndian.AppendUint32(nil, uint32(len(tokens)))
	for _, token := range tokens {
		body = append(body, byte(len(token)))
	}
	for _, token := range tokens {
		body = append(body, token...)
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(body, nil)
}

// The packed vocabularies are those of the library.
func TestPackedVocabularies(t *testing.T) {
	list := map[string]map[string]int{}
	for _, name := range Names() {
		ranks, err := loader.NewOfflineLoader().LoadTiktokenBpe(name + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		list[name] = ranks
	}
	if *update {
		var head, body []byte
		for _, name := range []string{"cl100k_base", "o200k_base", "p50k_base"} {
			frame := pack(t, list[name])
			head, body = binary.BigEndian.AppendUint32(head, uint32(len(frame))), append(body, frame...)
		}
		if err := os.WriteFile("vocab.zst", append(head, body...), 0o644); err != nil {
			t.Fatal(err)
		}
		packed = string(append(head, body...))
	}
	for name, want := range list {
		if got, err := Ranks(name); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %d tokens of %d, error %v (go test -update packs them)", name, len(got), len(want), err)
		}
	}
}

// The licence of the vocabularies lies beside them, as it demands.
func TestVocabulariesHaveTheirLicence(t *testing.T) {
	if text, err := os.ReadFile("LICENSE.tiktoken"); err != nil || !bytes.Contains(text, []byte("OpenAI")) {
		t.Errorf("%q, %v", text, err)
	}
}

// Damage is an error.
func TestDamagedVocabularies(t *testing.T) {
	for n := range 4 * frames {
		if _, _, err := unpack(packed[:n], 0, 0); !errors.Is(err, errPacked) {
			t.Errorf("%d bytes: error %v", n, err)
		}
	}
	if _, _, err := unpack(packed[:len(packed)-1], frameP50K, 0); !errors.Is(err, errPacked) {
		t.Errorf("cut: error %v", err)
	}
	wrong := []byte(packed)
	copy(wrong[4*frames:], make([]byte, 8))
	if _, _, err := unpack(string(wrong), 0, 0); err == nil {
		t.Error("no frame: no error")
	}
	for _, body := range [][]byte{nil, {0, 0, 0, 2, 1}, {0, 0, 0, 1, 2, 'a'}, {0xff, 0xff, 0xff, 0xff}} {
		if _, _, err := cutTokens(body, 1); !errors.Is(err, errPacked) {
			t.Errorf("%v: error %v", body, err)
		}
	}
	if lengths, text, err := cutTokens([]byte{0, 0, 0, 2, 1, 1, 'a', 'b'}, 1); err != nil || !bytes.Equal(lengths, []byte{1}) || string(text) != "a" {
		t.Errorf("first token: %v %q, error %v", lengths, text, err)
	}
}
