package trust

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// minisignProgram returns the program minisign. Without it the test is skipped, in CI it fails.
func minisignProgram(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("minisign")
	if err != nil {
		const msg = "minisign is not installed, so signatures are NOT TESTED against it (install minisign)"
		if os.Getenv("CI") != "" {
			t.Fatal(msg)
		}
		t.Skip(msg)
	}
	return path
}

// The program accepts our keys and signatures, and we accept its.
func TestMinisignProgram(t *testing.T) {
	program, dir := minisignProgram(t), t.TempDir()
	run := func(args ...string) (string, error) {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	module, k := []byte("module"), generate(t)
	if err := WriteKeys(k, "", filepath.Join(dir, "our.key"), filepath.Join(dir, "our.pub")); err != nil {
		t.Fatal(err)
	}
	sig, err := k.SignFile(module, "m.wasm", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"m.wasm": module, "m.wasm.minisig": sig, "changed.wasm": []byte("Module")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := run("-V", "-p", "our.pub", "-m", "m.wasm"); err != nil || !strings.Contains(out, "file:m.wasm") {
		t.Errorf("our signature: %v: %s", err, out)
	}
	if out, err := run("-V", "-P", k.Public().String(), "-m", "changed.wasm", "-x", "m.wasm.minisig"); err == nil {
		t.Errorf("another file: %s", out)
	}
	if out, err := run("-G", "-W", "-p", "its.pub", "-s", "its.key"); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, key := range []string{"our", "its"} {
		for _, form := range []string{"-H", "-l"} {
			if out, err := run("-S", form, "-s", key+".key", "-m", "m.wasm", "-x", "its.minisig"); err != nil {
				t.Fatalf("%s %s: %v: %s", key, form, err, out)
			}
			signature, err := os.ReadFile(filepath.Join(dir, "its.minisig"))
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, key+".pub"))
			if err != nil {
				t.Fatal(err)
			}
			public, err := ParsePublicKey(string(text))
			if err != nil {
				t.Fatal(err)
			}
			if s, err := VerifyFile([]PublicKey{public}, module, signature); err != nil || s.Key != public.ID {
				t.Errorf("%s %s: %+v, %v", key, form, s, err)
			}
		}
	}
}

// The program decrypts the keys that we encrypt. TestEncryptedKey has the other direction.
func TestMinisignDecrypts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds and 1 GiB of memory")
	}
	program, dir, k := minisignProgram(t), t.TempDir(), generate(t)
	secret, module := filepath.Join(dir, "our.key"), filepath.Join(dir, "m.wasm")
	if err := WriteKeys(k, "secret", secret, filepath.Join(dir, "our.pub")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(module, []byte("module"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-S", "-s", secret, "-m", module)
	cmd.Stdin = strings.NewReader("secret\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	signature, err := os.ReadFile(module + ".minisig")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := VerifyFile([]PublicKey{k.Public()}, []byte("module"), signature); err != nil {
		t.Error(err)
	}
}
