package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// Files of systems, as they are below "/".
var (
	v2Mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
	v1Mounts = "30 23 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro\n" +
		"31 30 0:27 / /sys/fs/cgroup/cpu rw,nosuid shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
		"32 30 0:28 / /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory\n"
	v1None = "9223372036854771712\n"
)

func TestMemoryLimit(t *testing.T) {
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"no control groups":   {nil, 0},
		"a limit of its own":  {v2("/app", map[string]string{"/app": "1000\n"}), 1000},
		"no limit":            {v2("/app", map[string]string{"/app": "max\n"}), 0},
		"a limit of zero":     {v2("/app", map[string]string{"/app": "0\n"}), 0},
		"a limit above it":    {v2("/pod/app", map[string]string{"/pod/app": "max\n", "/pod": "500\n"}), 500},
		"the least of two":    {v2("/pod/app", map[string]string{"/pod/app": "300\n", "/pod": "500\n"}), 300},
		"a larger one inside": {v2("/pod/app", map[string]string{"/pod/app": "800\n", "/pod": "500\n"}), 500},
		"a group of another":  {v2("/app", map[string]string{"/other": "10\n", "/application": "20\n"}), 0},
		"a namespace":         {v2("/", map[string]string{"/": "700\n"}), 700},
		"outside of a namespace": {v2("/../../other", map[string]string{
			"/": "700\n"}), 700},
		"not a number":  {v2("/app", map[string]string{"/app": "many\n"}), 0},
		"damaged lists": {map[string]string{"proc/self/cgroup": "0::\n::\n0", "proc/self/mountinfo": "1 - \n - cgroup2 a b\n1 2 3 4 5 6 - cgroup2"}, 0},
		"a folder with a space": {map[string]string{
			"proc/self/cgroup":        "0::/a\n",
			"proc/self/mountinfo":     `30 23 0:26 / /my\040groups rw - cgroup2 c rw` + "\n",
			"my groups/a/memory.max":  "42\n",
			"my\\040groups/a/max.max": "1\n",
		}, 42},
		"version 1": {map[string]string{
			"proc/self/cgroup": "7:cpu,cpuacct:/other\n4:memory:/app\n", "proc/self/mountinfo": v1Mounts,
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "900\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     v1None,
		}, 900},
		"version 1 without a limit": {map[string]string{
			"proc/self/cgroup": "4:memory:/\n", "proc/self/mountinfo": v1Mounts, "sys/fs/cgroup/memory/memory.limit_in_bytes": v1None,
		}, 0},
		"version 1 in a container": {map[string]string{
			"proc/self/cgroup":                           "4:memory:/docker/abc\n",
			"proc/self/mountinfo":                        "32 30 0:28 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "640\n",
		}, 640},
		"both versions": {map[string]string{
			"proc/self/cgroup":                               "4:memory:/app\n0::/app\n",
			"proc/self/mountinfo":                            v1Mounts + "40 30 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup rw\n",
			"sys/fs/cgroup/memory/app/memory.limit_in_bytes": "900\n",
			"sys/fs/cgroup/unified/app/memory.max":           "800\n",
		}, 800},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for file, text := range tc.files {
				at := filepath.Join(root, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if got, ok := limitIn(root); ok != (tc.want > 0) || ok && got != tc.want {
				t.Errorf("limit %d, %v (want %d)", got, ok, tc.want)
			}
		})
	}
}

// v2 are the files of a process in a group of version 2, with the limits of groups.
func v2(group string, limits map[string]string) map[string]string {
	files := map[string]string{"proc/self/cgroup": "0::" + group + "\n", "proc/self/mountinfo": v2Mounts}
	for at, limit := range limits {
		files["sys/fs/cgroup"+at+"/memory.max"] = limit
	}
	return files
}

// The files of this system can be read, whatever they say.
func TestHere(t *testing.T) {
	if n, ok := MemoryLimit(); ok && n <= 0 {
		t.Errorf("limit %d", n)
	}
}
