package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// restored shows that a base backup and the archive of the write-ahead log bring a cluster back to any moment. The
// backup is made under load, the machine of the database is lost, and the moment lies between two acknowledged writes.
func restored(ctx context.Context, s *suite) error {
	data, err := s.data()
	if err != nil {
		return err
	}
	archive := filepath.Join(s.dir, "archive")
	s.settings = []string{"archive_mode=on", fmt.Sprintf("archive_command=test ! -f %[1]s/%%f && cp %%p %[1]s/%%f", archive)}
	s.env = []string{"ANCHOR_HOST_SERVER_AUDIT_PATH=audit.jsonl"}
	if err := errors.Join(os.Mkdir(archive, 0o700), ownedByServer(archive)); err != nil {
		return err
	}
	if err := s.up(ctx, 2, data); err != nil {
		return err
	}
	moment, err := s.untilLost(ctx, data)
	if err != nil {
		return err
	}
	if s.database, err = s.recovered(ctx, archive, moment); err != nil {
		return err
	}
	return s.asBefore(ctx, moment)
}

// untilLost lets clients work, makes a backup, and loses the database and the hosts. It returns a moment between.
func (s *suite) untilLost(ctx context.Context, data string) (moment time.Time, err error) {
	load, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.clients.run(load, workers)
	}()
	defer func() {
		stop()
		<-ended
	}()
	length := 4 * time.Second
	if s.short {
		length = 2 * time.Second
	}
	err = errors.Join(s.write(ctx, "early"), pause(ctx, length))
	if err == nil {
		err = s.baseBackup(ctx)
	}
	if err = errors.Join(err, pause(ctx, length), s.write(ctx, "before")); err != nil {
		return moment, err
	}
	moment = time.Now()
	if err = errors.Join(s.write(ctx, "after"), pause(ctx, length)); err != nil {
		return moment, err
	}
	stop()
	<-ended
	if err := s.archived(ctx); err != nil {
		return moment, err
	}
	for _, h := range s.hosts {
		h.kill()
	}
	s.database.kill()
	s.say("The database and its disk are lost. The base backup and the archive are left.")
	return moment, os.RemoveAll(filepath.Join(data, "data"))
}

// write adds a fact, a document and a job that say when.
func (s *suite) write(ctx context.Context, when string) error {
	h := s.hosts[0]
	text := fmt.Sprintf("The %s train leaves at noon.", when)
	path, requests := filepath.Join(h.dir, when+".md"), filepath.Join(h.dir, when+".jsonl")
	err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.WriteFile(requests, fmt.Appendf(nil, "{\"query\": %q}\n", text), 0o644))
	if err != nil {
		return err
	}
	for _, args := range [][]string{
		{"memory", "add", "--tenant", "acme", "--id", when, text},
		{"ingest", "--tenant", "acme", "--collection", "docs", path},
		{"jobs", "submit", "--tenant", "acme", "builds", requests},
		{"rollout", "start", path + ".yaml", "--reason", when},
	} {
		if args[0] == "rollout" { // the configuration of a moment
			if err := os.WriteFile(args[2], []byte(steady+"# "+when+"\n"), 0o644); err != nil {
				return err
			}
			if when == "before" {
				continue // so that one is under way at no time but afterwards
			}
		}
		if _, err := h.anchor(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}

// baseBackup makes and verifies a base backup, as the page says.
func (s *suite) baseBackup(ctx context.Context) error {
	d := s.database
	for _, args := range [][]string{
		{"pg_basebackup", "-h", "127.0.0.1", "-p", fmt.Sprint(d.port), "-U", "anchor", "--pgdata=base", "--wal-method=stream", "--checkpoint=fast"},
		{"pg_verifybackup", "base"},
	} {
		if out, err := d.command(ctx, args[0], args[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", args[0], err, out)
		}
	}
	return nil
}

// archived waits until all of the log that there is has been archived. With archive_timeout the server does that itself.
func (s *suite) archived(ctx context.Context) error {
	last, err := s.database.sql(ctx, "postgres", "SELECT pg_walfile_name(pg_switch_wal())")
	for begin := time.Now(); err == nil; {
		var there string
		if there, err = s.database.sql(ctx, "postgres", "SELECT coalesce(last_archived_wal, '') FROM pg_stat_archiver"); there >= last {
			return err
		}
		if time.Since(begin) > time.Minute {
			return fmt.Errorf("the log %s was not archived, only %q", last, there)
		}
		err = errors.Join(err, pause(ctx, 50*time.Millisecond))
	}
	return err
}

// recovered starts a server on a copy of the base backup, which repeats the log until a moment.
func (s *suite) recovered(ctx context.Context, archive string, moment time.Time) (*database, error) {
	old := s.database
	dir := filepath.Join(s.dir, "recovered")
	if err := errors.Join(os.Mkdir(dir, 0o700), ownedByServer(dir)); err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if out, err := exec.CommandContext(ctx, "cp", "-a", filepath.Join(old.dir, "base"), data).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("copy the base backup: %w: %s", err, out)
	}
	signal := filepath.Join(data, "recovery.signal")
	if err := errors.Join(os.WriteFile(signal, nil, 0o600), ownedByServer(signal)); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	d := &database{bin: old.bin, dir: dir, port: port, as: old.as, settings: []string{
		"restore_command=cp " + archive + "/%f %p",
		"recovery_target_time=" + moment.UTC().Format("2006-01-02 15:04:05.999999+00"),
		"recovery_target_action=promote",
	}}
	begin := time.Now()
	if err := d.start(ctx); err != nil {
		return nil, err
	}
	for {
		in, err := d.sql(ctx, "postgres", "SELECT pg_is_in_recovery()")
		if err == nil && in == "f" {
			s.shown("the server is back", time.Since(begin).Round(10*time.Millisecond).String(), "at the state of %s", moment.UTC().Format("15:04:05.000"))
			return d, nil
		}
		if time.Since(begin) > time.Minute || !d.running() {
			d.kill()
			return nil, fmt.Errorf("recovery does not end: %w: %s", err, d.logged())
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// asBefore starts the hosts on the database that was brought back, and compares it with what clients were told.
func (s *suite) asBefore(ctx context.Context, moment time.Time) error {
	for _, h := range s.hosts {
		h.wire.close()
		if err := h.configure(s.database); err != nil {
			return err
		}
	}
	if _, err := s.hosts[0].anchor(ctx, "store", "check"); err != nil {
		return err
	}
	for _, h := range s.hosts {
		if err := h.start(ctx); err != nil {
			return err
		}
	}
	c := s.clients
	faults, before, logs := c.compare(int64(moment.Sub(c.begin)))
	s.row("writes that are not as they were then", fmt.Sprint(len(faults)), "0", len(faults) == 0 && before > 100,
		"%d were acknowledged before the moment; on %d conversations and runs each number follows on the one before, also of one more entry", before, logs)
	for _, f := range faults[:min(len(faults), maxFaults)] {
		s.say("    %s", f)
	}
	if err := s.found(ctx); err != nil {
		return err
	}
	s.clients = newClients(s.balancer.url(), c.keys, s.seed)
	s.clients.round.Store(1 << 20) // other conversations
	load, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	s.clients.run(load, workers)
	if err := s.judged(ctx); err != nil {
		return err
	}
	return s.audited(ctx)
}

// compare reads all logs and says what is not as it was at a moment, in nanoseconds since the begin of the history.
func (c *clients) compare(moment int64) (faults []string, before, logs int) {
	type name struct{ tenant, log string }
	all := map[name][]operation{}
	for _, o := range c.history {
		n := name{o.tenant, o.log}
		all[n] = append(all[n], o)
	}
	client := &http.Client{Timeout: 15 * time.Second}
	defer client.CloseIdleConnections()
	fault := func(n name, format string, args ...any) {
		faults = append(faults, n.tenant+"/"+n.log+": "+fmt.Sprintf(format, args...))
	}
	for n, list := range all {
		end := operation{tenant: n.tenant, log: n.log, kind: reads}
		if c.do(client, &end); end.outcome != done {
			fault(n, "cannot be read")
			continue
		}
		logs++
		deleted := slices.ContainsFunc(list, func(o operation) bool { return o.kind == deletes && o.outcome != refused && o.call < moment })
		numbers := map[string]int64{}
		for i, e := range end.seen {
			numbers[e.text] = e.number
			if i > 0 && e.number != end.seen[i-1].number+1 || i == 0 && e.number != 1 && !deleted {
				fault(n, "number %d at place %d", e.number, i)
			}
		}
		for _, o := range list {
			number, there := numbers[o.entry.text]
			switch {
			case o.kind != appends:
			case there && o.call > moment:
				fault(n, "%q was written after the moment", o.entry.text)
			case o.outcome != done || o.ret > moment || deleted:
			case !there:
				fault(n, "%q was acknowledged before the moment and is lost", o.entry.text)
			case number != o.entry.number:
				fault(n, "%q was acknowledged as number %d and has %d", o.entry.text, o.entry.number, number)
			default:
				before++
			}
		}
		next := operation{tenant: n.tenant, log: n.log, entry: entry{text: mark(n.tenant) + "next"}}
		c.do(client, &next)
		if last := len(end.seen) - 1; next.outcome != done || last >= 0 && next.entry.number != end.seen[last].number+1 || last < 0 && !deleted && next.entry.number != 1 {
			fault(n, "one more entry has number %d", next.entry.number)
		}
	}
	return faults, before, logs
}

// found checks that searches, jobs and the configuration are those of the moment.
func (s *suite) found(ctx context.Context) error {
	h := s.hosts[0]
	for what, args := range map[string][]string{
		"a search of facts":        {"memory", "search", "--tenant", "acme", "train leaves", "-o", "json"},
		"a search of a collection": {"collections", "search", "--tenant", "acme", "docs", "train leaves", "-o", "json"},
	} {
		out, err := h.anchor(ctx, args...)
		if err != nil {
			return err
		}
		text := string(out)
		ok := strings.Contains(text, "early train") && strings.Contains(text, "before train") && !strings.Contains(text, "after train")
		s.row(what, fmt.Sprint(ok), "true", ok, "finds what was written before the moment, and nothing else")
	}
	out, err := h.anchor(ctx, "jobs", "list", "--tenant", "acme", "-o", "json")
	if err != nil {
		return err
	}
	var list []struct{ State string }
	if err := json.Unmarshal(out, &list); err != nil {
		return err
	}
	if _, err := h.anchor(ctx, "jobs", "run"); err != nil {
		return err
	}
	s.row("jobs", fmt.Sprint(len(list)), "2", len(list) == 2, "those that were submitted before the moment, which are done now")
	d, err := s.status(ctx)
	s.row("what hosts follow", fmt.Sprintf("generation %d", d.Desired.Generation), "generation 1", d.Desired.Generation == 1, "%s", d.Desired.Why)
	return err
}

// audited verifies the audit logs, which go on where they were.
func (s *suite) audited(ctx context.Context) error {
	for _, h := range s.hosts {
		if err := h.stop(); err != nil {
			return err
		}
		files, err := filepath.Glob(filepath.Join(h.dir, "audit.jsonl*"))
		if err != nil {
			return err
		}
		out, err := h.anchor(ctx, append([]string{"audit", "verify", "--key", "audit.jsonl.key.pub"}, files...)...)
		s.row("the audit log of host "+h.name, fmt.Sprint(err == nil), "true", err == nil, "%s %v", strings.Join(strings.Fields(string(out)), " "), err)
	}
	return nil
}

// ownedByServer gives a file or a folder to the user of the server.
func ownedByServer(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	as, err := unprivileged()
	if err != nil {
		return err
	}
	return os.Chown(path, int(as.Uid), int(as.Gid))
}
