package corpus

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

// Defaults of Options.
const (
	DefaultChunkChars   = 1500
	DefaultMaxFileBytes = 64 << 20
)

// minChunkChars is the smallest bound of chunks. Shorter chunks have too little content.
const minChunkChars = 100

// Options say what to read. The zero value reads every file that is not
// hidden.
type Options struct {
	// Include and Exclude are patterns of slash-separated paths relative to the
	// root, in the syntax of path.Match plus ** for any number of folders. A
	// file is read when one of Include matches (none: all) and none of Exclude.
	Include, Exclude []string
	// ChunkChars is the length in bytes at which texts and comments are cut; 0
	// means DefaultChunkChars, less than 100 is taken as 100.
	ChunkChars int
	// FileTimes reads the modification times of the files, which needs one more call to
	// the host for each.
	FileTimes bool
	// MaxFileBytes is the largest file that is read; larger ones are an error.
	// 0 means DefaultMaxFileBytes.
	MaxFileBytes int
}

// Stats counts what was read.
type Stats struct {
	Files, Documents, Bytes int
}

// Read walks fsys in lexical order and calls emit for every document. It fails
// on a pattern that is malformed and on the first file that cannot be read.
func Read(fsys fs.FS, o Options, emit func(Document)) (Stats, error) {
	if o.ChunkChars == 0 {
		o.ChunkChars = DefaultChunkChars
	}
	o.ChunkChars = max(o.ChunkChars, minChunkChars)
	if o.MaxFileBytes == 0 {
		o.MaxFileBytes = DefaultMaxFileBytes
	}
	include, err := compileGlobs(o.Include)
	if err != nil {
		return Stats{}, err
	}
	exclude, err := compileGlobs(o.Exclude)
	if err != nil {
		return Stats{}, err
	}
	r := &reader{fsys: fsys, opts: o, include: include, exclude: exclude, buf: make([]byte, 256<<10)}
	r.emit = func(d Document) {
		r.stats.Documents++
		d.Modified = r.modified
		emit(d)
	}
	if err := r.walk("."); err != nil {
		return r.stats, err
	}
	return r.stats, nil
}

// reader is the state of one walk.
type reader struct {
	fsys             fs.FS
	opts             Options
	include, exclude globs
	emit             func(Document)
	buf              []byte // reused for every file
	modified         time.Time
	stats            Stats
}

func (r *reader) walk(dir string) error {
	entries, err := fs.ReadDir(r.fsys, dir)
	if err != nil {
		return fmt.Errorf("read folder %s: %w", dir, err)
	}
	pkg := newGoPackage(dir, r.opts.ChunkChars, r.emit)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if !r.exclude.matchFolder(name) {
				err = r.walk(name)
			}
		case e.Type().IsRegular() && r.wants(name) && (path.Ext(name) != ".go" || pkg.wants(e.Name())):
			err = r.file(name, pkg)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) wants(name string) bool {
	return (len(r.include) == 0 || r.include.matchFile(name)) && !r.exclude.matchFile(name)
}

func (r *reader) file(name string, pkg *goPackage) error {
	data, err := r.load(name)
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	r.stats.Files++
	r.stats.Bytes += len(data)
	switch path.Ext(name) {
	case ".go":
		pkg.file(name, data)
		return nil
	case ".jsonl":
		return readRecords(name, data, r.emit)
	default:
		readText(name, strings.ToValidUTF8(string(data), "\uFFFD"), r.opts.ChunkChars, r.emit)
		return nil
	}
}

// load reads a file into the buffer that all files share.
func (r *reader) load(name string) ([]byte, error) {
	f, err := r.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if r.opts.FileTimes {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		r.modified = info.ModTime()
	}
	n := 0
	for {
		if n > r.opts.MaxFileBytes {
			return nil, fmt.Errorf("larger than %d bytes (raise max_file_bytes or exclude the file)", r.opts.MaxFileBytes)
		}
		if n == len(r.buf) {
			r.buf = append(r.buf, make([]byte, len(r.buf))...)
		}
		m, err := f.Read(r.buf[n:])
		n += m
		if errors.Is(err, io.EOF) && n <= r.opts.MaxFileBytes {
			return r.buf[:n], nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
}
