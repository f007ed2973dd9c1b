package message

import (
	"errors"
	"strings"
	"testing"
)

// Contents are read in the form of each API, and written as they came.
func TestPartsOfEachAPI(t *testing.T) {
	for in, want := range map[string]string{
		`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]`: "",
		`[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]`:                    "",
		`[ {"inlineData":{"mimeType":"image/png","data":"aGk="}} ]`:                            "",
		`{"type":"image"}`:          "parts",
		`"text"`:                    "parts",
		`[`:                         "",
		`[],"role":"system","x":[]`: "parts",
		``:                          "",
	} {
		parts, err := DecodeParts([]byte(in))
		if want != "" || !strings.Contains(in, "{") {
			if err == nil || !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, %v; want %s", in, parts, err, want)
			}
			continue
		}
		out, outErr := AppendParts(nil, parts)
		if err != nil || outErr != nil || len(parts) != 1 || parts[0].Kind != Image || strings.ReplaceAll(string(out), " ", "") != strings.ReplaceAll(in, " ", "") {
			t.Errorf("%s: %v, %v, %s", in, err, outErr, out)
		}
	}
	made := []Part{{Kind: Image, Media: &Media{Type: "image/png", Data: "aGk="}}}
	if out, err := AppendParts(nil, made); err != nil || !strings.Contains(string(out), `"base64"`) {
		t.Errorf("%s, %v", out, err)
	}
}

// FuzzParts reads contents. What can be read is written so that it can be read again.
func FuzzParts(f *testing.F) {
	f.Add([]byte(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]`))
	f.Add([]byte(`[{"inlineData":{"mimeType":"image/png","data":"aGk="}}]`))
	f.Add([]byte(`[{"type":"file","file":{"file_data":"aGk="}},{"type":"input_audio","input_audio":{"data":"aGk=","format":"wav"}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := DecodeParts(data)
		if err != nil {
			return
		}
		out, err := AppendParts(nil, parts)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := DecodeParts(out); err != nil || len(again) != len(parts) {
			t.Fatalf("%s became %s: %v", data, out, err)
		}
	})
}
