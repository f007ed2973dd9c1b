package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/chromedp/chromedp"
)

// maxPicture is how large a picture for docs may be, in bytes, and maxColors how many colors it has.
const maxPicture, maxColors = 60_000, 48

// docs keeps the pictures for docs/images.
func (b *browser) docs(s *service) error {
	b.now("pictures for docs")
	defer func() { _ = b.do(chromedp.EmulateViewport(1280, 900)) }()
	if err := b.do(chromedp.EmulateViewport(1200, 560)); err != nil {
		return err
	}
	return errors.Join(b.picture("console-builds", "/console/builds"), b.picture("console-build", "/console/build?id="+s.degraded))
}

// picture keeps what a screen shows of a page, with few colors.
func (b *browser) picture(name, path string) error {
	var shot []byte
	if err := b.open(path); err != nil {
		return err
	}
	if err := b.do(chromedp.CaptureScreenshot(&shot)); err != nil {
		return err
	}
	whole, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewColors(whole)); err != nil {
		return err
	}
	if out.Len() > maxPicture {
		return fmt.Errorf("the picture %s has %d bytes, want at most %d", name, out.Len(), maxPicture)
	}
	return os.WriteFile(filepath.Join(b.out, name+".png"), out.Bytes(), 0o644)
}

// fewColors is an image in its most frequent colors.
func fewColors(in image.Image) image.Image {
	counts := map[color.RGBA]int{}
	for y := in.Bounds().Min.Y; y < in.Bounds().Max.Y; y++ {
		for x := in.Bounds().Min.X; x < in.Bounds().Max.X; x++ {
			counts[color.RGBAModel.Convert(in.At(x, y)).(color.RGBA)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(uint32(a.R)<<16|uint32(a.G)<<8|uint32(a.B), uint32(b.R)<<16|uint32(b.G)<<8|uint32(b.B)))
	})
	var palette color.Palette
	for _, c := range frequent[:min(len(frequent), maxColors)] {
		palette = append(palette, c)
	}
	out := image.NewPaletted(in.Bounds(), palette)
	draw.Draw(out, in.Bounds(), in, in.Bounds().Min, draw.Src)
	return out
}
