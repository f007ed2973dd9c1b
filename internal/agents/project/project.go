// Package project says which project a folder belongs to, whatever its path: memory of a project is found in every
// clone and worktree of it.
//
//	p, err := project.Identify(ctx, ".")
//
// The remote decides before the root commit. A clone brings the history of its author but not the remote, so nobody
// gets the memory of another project by copying its first commit.
package project

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// Project is a folder that an agent works in.
type Project struct {
	// ID is "p-" and 24 hex digits of a digest of the remote, of the root commit or of the path. Never empty.
	ID string `json:"id"`
	// Name is what people call it: the last part of the remote or of the path, at most 100 bytes.
	Name string `json:"name"`
	// Root is the absolute path of the top folder: of the worktree with git, else the folder itself. It never
	// decides the ID of a project that has git.
	Root string `json:"root"`
	// Git is the absolute path of the git folder that the worktrees share. Empty without git.
	Git string `json:"-"`
	// By says what the ID is of: remote, commit or path.
	By string `json:"by"`
}

// What an ID can be of.
const (
	ByRemote = "remote"
	ByCommit = "commit"
	ByPath   = "path"
)

// Identify returns the project of a folder. It looks for .git there and above, and reads a few small files of it. Git
// itself runs only where there is no remote and no log that names the root commit, for at most two seconds. A .git
// that is broken or hostile counts as none. The error is that of a folder that is not there.
func Identify(ctx context.Context, dir string) (Project, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	var info os.FileInfo
	if err == nil {
		info, err = os.Stat(abs)
	}
	if err != nil {
		return Project{}, fmt.Errorf("project %q: %w (name a folder that exists)", dir, err)
	}
	if !info.IsDir() {
		abs = filepath.Dir(abs)
	}
	r, ok := findGit(abs)
	if !ok {
		return made(ByPath, abs, abs, ""), nil
	}
	if remote := r.remote(); remote != "" {
		p := made(ByRemote, remote, r.top, r.common)
		p.Name = name(remote)
		return p, nil
	}
	if commit := r.rootCommit(ctx); commit != "" {
		return made(ByCommit, commit, r.top, r.common), nil
	}
	return made(ByPath, r.top, r.top, r.common), nil
}

func made(by, of, root, git string) Project {
	sum := sha256.Sum256([]byte(by + "\x00" + of))
	return Project{ID: "p-" + hex.EncodeToString(sum[:12]), Name: name(root), Root: root, Git: git, By: by}
}

// name is the last part of a path or a remote, without what would disturb a line of output.
func name(of string) string {
	base := filepath.Base(filepath.ToSlash(of))
	var out []rune
	size := 0
	for _, r := range base {
		if r < ' ' || r == 0x7f || r == '\ufffd' {
			continue
		}
		if size += len(string(r)); size > 100 {
			break
		}
		out = append(out, r)
	}
	if len(out) == 0 || string(out) == "/" || string(out) == "." {
		return "project"
	}
	return string(out)
}
