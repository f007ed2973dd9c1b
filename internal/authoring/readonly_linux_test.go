package authoring

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// A build in a folder that cannot be written says where else the module can go.
func TestReadOnlyProject(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	if os.Geteuid() == 0 { // to whom nothing is forbidden
		runtime.LockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Setfsuid(0)
			runtime.UnlockOSThread()
		})
	}
	j := &job{options: BuildOptions{Dir: dir}}
	err := j.write(j.output("p.wasm"), []byte("module"), nil)
	if !errors.Is(err, fs.ErrPermission) || !strings.HasSuffix(err.Error(), "(name a file in another folder with -o)") {
		t.Errorf("got %v", err)
	}
}
