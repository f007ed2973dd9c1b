package cli

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// typist is the user's end of a terminal.
type typist struct {
	keyboard, program *os.File
	mu                sync.Mutex
	screen            bytes.Buffer
}

// newTerminal opens a terminal. The other end is what a program has as stdin and stderr.
func newTerminal(t *testing.T) (user *typist, program *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	user = &typist{keyboard: master, program: program}
	go func() {
		buf := make([]byte, 1024)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			user.mu.Lock()
			user.screen.Write(buf[:n])
			user.mu.Unlock()
		}
	}()
	t.Cleanup(func() { program.Close(); master.Close() })
	return user, program
}

// shown is all that the screen has shown.
func (u *typist) shown() string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.screen.String()
}

// echoes reports whether the terminal shows what is typed.
func (u *typist) echoes(t *testing.T) bool {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(u.program.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state.Lflag&unix.ECHO != 0
}

// answers waits for a question and for the silence after it, then types.
func (u *typist) answers(t *testing.T, question, answer string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if strings.HasSuffix(u.shown(), question) && !u.echoes(t) {
			fmt.Fprint(u.keyboard, answer)
			return
		}
	}
	t.Fatalf("the screen has no %q: %q", question, u.shown())
}

// A password that is missing is asked for on the terminal, which does not show it.
func TestPasswordsAreAskedFor(t *testing.T) {
	t.Setenv(PasswordVariable, "") // restores it after the test
	os.Unsetenv(PasswordVariable)
	user, program := newTerminal(t)
	a := New(t.Context(), program, &bytes.Buffer{}, program)
	type answer struct {
		text string
		err  error
	}
	ask := func(f func() (string, error)) chan answer {
		done := make(chan answer, 1)
		go func() {
			text, err := f()
			done <- answer{text, err}
		}()
		return done
	}
	var p PasswordFlag
	made := ask(func() (string, error) { return p.ReadNew(a) })
	user.answers(t, "password of the new key, empty for none: ", "correct horse\n")
	user.answers(t, "the password again: ", "correct hors\n")
	if got := <-made; !errors.Is(got.err, config.ErrInvalid) {
		t.Errorf("two passwords: %+v", got)
	}

	// An empty answer is no password. To try a real one takes seconds.
	const file = "../../../../registry/trust/testdata/locked.key"
	k := KeyFlags{Path: file}
	read := ask(func() (string, error) {
		_, err := k.Read(a)
		return "", err
	})
	user.answers(t, "password of the key "+file+": ", "\n")
	if got := <-read; !errors.Is(got.err, trust.ErrPassword) || !strings.Contains(got.err.Error(), "is encrypted") {
		t.Errorf("%+v", got)
	}
	t.Setenv(PasswordVariable, "") // no password, and no question
	if password, err := p.ReadNew(a); password != "" || err != nil {
		t.Errorf("with an empty variable: %q, %v", password, err)
	}
	if strings.Contains(user.shown(), "horse") {
		t.Errorf("the screen shows the password: %q", user.shown())
	}
}

// A wrong password is asked for again, but not for ever.
func TestWrongAnswers(t *testing.T) {
	t.Setenv(PasswordVariable, "")
	os.Unsetenv(PasswordVariable)
	text, err := os.ReadFile("../../../../registry/trust/testdata/locked.key")
	if err != nil {
		t.Fatal(err)
	}
	comment, line, _ := bytes.Cut(text, []byte("\n"))
	raw, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(line)))
	if err != nil {
		t.Fatal(err)
	}
	clear(raw[38:54]) // the work and the memory of an attempt: with these, each password is wrong at once
	file := filepath.Join(t.TempDir(), "a.key")
	if err := os.WriteFile(file, fmt.Appendf(comment, "\n%s\n", base64.StdEncoding.EncodeToString(raw)), 0o600); err != nil {
		t.Fatal(err)
	}
	user, program := newTerminal(t)
	k, a := KeyFlags{Path: file}, New(t.Context(), program, &bytes.Buffer{}, program)
	done := make(chan error, 1)
	go func() {
		_, err := k.Read(a)
		done <- err
	}()
	for n := range passwordTries {
		if n > 0 {
			user.answers(t, fmt.Sprintf("wrong password (attempt %d of %d)\r\npassword of the key %s: ", n, passwordTries, file), "wrong\n")
		} else {
			user.answers(t, "password of the key "+file+": ", "wrong\n")
		}
	}
	if err := <-done; !errors.Is(err, trust.ErrPassword) || strings.Contains(err.Error(), "is encrypted") {
		t.Errorf("error %v", err)
	}
}

// Who interrupts the question gets a terminal that shows what is typed.
func TestInterruptedQuestion(t *testing.T) {
	user, program := newTerminal(t)
	ctx, interrupt := context.WithCancel(t.Context())
	a := New(ctx, program, &bytes.Buffer{}, program)
	done := make(chan error, 1)
	go func() {
		_, err := a.AskPassword("password: ")
		done <- err
	}()
	user.answers(t, "password: ", "hal")
	interrupt()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if !user.echoes(t) {
		t.Error("the terminal is silent")
	}
}

// Without a terminal nobody is asked.
func TestNobodyIsAsked(t *testing.T) {
	_, program := newTerminal(t)
	for name, a := range map[string]*App{
		"no terminal":     New(t.Context(), strings.NewReader("secret\n"), &bytes.Buffer{}, &bytes.Buffer{}),
		"input of a file": New(t.Context(), strings.NewReader("secret\n"), &bytes.Buffer{}, program),
		"log of a file":   New(t.Context(), program, &bytes.Buffer{}, &bytes.Buffer{}),
	} {
		if password, err := a.AskPassword("password: "); password != "" || err != nil {
			t.Errorf("%s: %q, %v", name, password, err)
		}
	}
}
