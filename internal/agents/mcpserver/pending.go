package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"sync"
	"time"
)

// lastAnswers is how long requests may take that are not answered when the client closes its end. Tests shorten it.
var lastAnswers = 15 * time.Second

// pending knows which requests of a client on pipes wait for an answer. The library drops them when the input ends,
// so the end is kept back until they are answered.
type pending struct {
	mu   sync.Mutex
	open map[any]bool
	// less is told when a request is answered, and closed when the connection ends.
	less, closed chan struct{}
	once         sync.Once
}

func newPending() *pending {
	return &pending{open: map[any]bool{}, less: make(chan struct{}, 1), closed: make(chan struct{})}
}

// wait returns when all is answered, or after a time.
func (p *pending) wait() {
	late := time.NewTimer(lastAnswers)
	defer late.Stop()
	for {
		p.mu.Lock()
		n := len(p.open)
		p.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-p.less:
		case <-p.closed:
			return
		case <-late.C:
			return
		}
	}
}

// message is what is read of a message, of either side.
type message struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params struct {
		RequestID any `json:"requestId"`
	} `json:"params"`
}

// saw notes a line, which has a message or a list of them. What is no message is left to the library.
func (p *pending) saw(line []byte, client bool) {
	var list []message
	if line = bytes.TrimSpace(line); len(line) > 0 && line[0] == '[' {
		_ = json.Unmarshal(line, &list)
	} else {
		list = make([]message, 1)
		_ = json.Unmarshal(line, &list[0])
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range list {
		id, opens := m.ID, client && m.Method != ""
		if m.Method == "notifications/cancelled" {
			id, opens = m.Params.RequestID, false // it may get no answer
		} else if m.Method != "" != client {
			continue // an answer of the client, or a request to it
		}
		switch id.(type) {
		case string, float64:
		default:
			continue
		}
		if opens {
			p.open[id] = true
			continue
		}
		delete(p.open, id)
		select {
		case p.less <- struct{}{}:
		default:
		}
	}
}

// lines cuts what passes at the ends of lines. A line that is too long for a message is left out.
type lines struct{ line []byte }

func (l *lines) feed(data []byte, f func(line []byte)) {
	for len(data) > 0 {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		if len(l.line)+len(part) <= maxMessage {
			l.line = append(l.line, part...)
		}
		if data = rest; !whole {
			return
		}
		f(l.line)
		l.line = l.line[:0]
	}
}

// input is the end of a client from which messages come.
type input struct {
	io.ReadCloser
	p    *pending
	seen lines
}

func (in *input) Read(data []byte) (int, error) {
	n, err := in.ReadCloser.Read(data)
	note := func(line []byte) { in.p.saw(line, true) }
	in.seen.feed(data[:n], note)
	if err != nil {
		in.seen.feed([]byte("\n"), note) // the last line may lack its end
	}
	if err == io.EOF && n == 0 {
		in.p.wait()
	} else if err == io.EOF {
		err = nil // the next read waits
	}
	return n, err
}

func (in *input) Close() error {
	in.p.once.Do(func() { close(in.p.closed) })
	return in.ReadCloser.Close()
}

// output is the end of a client that gets the answers.
type output struct {
	io.WriteCloser
	p    *pending
	seen lines
}

func (out *output) Write(data []byte) (int, error) {
	n, err := out.WriteCloser.Write(data)
	out.seen.feed(data[:n], func(line []byte) { out.p.saw(line, false) })
	return n, err
}
