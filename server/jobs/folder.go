package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/anchor-host/anchor-host/pipeline/ingest"
	"github.com/anchor-host/anchor-host/pipeline/ingest/parse"
)

// maxFound bounds the files of a folder.
const maxFound = 100_000

// folder is what a tenant may read of the host. No path and no link leads out of it, also if files change meanwhile.
type folder struct {
	root  *os.Root
	files []*lazy
}

// refuse is why a job reads no folder. The name is that of the job, so that the tenant learns nothing of the host.
func refuse(name, why string) error {
	return fmt.Errorf("%w: folder %.200q: %s", ErrInvalid, name, why)
}

// open opens the folder of a tenant.
func (w *Worker) open(tenant string) (*folder, error) {
	switch {
	case w.Folder == "":
		return nil, refuse(tenant, "the configuration names no folder for jobs (server.jobs.folder)")
	case !filepath.IsLocal(tenant) || filepath.Base(tenant) != tenant || tenant == ".":
		return nil, refuse(tenant, "the name of the tenant is not one of a folder")
	}
	root, err := os.OpenRoot(filepath.Join(w.Folder, tenant))
	if err != nil {
		return nil, refuse(tenant, "the tenant has no folder that can be read")
	}
	return &folder{root: root}, nil
}

// close closes what is open.
func (f *folder) close() {
	for _, file := range f.files {
		file.close()
	}
	_ = f.root.Close() // it was only read
}

// find lists the documents of a folder or a file, by their paths below the folder of the tenant. Hidden files, links,
// pictures, archives and programs are left out.
func (f *folder) find(ctx context.Context, name string) (list []ingest.Source, err error) {
	name = path.Clean(filepath.ToSlash(name))
	if !fs.ValidPath(name) {
		return nil, refuse(name, "want a path below the folder of the tenant")
	}
	err = fs.WalkDir(f.root.FS(), name, func(at string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && at == name:
			return refuse(name, "there is no such folder or file below the folder of the tenant")
		case err != nil:
			return nil // it cannot be read, or is gone
		case at != name && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || parse.Media(at):
			return nil
		case len(list) == maxFound:
			return refuse(name, fmt.Sprintf("it has more than %d files", maxFound))
		}
		info, err := d.Info()
		if err != nil {
			return nil //nolint:nilerr // it is gone
		}
		file := &lazy{root: f.root, name: at, size: info.Size()}
		f.files = append(f.files, file)
		list = append(list, ingest.Source{Path: at, Reader: file, Time: info.ModTime()})
		return nil
	})
	return list, err
}

// lazy is a file that is open while it is read.
type lazy struct {
	root *os.Root
	name string
	size int64
	file *os.File
	read bool // to its end
}

// Size returns the size of the file.
func (l *lazy) Size() int64 { return l.size }

func (l *lazy) Read(p []byte) (n int, err error) {
	if l.read {
		return 0, io.EOF
	}
	if l.file == nil {
		if l.file, err = l.root.Open(l.name); err != nil {
			l.file = nil
			return 0, fmt.Errorf("the file cannot be read: %w", fs.ErrNotExist)
		}
	}
	if n, err = l.file.Read(p); errors.Is(err, io.EOF) {
		l.close()
		l.read = true
		return n, io.EOF
	}
	return n, err
}

// close closes the file.
func (l *lazy) close() {
	if l.file != nil {
		_ = l.file.Close() // it was only read
	}
	l.file = nil
}
