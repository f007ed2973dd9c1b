package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"golang.org/x/text/encoding/unicode"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
)

// engine reads a document as text. One without a command is read by this program, called again.
type engine struct {
	name    string
	command func(path string) []string
	// input makes what the command reads from its standard input, nil for nothing.
	input func(path string) ([]byte, error)
}

const own = "anchor-host"

// references are what other programs find.
var references = map[string]engine{
	"pdf":  {name: "pdftotext", command: func(p string) []string { return []string{"pdftotext", "-q", p, "-"} }},
	"docx": {name: "pandoc", command: func(p string) []string { return []string{"pandoc", "-f", "docx", "-t", "plain", "--wrap=none", p} }},
	"html": {name: "w3m", command: w3m, input: forW3m},
}

// w3m shows a page. By itself it writes the file name of a picture that has no text, which is no word of the page.
func w3m(string) []string {
	return []string{"w3m", "-dump", "-T", "text/html", "-O", "utf-8", "-o", "pseudo_inlines=0"}
}

// forW3m returns a page as w3m can read it: it does not know UTF-16, and reads each letter as a word.
func forW3m(path string) ([]byte, error) {
	page, err := os.ReadFile(path)
	if bytes.HasPrefix(page, []byte("\xff\xfe")) || bytes.HasPrefix(page, []byte("\xfe\xff")) {
		page, err = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Bytes(page)
		page = append([]byte("\ufeff"), page...)
	}
	return page, err
}

// enginesOf returns what is measured: the reference only for its time and memory.
func enginesOf(kind string, peers bool) []engine {
	out := []engine{references[kind], {name: own}}
	if peers && kind == "pdf" {
		for name := range peerReaders {
			out = append(out, engine{name: name})
		}
	}
	return out
}

// reading is what an engine made of a document.
type reading struct {
	text   string
	cpu    time.Duration
	memory int64 // the most that was resident, in bytes
	failed string
}

// timeout is how long an engine may take for one document.
const timeout = 2 * time.Minute

func (e engine) read(ctx context.Context, path string) (r reading, err error) {
	var args []string
	if e.command != nil {
		args = e.command(path)
	} else {
		self, err := os.Executable()
		if err != nil {
			return r, err
		}
		args = []string{self, "-read", e.name, path}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if e.input != nil {
		in, err := e.input(path)
		if err != nil {
			return r, err
		}
		cmd.Stdin = bytes.NewReader(in)
	}
	err = cmd.Run()
	if cmd.ProcessState == nil { // it did not begin: no fault of the document
		return r, err
	}
	r.cpu, r.memory = cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime(), peakOf(cmd.ProcessState)
	r.text = out.String()
	if err != nil {
		r.failed = fmt.Sprintf("%.200s (%v)", bytes.TrimSpace(complaint.Bytes()), err)
	}
	return r, nil
}

// readOne reads a file and prints its text.
func readOne(ctx context.Context, engine string, files []string, w io.Writer) error {
	if len(files) != 1 {
		return errors.New("-read wants one file")
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		return err
	}
	if peer, ok := peerReaders[engine]; ok {
		text, err := peer(data)
		fmt.Fprintln(w, text)
		return err
	}
	limits := parse.Limits{}
	return parse.Parse(limits.Meter(ctx, len(data)), parse.File{Name: files[0]}, data, limits, func(d parse.Document) error {
		fmt.Fprintln(w, d.Title)
		for _, b := range d.Blocks {
			fmt.Fprintf(w, "%s\n\n", b.Text)
		}
		return nil
	})
}
