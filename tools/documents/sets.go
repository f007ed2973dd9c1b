package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// source is a set of documents that are in packages of registries.
type source struct {
	name, kind string
	target     float64
	packages   []fetch
}

// fetch gets a package into a folder, with the client of its registry.
type fetch func(ctx context.Context, dir string) error

var sources = []source{
	{name: "LaTeX PDF", kind: "pdf", target: 0.995, packages: []fetch{deb("gnuplot-doc", "debian-policy", "libtasn1-doc", "debian-reference-en", "r-cran-lme4", "r-cran-survival", "r-cran-zoo")}},
	{name: "Japanese, Chinese PDF", kind: "pdf", target: 0.995, packages: []fetch{deb("debian-reference-ja", "debian-reference-zh-cn")}},
	{name: "Tika PDF", kind: "pdf", target: 0.985, packages: []fetch{tika}},
	{name: "pypdf, pdfcpu PDF", kind: "pdf", target: 0.985, packages: []fetch{sdist("pypdf", "5.1.0"), module("github.com/pdfcpu/pdfcpu", "v0.8.0")}},
	{name: "Tika DOCX", kind: "docx", target: 0.985, packages: []fetch{tika}},
	{name: "Tika HTML", kind: "html", target: 0.97, packages: []fetch{tika}},
	{name: "SQLite HTML", kind: "html", target: 0.97, packages: []fetch{deb("sqlite3-doc")}},
}

// setsOf returns the sets of the folders, or those that are fetched.
func setsOf(ctx context.Context, f *flags, stderr io.Writer) (out []set, err error) {
	for _, folder := range f.folders {
		s, err := folderSets(folder)
		if err != nil {
			return nil, err
		}
		out = append(out, s...)
	}
	if len(f.folders) > 0 {
		return out, nil
	}
	for _, s := range sources {
		if !f.sets.MatchString(s.name) {
			continue
		}
		files, err := s.files(ctx, f.data, stderr)
		if err != nil && f.gate {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		if err != nil { // another registry may be there
			fmt.Fprintf(stderr, "documents: %s is left out: %v\n", s.name, err)
			continue
		}
		out = append(out, set{name: s.name, kind: s.kind, files: files, target: s.target})
	}
	if len(out) == 0 {
		return nil, errors.New("no set to measure")
	}
	return out, nil
}

// files fetches what is not there yet and returns the documents.
func (s *source) files(ctx context.Context, data string, stderr io.Writer) ([]string, error) {
	dir := filepath.Join(data, strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(s.name)))
	done := filepath.Join(dir, "complete")
	if _, err := os.Stat(done); err != nil {
		fmt.Fprintf(stderr, "documents: fetching %s\n", s.name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for _, get := range s.packages {
			if err := get(ctx, dir); err != nil {
				return nil, err
			}
		}
		if err := os.WriteFile(done, nil, 0o600); err != nil {
			return nil, err
		}
	}
	sets, err := folderSets(dir)
	if i := slices.IndexFunc(sets, func(of set) bool { return of.kind == s.kind }); i >= 0 {
		return sets[i].files, err
	}
	return nil, cmp.Or(err, errors.New("no documents in its packages"))
}

// command runs a program in a folder.
func command(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %.300s", err, exit.Stderr)
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}

// deb fetches packages of Debian, and unpacks them.
func deb(names ...string) fetch {
	return func(ctx context.Context, dir string) error {
		if _, err := command(ctx, dir, "apt-get", append([]string{"download"}, names...)...); err != nil {
			return err
		}
		packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
		if err != nil {
			return err
		}
		for _, p := range packages {
			if _, err := command(ctx, dir, "dpkg", "-x", filepath.Base(p), "."); err != nil {
				return err
			}
		}
		return gunzip(dir)
	}
}

// gunzip unpacks the documents of a folder that are packed one by one.
func gunzip(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		plain, packed := strings.CutSuffix(path, ".gz")
		if err != nil || !packed || kindOf(plain) == "" || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		return write(plain, z)
	})
}

// sdist fetches the source of a package of Python.
func sdist(name, version string) fetch {
	return func(ctx context.Context, dir string) error {
		if _, err := command(ctx, dir, "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", name+"=="+version); err != nil {
			return err
		}
		f, err := os.Open(filepath.Join(dir, name+"-"+version+".tar.gz"))
		if err != nil {
			return err
		}
		defer f.Close()
		z, err := gzip.NewReader(f)
		if err != nil {
			return err
		}
		for t := tar.NewReader(z); ; {
			h, err := t.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if err := keep(dir, h.Name, t); err != nil {
				return err
			}
		}
	}
}

// module fetches a module of Go.
func module(path, version string) fetch {
	return func(ctx context.Context, dir string) error {
		out, err := command(ctx, dir, "go", "mod", "download", "-json", path+"@"+version)
		if err != nil {
			return err
		}
		var m struct{ Zip string }
		if err := json.Unmarshal(out, &m); err != nil {
			return err
		}
		return unzip(dir, m.Zip)
	}
}

// tika fetches the test documents of Apache Tika.
func tika(ctx context.Context, dir string) error {
	const artifact = "org.apache.tika:tika-parsers:1.28.5:jar:tests"
	_, err := command(ctx, dir, "mvn", "-q", "-B", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy", "-Dartifact="+artifact, "-DoutputDirectory=.")
	if err != nil {
		return err
	}
	return unzip(dir, filepath.Join(dir, "tika-parsers-1.28.5-tests.jar"))
}

func unzip(dir, archive string) error {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return err
	}
	defer z.Close()
	for _, f := range z.File {
		if kindOf(f.Name) == "" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			return err
		}
		err = errors.Join(keep(dir, f.Name, r), r.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// keep writes a document of an archive, and nothing else of it.
func keep(dir, name string, from io.Reader) error {
	if kindOf(name) == "" || !filepath.IsLocal(name) {
		return nil
	}
	return write(filepath.Join(dir, name), from)
}

func write(path string, from io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}
