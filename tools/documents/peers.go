package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klippa-app/go-pdfium/requests"
	"github.com/klippa-app/go-pdfium/webassembly"
	ledongthuc "github.com/ledongthuc/pdf"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
)

// peerReaders are other libraries for PDF that need no cgo.
var peerReaders = map[string]func([]byte) (string, error){"ledongthuc/pdf": readLedongthuc, "go-pdfium": readPDFium}

func readLedongthuc(data []byte) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	r, err := ledongthuc.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", err
	}
	from, err := r.GetPlainText()
	if err != nil {
		return "", err
	}
	all, err := io.ReadAll(from)
	return string(all), err
}

// readPDFium reads with PDFium as WebAssembly. It keeps the machine code, whose making takes some seconds, in a folder
// for the next process.
func readPDFium(data []byte) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "anchor-host-documents"))
	if err != nil {
		return "", err
	}
	pool, err := webassembly.Init(webassembly.Config{
		MinIdle: 1, MaxIdle: 1, MaxTotal: 1, Context: context.Background(),
		RuntimeConfig: wazero.NewRuntimeConfig().WithCompilationCache(cache).WithCoreFeatures(api.CoreFeaturesV2 | experimental.CoreFeaturesExceptionHandling | experimental.CoreFeaturesTailCall),
	})
	if err != nil {
		return "", err
	}
	defer pool.Close()
	p, err := pool.GetInstance(timeout)
	if err != nil {
		return "", err
	}
	doc, err := p.OpenDocument(&requests.OpenDocument{File: &data})
	if err != nil {
		return "", err
	}
	n, err := p.FPDF_GetPageCount(&requests.FPDF_GetPageCount{Document: doc.Document})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range n.PageCount {
		t, err := p.GetPageText(&requests.GetPageText{Page: requests.Page{ByIndex: &requests.PageByIndex{Document: doc.Document, Index: i}}})
		if err != nil {
			return b.String(), err
		}
		fmt.Fprintf(&b, "%s\n\n", t.Text)
	}
	return b.String(), nil
}
