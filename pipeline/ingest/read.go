package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
)

// content is what a file had when it was read.
type content struct {
	data   []byte
	size   int64
	time   time.Time
	format parse.Format
}

var errGone = errors.New("gone")

// read reads an entry whole.
func (g *run) read(ctx context.Context, e *entry) (content, error) {
	switch {
	case e.from.Reader != nil:
		data, err := g.readAll(e.from.Reader, e.path, g.o.Format)
		return content{data: data, size: int64(len(data)), format: g.o.Format}, err
	case e.root == nil:
		return g.fetch(ctx, e)
	}
	var c content
	var err error
	for range 3 {
		var rested bool
		if c, rested, err = g.readFile(e); err != nil || rested {
			return c, err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return c, err
		}
	}
	return c, errors.New("it changes while it is read (ingest it again when nothing writes to it)")
}

// readFile reads a file, and reports whether it rested meanwhile.
func (g *run) readFile(e *entry) (c content, rested bool, err error) {
	// A pipe in the place of the file must not block.
	f, err := e.root.OpenFile(e.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return c, false, errGone
		}
		return c, false, pathless(err)
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return c, false, pathless(err)
	}
	if !before.Mode().IsRegular() {
		return c, false, errors.New("not a file (leave it out)")
	}
	data, err := g.readAll(f, e.path, g.o.Format)
	if err != nil {
		return c, false, err
	}
	after, err := f.Stat()
	if err != nil {
		return c, false, pathless(err)
	}
	rested = before.Size() == after.Size() && before.ModTime().Equal(after.ModTime()) && after.Size() == int64(len(data))
	return content{data: data, size: after.Size(), time: after.ModTime(), format: g.o.Format}, rested, nil
}

// readAll reads at most what a file of its format may have.
func (g *run) readAll(r io.Reader, name string, f parse.Format) ([]byte, error) {
	head := make([]byte, 1024)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, pathless(err)
	}
	if f == "" {
		f = parse.FormatOf(name, head)
	}
	most := g.o.MaxFile
	if f == parse.FormatPDF || f == parse.FormatDOCX {
		most *= 4
	}
	if size, ok := sizeOf(r); ok {
		if size > most {
			return nil, fmt.Errorf("%w: %d bytes, the limit is %d", parse.ErrTooLarge, size, most)
		}
		head = append(make([]byte, 0, max(size+512, int64(n))), head...)
	}
	for {
		if len(head) == cap(head) {
			head = append(head, 0)[:len(head)]
		}
		n, err := r.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if int64(len(head)) > most {
			return nil, fmt.Errorf("%w: more than %d bytes", parse.ErrTooLarge, most)
		}
		if errors.Is(err, io.EOF) {
			return head, nil
		}
		if err != nil {
			return nil, pathless(err)
		}
	}
}

func sizeOf(r io.Reader) (int64, bool) {
	f, ok := r.(*os.File)
	if !ok {
		return 0, false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// fetch reads a page.
func (g *run) fetch(ctx context.Context, e *entry) (content, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.id, nil)
	if err != nil {
		return content{}, fmt.Errorf("not a valid address: %w", err)
	}
	req.Header.Set("User-Agent", "anchor-host")
	req.Header.Set("Accept", "text/html, text/markdown, text/plain, application/pdf, */*;q=0.5")
	res, err := g.o.Client.Do(req)
	if err != nil {
		return content{}, fmt.Errorf("fetch: %w (check the address and the network)", err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return content{}, errGone
	case res.StatusCode != http.StatusOK:
		return content{}, fmt.Errorf("fetch: the server answers %s (try again later)", res.Status)
	}
	f := g.o.Format
	if f == "" {
		f = parse.FormatOfType(res.Header.Get("Content-Type"))
	}
	data, err := g.readAll(res.Body, req.URL.Path, f)
	c := content{data: data, size: int64(len(data)), format: f}
	if t, parsed := http.ParseTime(res.Header.Get("Last-Modified")); parsed == nil {
		c.time = t
	}
	return c, err
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
