//go:build unix

package keys

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkMode refuses a file that others can read, or that the group or others can change. The group
// may read it: that is how a container gets a secret.
func checkMode(path string, mode fs.FileMode) error {
	if bad := mode.Perm() & 0o027; bad != 0 {
		return fmt.Errorf("keys: read: %w: %s: mode %04o lets others read or change the keys (chmod 600 %s)", ErrInvalid, path, mode.Perm(), path)
	}
	return nil
}

// likeBefore gives a new file the owner, the group and the mode of the one that it replaces. Only
// an administrator can keep another owner; for others there is none, because they could not read
// the file.
func likeBefore(out *os.File, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return nil // a new file keeps 0600
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && (int(st.Uid) != os.Getuid() || int(st.Gid) != os.Getgid()) {
		if err := out.Chown(int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	return out.Chmod(info.Mode().Perm())
}

// syncFolder makes a renaming survive a power cut, where the file system can.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync() // the file itself is on the disk
		_ = d.Close()
	}
}
