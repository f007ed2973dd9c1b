package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/registry"
	"github.com/anchor-host/anchor-host/registry/trust"
)

// PasswordVariable is the variable of the environment that has the password of a secret key.
const PasswordVariable = "ANCHOR_HOST_KEY_PASSWORD"

// maxKeyFile is far more than a key or a password has, in bytes.
const maxKeyFile = 64 << 10

// KeyFlags say which secret key signs.
type KeyFlags struct {
	// Path is the file of the key, "" for none.
	Path string
	// Password is where its password is.
	Password PasswordFlag
}

// Flags adds --key and --password-file.
func (k *KeyFlags) Flags(cmd *cobra.Command, usage string) {
	cmd.Flags().StringVar(&k.Path, "key", "", usage)
	k.Password.Flag(cmd)
}

// passwordTries is how often a password is asked for, as long as the answer is wrong.
const passwordTries = 3

// Read opens and unlocks the key.
func (k *KeyFlags) Read(a *App) (*trust.SecretKey, error) {
	sealed, err := k.Open()
	if err != nil {
		return nil, err
	}
	return sealed.Unlock(a)
}

// SealedKey is a secret key that may still need its password.
type SealedKey struct {
	path, password string
	text           []byte
}

// Open reads the file of the key, and the password if it is in a file or a variable.
func (k *KeyFlags) Open() (*SealedKey, error) {
	text, err := ReadFile(k.Path, maxKeyFile)
	if err != nil {
		return nil, fmt.Errorf("read key: %w (make one with: anchor-host plugin keygen)", err)
	}
	password, _, err := k.Password.Read()
	return &SealedKey{k.Path, password, text}, err
}

// Unlock returns the key. It asks for a password that is missing, and again after a wrong answer. To
// try a password takes seconds, so everything that can fail before should be done before.
func (k *SealedKey) Unlock(a *App) (*trust.SecretKey, error) {
	if k.password != "" || !trust.Encrypted(k.text) {
		return k.parse(a, k.password)
	}
	for n := 1; ; n++ {
		password, err := a.AskPassword(fmt.Sprintf("password of the key %s: ", k.path))
		if err != nil {
			return nil, err
		}
		if password == "" {
			return nil, fmt.Errorf("key %s: is encrypted: %w (give --password-file, or put the password into the variable %s)", k.path, trust.ErrPassword, PasswordVariable)
		}
		key, err := k.parse(a, password)
		if n == passwordTries || !errors.Is(err, trust.ErrPassword) {
			return key, err
		}
		fmt.Fprintf(a.Err, "wrong password (attempt %d of %d)\n", n, passwordTries)
	}
}

// parse tries a password, until it is done or the user interrupts.
func (k *SealedKey) parse(a *App, password string) (*trust.SecretKey, error) {
	key, err := await(a.interrupted, func() (*trust.SecretKey, error) { return trust.ParseSecretKey(k.text, password) })
	if errors.Is(err, trust.ErrPassword) {
		return nil, fmt.Errorf("key %s: %w (give the right one with --password-file or the variable %s)", k.path, err, PasswordVariable)
	}
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", k.path, err)
	}
	return key, nil
}

// PasswordFlag says where the password of a secret key is.
type PasswordFlag struct{ file string }

// Flag adds --password-file.
func (p *PasswordFlag) Flag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.file, "password-file", "", "file with the password of the key in its first line (default: the variable "+PasswordVariable+", or a question on the terminal)")
}

// Read returns the password, "" for none. given is false if there is neither a flag nor a variable.
func (p *PasswordFlag) Read() (password string, given bool, err error) {
	if p.file == "" {
		password, given = os.LookupEnv(PasswordVariable)
		return password, given, nil
	}
	data, err := ReadFile(p.file, maxKeyFile)
	if err != nil {
		return "", true, fmt.Errorf("flag --password-file: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return "", true, fmt.Errorf("flag --password-file: %s: %w: the first line is empty (write the password there)", p.file, config.ErrInvalid)
	}
	return line, true, nil
}

// ReadNew returns the password of a new key, "" for none. If there is neither a flag nor a variable,
// it asks for one, and once more to be sure. A variable that is empty says that there is none.
func (p *PasswordFlag) ReadNew(a *App) (string, error) {
	password, given, err := p.Read()
	if err != nil || given {
		return password, err
	}
	if password, err = a.AskPassword("password of the new key, empty for none: "); err != nil || password == "" {
		return "", err
	}
	again, err := a.AskPassword("the password again: ")
	if err == nil && again != password {
		err = fmt.Errorf("the two passwords differ: %w (run the command again)", config.ErrInvalid)
	}
	return password, err
}

// AskPassword asks for a password on the terminal, which does not show it. It returns "" if stdin or
// stderr is no terminal.
func (a *App) AskPassword(question string) (string, error) {
	in, _ := a.In.(*input)
	if in == nil || !a.Err.Terminal() {
		return "", nil
	}
	f, ok := in.r.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return "", nil
	}
	terminal := int(f.Fd())
	before, err := term.GetState(terminal)
	if err != nil {
		return "", fmt.Errorf("ask for a password: %w", err)
	}
	fmt.Fprint(a.Err, question)
	line, err := await(a.interrupted, func() ([]byte, error) { return term.ReadPassword(terminal) })
	_ = term.Restore(terminal, before) // after an interrupt, the terminal still hides what is typed
	fmt.Fprintln(a.Err)
	return string(line), err
}

// ReadFile reads a regular file of at most limit bytes. The error of a larger one wraps
// registry.ErrTooLarge.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || info.IsDir() {
		return nil, errors.Join(err, fmt.Errorf("%s: is a folder: %w (name a file)", path, config.ErrInvalid))
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: %w: it has more than %d bytes", path, registry.ErrTooLarge, limit)
	}
	return data, nil
}
