package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// database is a PostgreSQL server of this program, with its data in a folder.
type database struct {
	bin, dir string
	port     int
	as       *syscall.Credential // nil: this user
	settings []string
	cmd      *exec.Cmd
	exited   chan struct{}
}

// errNoPostgres says what to install.
var errNoPostgres = errors.New("no PostgreSQL: install it (apt-get install postgresql), or put the folder of initdb and postgres into PATH")

// programs finds the folder of the programs of PostgreSQL.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if path, err := exec.LookPath("postgres"); err == nil {
		found = append(found, path)
	}
	slices.Reverse(found) // that of PATH, and then the newest
	for _, path := range found {
		if path, err := filepath.EvalSymlinks(path); err == nil {
			found := filepath.Dir(path)
			if _, err := os.Stat(filepath.Join(found, "initdb")); err == nil {
				return found, nil
			}
		}
	}
	return "", errNoPostgres
}

// newDatabase makes an empty database cluster in a folder, which must be empty.
func newDatabase(ctx context.Context, dir string) (*database, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	d := &database{bin: bin, dir: dir}
	if os.Geteuid() == 0 { // PostgreSQL refuses to run as root
		if d.as, err = unprivileged(); err != nil {
			return nil, err
		}
		if err := os.Chown(dir, int(d.as.Uid), int(d.as.Gid)); err != nil {
			return nil, err
		}
	}
	if d.port, err = freePort(); err != nil {
		return nil, err
	}
	init := d.command(ctx, "initdb", "-D", filepath.Join(dir, "data"), "-U", "anchor", "-A", "trust", "-E", "UTF8", "--locale", "C", "-N")
	if out, err := init.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return d, nil
}

// unprivileged returns the user postgres or nobody.
func unprivileged() (*syscall.Credential, error) {
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.Atoi(u.Uid)
		gid, err2 := strconv.Atoi(u.Gid)
		if err == nil && err2 == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("no user postgres or nobody: PostgreSQL does not run as root")
}

func (d *database) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(d.bin, name), args...)
	cmd.Dir = d.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: d.as, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// start starts the server and waits until it answers.
func (d *database) start(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(d.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", filepath.Join(d.dir, "data"), "-p", strconv.Itoa(d.port), "-k", d.dir}
	for _, set := range append([]string{
		"listen_addresses=127.0.0.1", "max_connections=100", "shared_buffers=64MB", "min_wal_size=32MB", "max_wal_size=64MB",
		"wal_recycle=off", "synchronous_commit=on", "fsync=on", "log_min_messages=fatal", "tcp_user_timeout=5000",
	}, d.settings...) {
		args = append(args, "-c", set)
	}
	d.cmd = d.command(context.WithoutCancel(ctx), "postgres", args...)
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		return fmt.Errorf("start PostgreSQL: %w", err)
	}
	d.exited = make(chan struct{})
	go func(cmd *exec.Cmd, exited chan struct{}) {
		_ = cmd.Wait() // how it ended is in the log
		close(exited)
	}(d.cmd, d.exited)
	for begin := time.Now(); time.Since(begin) < 30*time.Second; {
		if d.command(ctx, "pg_isready", "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(d.port), "-U", "anchor", "-d", "postgres").Run() == nil {
			return nil
		}
		select {
		case <-d.exited:
			return fmt.Errorf("PostgreSQL ended: %s", d.logged())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return fmt.Errorf("PostgreSQL does not answer: %s", d.logged())
}

// logged is the end of the log.
func (d *database) logged() string {
	text, _ := os.ReadFile(filepath.Join(d.dir, "log")) // without it there is nothing to show
	return string(text[max(0, len(text)-1000):])
}

// processes are the server and its children.
func (d *database) processes() []int {
	pid := d.cmd.Process.Pid
	all := []int{pid}
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid)) // it may have ended
	for _, f := range strings.Fields(string(text)) {
		if n, err := strconv.Atoi(f); err == nil {
			all = append(all, n)
		}
	}
	return all
}

func (d *database) signal(s syscall.Signal) {
	for _, pid := range d.processes() {
		_ = syscall.Kill(pid, s) // it may have ended
	}
}

// kill ends all processes at once, as a lost machine does, and waits for their end.
func (d *database) kill() {
	pids := d.processes()
	d.signal(syscall.SIGKILL)
	<-d.exited
	for _, pid := range pids[1:] { // the next server needs the memory that they share
		for range 500 {
			if syscall.Kill(pid, 0) != nil || zombie(pid) {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}

// zombie reports whether a process has ended and nobody has asked how.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	return err != nil || strings.HasPrefix(rest, "Z")
}

// running reports whether the server runs.
func (d *database) running() bool {
	if d.cmd == nil {
		return false
	}
	select {
	case <-d.exited:
		return false
	default:
		return true
	}
}

// sql runs a statement in the database "postgres", or in the one of the hosts.
func (d *database) sql(ctx context.Context, in, text string) (string, error) {
	cmd := d.command(ctx, "psql", "-h", "127.0.0.1", "-p", strconv.Itoa(d.port), "-U", "anchor", "-d", in, "-AtXqc", text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("psql: %w: %s", err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// freePort returns a port that nobody listens on.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// ballast fills the disk of a folder until nothing more fits.
func ballast(dir string) (remove func(), err error) {
	name := filepath.Join(dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	block := make([]byte, 64<<10)
	for err == nil {
		_, err = f.Write(block)
	}
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, io.ErrShortWrite) {
		return nil, err
	}
	return func() { _ = os.Remove(name) }, nil
}

// sorted returns times from the shortest to the longest.
func sorted(times []time.Duration) []time.Duration {
	times = slices.Clone(times)
	slices.Sort(times)
	return times
}
