package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/anchor-host/anchor-host/internal/errkind"
	"github.com/anchor-host/anchor-host/registry/internal/kind"
)

// maxAttempts is how often one site is asked for the rest of a blob whose transfer breaks off.
const maxAttempts = 4

// download is one blob on its way into the cache.
type download struct {
	client *Client
	want   ocispec.Descriptor
	report func(done int64)

	part *os.File
	sum  *running
}

// fetch brings a blob into the cache. Only one process at a time fetches a blob; the others wait
// and find it. What is left of a download that broke off is taken up again.
func (c *Client) fetch(ctx context.Context, sites []site, want ocispec.Descriptor, report func(done int64)) error {
	digest := string(want.Digest)
	unlock, err := c.cache.lock(ctx, digest[len("sha256:"):][:2], false)
	if err != nil {
		return err
	}
	defer unlock()
	if c.cache.has(digest, want.Size) {
		if _, err := c.cache.read(digest, want.Size); err == nil {
			return nil
		}
	}
	path := c.cache.partPath(digest)
	part, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return writeError(path, err)
	}
	defer part.Close()
	d := &download{client: c, want: want, report: report, part: part}
	if err := d.from(ctx, sites); err != nil {
		d.discard(err)
		return err
	}
	if err := part.Close(); err != nil {
		d.discard(err)
		return writeError(path, err)
	}
	return c.cache.adopt(path, digest)
}

// discard removes half a download that nothing comes of: one of wrong bytes, and one that keeps
// the disk full. Others are kept to be resumed.
func (d *download) discard(err error) {
	if errors.Is(err, ErrDigest) || full(err) {
		os.Remove(d.part.Name())
	}
}

// from asks one site after the other until the blob is complete.
func (d *download) from(ctx context.Context, sites []site) (err error) {
	if d.sum, err = hashFile(d.part, d.want.Size); err != nil {
		return d.disk(err)
	}
	if err := d.part.Truncate(d.sum.n); err != nil {
		return d.disk(err)
	}
	var failed []error
	for _, s := range sites {
		if err = d.site(ctx, s); err == nil || ctx.Err() != nil || errors.Is(err, errDisk) {
			return err
		}
		failed = append(failed, err)
	}
	return allFailed(failed)
}

// site asks one site, again from where it broke off. If what was there before turns out to be
// wrong, it starts from the beginning once.
func (d *download) site(ctx context.Context, s site) (err error) {
	resumed := d.sum.n > 0
	for range maxAttempts {
		if d.sum.n < d.want.Size {
			if err = d.rest(ctx, s); ctx.Err() != nil {
				return err
			}
		}
		switch {
		case d.sum.n == d.want.Size && err == nil:
			if d.sum.digest() == string(d.want.Digest) {
				return nil
			}
			err = errkind.As(ErrDigest, fmt.Errorf("%s: content does not match %s; nothing was installed. Report it to the registry's operator", s.host, d.want.Digest))
			if again := d.restart(); again != nil {
				return again
			}
			if !resumed {
				return err
			}
			resumed, err = false, nil
		case !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, errTruncated):
			return err
		}
	}
	return err
}

// errTruncated marks a transfer that ended early.
var errTruncated = errors.New("truncated")

// rest requests what is missing of the blob.
func (d *download) rest(ctx context.Context, s site) error {
	header := http.Header{"Accept-Encoding": {"identity"}}
	wanted := []int{http.StatusOK}
	if d.sum.n > 0 {
		header.Set("Range", fmt.Sprintf("bytes=%d-", d.sum.n))
		wanted = append(wanted, http.StatusPartialContent, http.StatusRequestedRangeNotSatisfiable)
	}
	answer, err := d.client.get(ctx, s, "blobs/"+string(d.want.Digest), header, wanted...)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusPartialContent || !d.continues(answer.Header.Get("Content-Range")) {
		if err := d.restart(); err != nil {
			return err
		}
		if answer.StatusCode != http.StatusOK {
			return errkind.As(errTruncated, fmt.Errorf("%s: does not continue a download", s.host))
		}
	}
	left := d.want.Size - d.sum.n
	if answer.ContentLength >= 0 && answer.ContentLength != left {
		return errkind.As(ErrDigest, fmt.Errorf("%s: announces %d bytes of %s, its manifest says %d", s.host, answer.ContentLength, d.want.Digest, left))
	}
	return d.write(s, io.LimitReader(answer.Body, left+1))
}

// continues says whether an answer begins where the download broke off.
func (d *download) continues(contentRange string) bool {
	text, ok := strings.CutPrefix(contentRange, "bytes ")
	first, rest, _ := strings.Cut(text, "-")
	n, err := strconv.ParseInt(first, 10, 64)
	_, total, _ := strings.Cut(rest, "/")
	return ok && err == nil && n == d.sum.n && (total == "*" || total == strconv.FormatInt(d.want.Size, 10))
}

// write appends what comes to the file and to the hash.
func (d *download) write(s site, from io.Reader) error {
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if d.sum.n+int64(n) > d.want.Size {
			return errkind.As(ErrDigest, fmt.Errorf("%s: sends more than the %d bytes of %s that its manifest announces", s.host, d.want.Size, d.want.Digest))
		}
		if _, err := d.part.Write(buffer[:n]); err != nil {
			return d.disk(err)
		}
		_, _ = d.sum.Write(buffer[:n]) // a hash returns no error
		if n > 0 && d.report != nil {
			d.report(d.sum.n)
		}
		switch {
		case err == io.EOF && d.sum.n == d.want.Size:
			return nil
		case err == io.EOF:
			return errkind.As(ErrDigest, errkind.As(errTruncated, fmt.Errorf("%s: ends after %d of the %d bytes of %s", s.host, d.sum.n, d.want.Size, d.want.Digest)))
		case err != nil:
			return brokenOff(fmt.Errorf("%s: breaks off after %d of the %d bytes of %s: %w", s.host, d.sum.n, d.want.Size, d.want.Digest, kind.Safe(err)))
		}
	}
}

// brokenOff is the error of an answer that broke off. It may be asked for again, unless the client
// itself gave up.
func brokenOff(err error) error {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, ErrUnreachable):
		return unreachable(err)
	}
	return errkind.As(errTruncated, unreachable(err))
}

// restart begins again with an empty file.
func (d *download) restart() (err error) {
	if err := d.part.Truncate(0); err != nil {
		return d.disk(err)
	}
	if d.sum, err = hashFile(d.part, 0); err != nil {
		return d.disk(err)
	}
	return nil
}

func (d *download) disk(err error) error { return writeError(d.part.Name(), err) }
