package host

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Unlimited lifts the bounds of a folder, and 0 means the defaults.
func TestFolderBounds(t *testing.T) {
	p := &setup{granted: granted{files: []FileGrant{{Guest: "/a", Mode: ModeRW, Quota: Unlimited, MaxFiles: Unlimited}, {Guest: "/b", Mode: ModeRO}}}}
	p.cfg.Grants.Files = p.granted.files
	got := p.mountGrants()
	if a := got[0]; a.Quota != math.MaxInt64 || a.MaxFiles != math.MaxInt64 || !a.Writable || a.Key != "grants.files[0]" {
		t.Errorf("%+v", a)
	}
	if b := got[1]; b.Quota != DefaultFolderQuota || b.MaxFiles != DefaultFolderFiles || b.Writable {
		t.Errorf("%+v", b)
	}
}

// Each folder that cannot be opened has an error that names its grant.
func TestCheckFolders(t *testing.T) {
	dir := t.TempDir()
	all := Grants{Files: []FileGrant{{Host: dir}, {Host: filepath.Join(dir, "gone")}, {FS: os.DirFS(dir)}}}.CheckFolders()
	if len(all) != 1 || !strings.HasPrefix(all[0].Error(), "grants.files[1].host: ") || !errors.Is(all[0], ErrFolder) {
		t.Errorf("%v", all)
	}
}
