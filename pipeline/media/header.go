package media

import (
	"bytes"
	"encoding/binary"
	"image"
	_ "image/gif" // registers the header of GIF
	_ "image/jpeg"
	_ "image/png"
	"io"
	"regexp"
	"strconv"
	"sync"
)

const (
	// maxHeader is how much of an image is read in bytes. The size of a JPEG comes after its
	// profiles and thumbnails.
	maxHeader = 256 << 10
	// maxSoundHeader is how much of a sound is read.
	maxSoundHeader = 64 << 10
	// maxDocument is how much of a document is read.
	maxDocument = 64 << 10
)

// imageSize returns the size of a PNG, JPEG, GIF or WebP image, or 0. It decodes no pixels.
func imageSize(r io.Reader) (width, height int) {
	head := make([]byte, 30)
	n, _ := io.ReadFull(r, head)
	head = head[:n]
	if width, height = webpSize(head); width > 0 {
		return width, height
	}
	c, _, err := image.DecodeConfig(io.MultiReader(bytes.NewReader(head), r))
	if err != nil || !validSize(c.Width, c.Height) {
		return 0, 0
	}
	return c.Width, c.Height
}

// webpSize returns the size that the head of a WebP image states, or 0.
func webpSize(b []byte) (width, height int) {
	if len(b) < 30 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WEBP" {
		return 0, 0
	}
	switch string(b[12:16]) {
	case "VP8 ":
		if b[23] == 0x9d && b[24] == 0x01 && b[25] == 0x2a {
			return int(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), int(binary.LittleEndian.Uint16(b[28:]) & 0x3fff)
		}
	case "VP8L":
		if b[20] == 0x2f {
			v := binary.LittleEndian.Uint32(b[21:])
			return int(v&0x3fff) + 1, int(v>>14&0x3fff) + 1
		}
	case "VP8X":
		return uint24(b[24:]) + 1, uint24(b[27:]) + 1
	}
	return 0, 0
}

func uint24(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }

// span is a length in seconds between two bounds.
type span struct{ low, high float64 }

// maxSeconds bounds the length of a sound: a year.
const maxSeconds = 366 * 24 * 3600

// The bit rates in bytes for each second between which compressed speech and music lie: 6 kbit/s
// of Opus to 320 kbit/s of MP3.
const slowest, fastest = 750, 40_000

// length returns the length of a sound.
func (p *Part) length() span {
	if p.Seconds > 0 && p.Seconds <= maxSeconds {
		return span{p.Seconds, p.Seconds}
	}
	size := float64(p.size())
	head, _ := io.ReadAll(p.content(maxSoundHeader))
	if s := wavSeconds(head, size); s > 0 {
		return span{s, s}
	}
	if s := flacSeconds(head); s > 0 {
		return span{s, s}
	}
	return span{min(size/fastest, maxSeconds), min(size/slowest, maxSeconds)}
}

// wavSeconds returns the length of a WAV sound, or 0.
func wavSeconds(b []byte, size float64) float64 {
	if len(b) < 12 || string(b[:4]) != "RIFF" || string(b[8:12]) != "WAVE" {
		return 0
	}
	rate := 0.0
	for i := 12; i+8 <= len(b); {
		length := int(binary.LittleEndian.Uint32(b[i+4:]))
		switch string(b[i : i+4]) {
		case "fmt ":
			if i+20 <= len(b) {
				rate = float64(binary.LittleEndian.Uint32(b[i+16:]))
			}
		case "data":
			// A stream states a length that its writer did not know.
			if seconds := min(float64(length), size-float64(i+8)) / rate; rate > 0 && seconds <= maxSeconds {
				return seconds
			}
			return 0
		}
		i += 8 + length + length%2
	}
	return 0
}

// flacSeconds returns the length of a FLAC sound, or 0.
func flacSeconds(b []byte) float64 {
	if len(b) < 26 || string(b[:4]) != "fLaC" || b[4]&0x7f != 0 {
		return 0
	}
	v := binary.BigEndian.Uint64(b[18:])
	rate, samples := v>>44, v&(1<<36-1)
	if rate == 0 || samples/rate > maxSeconds {
		return 0
	}
	return float64(samples) / float64(rate)
}

// count is a whole number between two bounds.
type count struct{ low, high int }

// The least and the usual largest size of a page of a PDF in bytes. A page may be smaller.
const smallPage = 1 << 10

// linearized finds the number of pages that a PDF for the web states at its beginning.
var linearized = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/Linearized\s[^>]{0,500}?/N\s+(\d{1,7})\b`)
})

// pages returns the number of pages of a document.
func (p *Part) pages() count {
	if p.Pages > 0 {
		n := min(p.Pages, maxPages)
		return count{n, n}
	}
	head, _ := io.ReadAll(p.content(maxDocument))
	if m := linearized().FindSubmatch(head); m != nil && bytes.HasPrefix(head, []byte("%PDF-")) {
		if n, err := strconv.Atoi(string(m[1])); err == nil && n > 0 && n <= p.size() {
			return count{n, n}
		}
	}
	if p.size() <= len(head) && bytes.HasPrefix(head, []byte("%PDF-")) && !bytes.Contains(head, []byte("/ObjStm")) {
		if n := len(pageObject().FindAllIndex(head, -1)); n > 0 && !bytes.Contains(head, []byte("/Prev")) {
			return count{n, n}
		}
	}
	return count{1, min(maxPages, 1+p.size()/smallPage)}
}

// pageObject finds the objects of the pages of a PDF that does not compress them.
var pageObject = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`/Type\s*/Page[^s\w]`)
})

// maxPages bounds the pages of a document.
const maxPages = 1 << 20
