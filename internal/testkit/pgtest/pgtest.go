// Package pgtest starts a PostgreSQL server for tests: a private one in a temporary folder, on a unix
// socket, once for each test binary.
package pgtest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/anchor-host/anchor-host/internal/testkit/await"
)

// Required is the environment variable that makes a missing server an error of the test, and no skip.
const Required = "ANCHOR_REQUIRE_POSTGRES"

// Role is the role of [Server.URL]: it owns its database and is no superuser.
const Role = "anchor"

// Options are the settings of a server.
type Options struct {
	// Fsync makes commits durable, which tests of speed need.
	Fsync bool
	// Kept keeps what was committed when the server is killed, in the memory of the system: so the disk,
	// which others may keep busy for minutes, is not waited for.
	Kept bool
	// Settings are added to postgresql.conf, one for each line.
	Settings string
}

// Server is a server that runs.
type Server struct {
	dir, bin string
	opts     Options
	mu       sync.Mutex
	process  *exec.Cmd
}

var (
	once   sync.Once
	shared *Server
	failed error
	number atomic.Int64
)

// Run runs the tests of a binary and ends their server. TestMain calls it.
func Run(m *testing.M) int {
	code := m.Run()
	if shared != nil {
		shared.Close()
	}
	return code
}

// URL returns the URL of an empty schema on the server of this test binary, as [Role]. It starts the
// server if this is the first call, and skips the test where there is none.
func URL(t testing.TB) string {
	t.Helper()
	once.Do(func() { shared, failed = Start(Options{}) })
	if failed != nil {
		missing(t, failed)
	}
	return shared.Fresh(t)
}

// Shared returns the server of this test binary, after [URL].
func Shared() *Server { return shared }

// Skip skips a test that starts a server of its own where there is none.
func Skip(t testing.TB) {
	t.Helper()
	if _, err := folder(); err != nil {
		missing(t, err)
	}
}

func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv(Required) != "" || !errors.Is(err, exec.ErrNotFound) {
		t.Fatal(err)
	}
	t.Skip(err)
}

// folder finds the programs of a server.
func folder() (string, error) {
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(path), nil
		}
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		return "", fmt.Errorf("no PostgreSQL (apt-get install postgresql): %w", exec.ErrNotFound)
	}
	slices.Sort(found)
	return filepath.Dir(found[len(found)-1]), nil
}

// Start makes a database cluster and starts its server. The caller closes it.
func Start(o Options) (*Server, error) {
	bin, err := folder()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "anchor-pg-") // a short path: that of a socket has at most 107 bytes
	if err != nil {
		return nil, err
	}
	s := &Server{dir: dir, bin: bin, opts: o}
	if err := s.init(); err != nil {
		s.Close()
		return nil, fmt.Errorf("start PostgreSQL: %w", err)
	}
	return s, nil
}

func (s *Server) init() error {
	if os.Getuid() == 0 { // the server refuses root
		u, err := user.Lookup("nobody")
		if err != nil {
			return err
		}
		uid, _ := strconv.Atoi(u.Uid) // a number on systems with root
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(s.dir, uid, gid); err != nil {
			return err
		}
	}
	out, err := s.command("initdb", "-D", s.data(), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "-N").CombinedOutput()
	if err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	settings := fmt.Sprintf("unix_socket_directories = '%s'\nlisten_addresses = ''\nmax_connections = 200\n%s\n", s.dir, s.opts.Settings)
	if !s.opts.Fsync {
		settings += "fsync = off\n"
	}
	if !s.opts.Fsync && !s.opts.Kept {
		settings += "full_page_writes = off\nsynchronous_commit = off\n"
	}
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(settings)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := s.Restart(); err != nil {
		return err
	}
	if err := s.admin("postgres", "CREATE ROLE "+Role+" LOGIN PASSWORD 'secret'"); err != nil {
		return err
	}
	return s.admin("postgres", "CREATE DATABASE anchor OWNER "+Role)
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Restart starts the server if it does not run, and waits until it answers.
func (s *Server) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return nil
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the server has its own
	if s.process, err = s.start(log); err != nil {
		return err
	}
	if !await.True(func() bool { return s.admin("postgres", "SELECT 1") == nil }) {
		text, _ := os.ReadFile(log.Name()) // for the message
		return fmt.Errorf("the server does not answer: %s", text)
	}
	return nil
}

func (s *Server) start(log *os.File) (*exec.Cmd, error) {
	c := s.command("postgres", "-D", s.data())
	c.Stdout, c.Stderr = log, log
	return c, c.Start()
}

// Pause stops all processes of the server, and returns what lets them go on.
func (s *Server) Pause() (resume func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return pause(s.process.Process.Pid)
}

// Kill ends the server and all its processes at once, as a crash does.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	killAll(s.process.Process.Pid)
	_ = s.process.Wait() // it was killed
	s.process = nil
}

// Close ends the server and removes its files.
func (s *Server) Close() {
	s.mu.Lock()
	if s.process != nil {
		quit(s.process.Process)
		_ = s.process.Wait() // it was told to end
		s.process = nil
	}
	s.mu.Unlock()
	_ = os.RemoveAll(s.dir) // what stays is in the folder for temporary files
}

// Admin returns the URL of a database as superuser.
func (s *Server) Admin(database string) string { return s.url("postgres", database, "") }

// Env are the variables with which programs of PostgreSQL find the server, as superuser.
func (s *Server) Env() []string {
	return []string{"PGHOST=" + s.dir, "PGUSER=postgres", "PGDATABASE=postgres", "PATH=" + s.bin + string(os.PathListSeparator) + os.Getenv("PATH")}
}

func (s *Server) url(role, database, schema string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	q := url.Values{"host": {s.dir}, "port": {"5432"}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Fresh returns the URL of an empty schema, as [Role].
func (s *Server) Fresh(t testing.TB) string {
	t.Helper()
	schema := fmt.Sprintf("t%d", number.Add(1))
	if err := s.admin("anchor", "CREATE SCHEMA "+schema+" AUTHORIZATION "+Role); err != nil {
		t.Fatal(err)
	}
	return s.url(Role, "anchor", schema)
}

// Exec runs a statement as superuser in the schema of a URL that [Server.Fresh] has returned.
func (s *Server) Exec(t testing.TB, of, statement string) {
	t.Helper()
	u, err := url.Parse(of)
	if err == nil {
		err = s.admin("anchor", "SET search_path = "+u.Query().Get("search_path")+"; "+statement)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// admin runs a statement as superuser.
func (s *Server) admin(database, statement string) error {
	ctx, cancel := context.WithTimeout(context.Background(), await.Patience)
	defer cancel()
	c, err := pgx.Connect(ctx, s.Admin(database))
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, statement)
	return errors.Join(err, c.Close(ctx))
}

// command is a program of the server, as a user that may run it, in a group of its own.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.Dir, c.WaitDelay = s.dir, time.Second
	c.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PG") }), "TZ=UTC")
	isolate(c)
	return c
}
