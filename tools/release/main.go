// Command release builds anchor-host for all supported platforms. It writes one archive for
// each platform, and the file SHA256SUMS, into a folder.
//
//	go -C tools run ./release -o ../build/release
//
// The version is the first one of CHANGELOG.md. Archives of the same commit, made with the same
// Go, are the same byte for byte.
package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// platforms are GOOS/GOARCH of each release.
var platforms = []string{
	"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64",
}

// documents are the other files in each archive.
var documents = []string{"LICENSE", "README.md", "CHANGELOG.md"}

func main() {
	root := flag.String("root", "..", "folder of the repository")
	out := flag.String("o", "../build/release", "folder of the archives")
	only := flag.String("only", strings.Join(platforms, ","), "platforms, separated by commas")
	flag.Parse()
	if err := release(*root, *out, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds the archives of some platforms and their checksums.
func release(root, out string, platforms []string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	var sums strings.Builder
	for _, platform := range platforms {
		name, err := releaseFor(root, out, platform)
		if err != nil {
			return fmt.Errorf("%s: %w", platform, err)
		}
		data, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(data), name)
		fmt.Printf("%s  %.1f MB\n", name, float64(len(data))/1e6)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// releaseFor builds the archive of a platform and returns its name.
func releaseFor(root, out, platform string) (string, error) {
	system, machine, ok := strings.Cut(platform, "/")
	if !ok {
		return "", fmt.Errorf("want GOOS/GOARCH, such as linux/arm64")
	}
	command := "anchor-host"
	if system == "windows" {
		command += ".exe"
	}
	binary, err := filepath.Abs(filepath.Join(out, command))
	if err != nil {
		return "", err
	}
	defer os.Remove(binary)
	if err := build(root, binary, system, machine); err != nil {
		return "", err
	}
	version, err := versionOf(root)
	if err != nil {
		return "", err
	}
	folder := fmt.Sprintf("anchor-host_%s_%s_%s", version, system, machine)
	files, err := contents(root, binary, command)
	if err != nil {
		return "", err
	}
	pack, suffix := packTar, ".tar.gz"
	if system == "windows" {
		pack, suffix = packZip, ".zip"
	}
	var b bytes.Buffer
	if err := pack(&b, folder, files); err != nil {
		return "", err
	}
	return folder + suffix, os.WriteFile(filepath.Join(out, folder+suffix), b.Bytes(), 0o644)
}

// build builds the command for a platform.
func build(root, binary, system, machine string) error {
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w", "-o", binary, "./cmd/anchor-host")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+machine)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w\n%s", err, text)
	}
	return nil
}

// heading is that of a release in CHANGELOG.md.
var heading = regexp.MustCompile(`(?m)^## (\d+\.\d+\.\d+)$`)

// versionOf returns the version of the newest release.
func versionOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", fmt.Errorf("read the version: %w", err)
	}
	m := heading.FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("CHANGELOG.md: no heading such as ## 1.2.3")
	}
	return string(m[1]), nil
}

// file is one file of an archive.
type file struct {
	name string
	mode os.FileMode
	data []byte
}

// contents returns the files of an archive, the command first.
func contents(root, binary, command string) ([]file, error) {
	data, err := os.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	files := []file{{command, 0o755, data}}
	for _, name := range documents {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		files = append(files, file{name, 0o644, data})
	}
	return files, nil
}

// stamp is the time of all files in archives, so that equal files give equal archives.
var stamp = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func packTar(to io.Writer, folder string, files []file) error {
	z := gzip.NewWriter(to)
	t := tar.NewWriter(z)
	for _, f := range files {
		header := &tar.Header{Name: folder + "/" + f.name, Mode: int64(f.mode), Size: int64(len(f.data)), ModTime: stamp, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func packZip(to io.Writer, folder string, files []file) error {
	z := zip.NewWriter(to)
	for _, f := range files {
		header := &zip.FileHeader{Name: folder + "/" + f.name, Method: zip.Deflate, Modified: stamp}
		header.SetMode(f.mode)
		w, err := z.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return z.Close()
}
