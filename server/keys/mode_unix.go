//go:build unix

package keys

import (
	"fmt"
	"io/fs"
)

// checkMode refuses a file that others can read, or that the group or others can change. The group
// may read it: that is how a container gets a secret.
func checkMode(path string, mode fs.FileMode) error {
	if bad := mode.Perm() & 0o027; bad != 0 {
		return fmt.Errorf("keys: read: %w: %s: mode %04o lets others read or change the keys (chmod 600 %s)", ErrInvalid, path, mode.Perm(), path)
	}
	return nil
}
