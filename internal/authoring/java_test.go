package authoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldJavaIsRefused reads the version from the file release of a JDK, as the program takes long to say it.
func TestOldJavaIsRefused(t *testing.T) {
	for version, want := range map[string]string{
		"17.0.18": "", "21": "", "11.0.2": "is of Java 11.0.2, and plugins need 17 or newer", "1.8.0_412": "is of Java 1.8.0_412", "x": "is of Java x",
	} {
		dir := t.TempDir()
		javac := filepath.Join(dir, "bin", "javac")
		if err := os.Mkdir(filepath.Dir(javac), 0o750); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{javac: "", filepath.Join(dir, "release"): "IMPLEMENTOR=\"a\"\nJAVA_VERSION=\"" + version + "\"\n"} {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := modernJava(javac); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("Java %s: error %v, want %q", version, err, want)
		}
	}
}
