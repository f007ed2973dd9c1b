package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
)

func (in *input) close() {
	if in.file != nil {
		_ = in.file.Close() // only read
	}
}

// digest returns the hash of what was read.
func (in *input) digest() []byte {
	if in.sha == nil {
		in.sha = sha256.New()
		in.sha.Write(in.data)
	}
	return in.sha.Sum(nil)
}

// streaming makes a stream of a reader.
func (in *input) streaming(r io.Reader) {
	in.sha = sha256.New()
	in.stream = io.TeeReader(io.TeeReader(r, in.sha), (*counter)(&in.size))
}

// counter counts what is written to it.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}

// rested returns an error if a file changed since it was opened.
func (in *input) rested() error {
	if in.file == nil {
		return nil
	}
	after, err := in.file.Stat()
	if err != nil {
		return pathless(err)
	}
	if before := in.before; before.Size() != after.Size() || !before.ModTime().Equal(after.ModTime()) || after.Size() != in.size {
		return errChanging
	}
	return nil
}

// errUnchanged means that a server says that a page is as the collection has it.
var errUnchanged = errors.New("unchanged")

var errChanging = errors.New("it changes while it is read (ingest it again when nothing writes to it)")

// open reads an entry whole, or begins to read it as a stream.
func (g *run) open(ctx context.Context, e *entry) (*input, error) {
	switch {
	case e.from.Reader != nil:
		in := &input{format: g.o.Format, time: e.from.Time, settled: true}
		return in, g.readInto(in, e.from.Reader, e.path)
	case e.root == nil:
		return g.fetch(ctx, e)
	}
	for range 3 {
		in, err := g.openFile(e)
		if err != nil || in.stream != nil {
			return in, err
		}
		err = in.rested()
		in.close()
		if !errors.Is(err, errChanging) {
			return in, err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
	return nil, errChanging
}

// openFile opens a file. If it is not a stream, it is read.
func (g *run) openFile(e *entry) (*input, error) {
	// A pipe in the place of the file must not block.
	f, err := e.root.OpenFile(e.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w (allow reading it, or leave it out with --exclude)", pathless(err))
	}
	if err != nil {
		return nil, pathless(err)
	}
	in := &input{file: f, format: g.o.Format}
	in.before, err = f.Stat()
	switch {
	case err != nil:
		err = pathless(err)
	case !in.before.Mode().IsRegular():
		err = errors.New("not a regular file (leave it out; - reads stdin)")
	default:
		in.time = in.before.ModTime()
		err = g.readInto(in, f, e.path)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

// readInto decides the format by the first bytes, and reads all unless it is a stream.
func (g *run) readInto(in *input, r io.Reader, name string) error {
	head := make([]byte, 1024)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return pathless(err)
	}
	if in.format == "" {
		in.format = parse.FormatOf(name, head)
	}
	if in.format.Streams() {
		in.streaming(io.MultiReader(bytes.NewReader(head), r))
		return nil
	}
	in.data, err = g.readAll(r, head, in.format)
	in.size = int64(len(in.data))
	return err
}

// readAll reads at most what a file of its format may have.
func (g *run) readAll(r io.Reader, head []byte, f parse.Format) ([]byte, error) {
	most := g.o.MaxFile
	if f.Packed() {
		most *= 4
	}
	if size, ok := sizeOf(r); ok {
		if size > most {
			return nil, fmt.Errorf("%w: %d bytes, the limit is %d (--max-file)", parse.ErrTooLarge, size, most)
		}
		head = append(make([]byte, 0, max(size+512, int64(len(head)))), head...)
	}
	for {
		if len(head) == cap(head) {
			head = append(head, 0)[:len(head)]
		}
		n, err := r.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if int64(len(head)) > most {
			return nil, fmt.Errorf("%w: more than %d bytes (--max-file)", parse.ErrTooLarge, most)
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
	if s, ok := r.(interface{ Size() int64 }); ok {
		return s.Size(), true
	}
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
func (g *run) fetch(ctx context.Context, e *entry) (*input, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.id, nil)
	if err != nil {
		return nil, fmt.Errorf("not a valid address: %w", err)
	}
	req.Header.Set("User-Agent", "anchor-host")
	req.Header.Set("Accept", "text/html, text/markdown, text/plain, application/pdf, */*;q=0.5")
	if k, current := g.current(e); current && !k.time.IsZero() {
		req.Header.Set("If-Modified-Since", k.time.UTC().Format(http.TimeFormat))
	}
	res, err := g.o.Client.Do(req)
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err // the line names the address already
	}
	if err != nil {
		return nil, fmt.Errorf("fetch: %w (check the address and the network)", err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotModified && req.Header.Get("If-Modified-Since") != "":
		return nil, errUnchanged
	case res.StatusCode == http.StatusNotFound || res.StatusCode == http.StatusGone:
		return nil, errGone
	case res.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("fetch: the server answers %s (try again later)", res.Status)
	}
	in := &input{format: g.o.Format}
	if _, params, err := mime.ParseMediaType(res.Header.Get("Content-Type")); err == nil {
		in.charset = params["charset"]
	}
	if in.format == "" {
		in.format = parse.FormatOfType(res.Header.Get("Content-Type"))
	}
	if t, err := http.ParseTime(res.Header.Get("Last-Modified")); err == nil {
		in.time = t
		sent, err := http.ParseTime(res.Header.Get("Date"))
		in.settled = err == nil && sent.Sub(t) >= time.Minute // a page may change twice in the second that its time names
	}
	// A page is read whole also if it is a list, so that the server does not wait for the index.
	data, err := g.readAll(res.Body, nil, in.format)
	if err != nil {
		return nil, err
	}
	return in, g.readInto(in, bytes.NewReader(data), req.URL.Path)
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

// pathless removes the path from an error, because the message names the file already.
func pathless(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}
