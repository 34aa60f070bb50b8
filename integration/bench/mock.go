package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// mock is the provider. It writes to the socket itself, so that a delta is one write
// and one chunk, and nothing waits in a buffer.
type mock struct {
	mu      sync.Mutex
	answers map[string][][]byte // whole answers, by shape and model, cut into writes
	closed  map[int]chan int64  // by the number of an idle scenario: when the client left
}

const (
	sseHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n"
	lastPut = "0\r\n\r\n"
	// headBytes is how much of a request's body is searched for the model.
	headBytes = 4 << 10
)

func runMock(l net.Listener) error {
	m := &mock{answers: map[string][][]byte{}, closed: map[int]chan int64{}}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go m.serve(c)
	}
}

// serve answers the requests of one connection until it ends.
func (m *mock) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReaderSize(c, headBytes)
	for {
		path, head, err := readRequest(in)
		if err != nil {
			return
		}
		if id, ok := strings.CutPrefix(path, closedPath); ok {
			m.tellClosed(c, id)
			continue
		}
		if strings.HasSuffix(path, "/traces") || strings.HasSuffix(path, "/metrics") { // of OpenTelemetry
			if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 0\r\n\r\n"); err != nil {
				return
			}
			continue
		}
		if err := m.answer(c, in, path, head); err != nil {
			return
		}
	}
}

// readRequest reads one request: its path and the beginning of its body.
func readRequest(in *bufio.Reader) (path, head string, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return "", "", err
	}
	f := strings.Fields(line)
	if len(f) < 2 {
		return "", "", errors.New("mock: no request")
	}
	length, chunked := 0, false
	for line != "\r\n" {
		if line, err = in.ReadString('\n'); err != nil {
			return "", "", err
		}
		k, v, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), ":")
		switch k {
		case "content-length":
			length, err = strconv.Atoi(strings.TrimSpace(v))
		case "transfer-encoding":
			chunked = true
		}
		if err != nil {
			return "", "", err
		}
	}
	if chunked {
		head, err = readChunks(in)
	} else {
		head, err = readBody(in, length)
	}
	return f[1], head, err
}

// readBody reads a body of a known length and gives its beginning.
func readBody(in *bufio.Reader, length int) (string, error) {
	head := make([]byte, min(length, headBytes))
	if _, err := io.ReadFull(in, head); err != nil {
		return "", err
	}
	_, err := in.Discard(length - len(head))
	return string(head), err
}

func readChunks(in *bufio.Reader) (head string, err error) {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", err
		}
		n, err := strconv.ParseInt(strings.TrimSpace(line), 16, 32)
		if err != nil {
			return "", err
		}
		piece, err := readBody(in, int(n))
		if err != nil {
			return "", err
		}
		if len(head) < headBytes {
			head += piece
		}
		if _, err := in.Discard(len("\r\n")); err != nil || n == 0 {
			return head, err
		}
	}
}

func modelIn(body string) string {
	_, after, _ := strings.Cut(body, `"model":"`)
	model, _, _ := strings.Cut(after, `"`)
	return model
}

// idIn finds the number in a prompt.
func idIn(text string) int {
	_, after, _ := strings.Cut(text, "#")
	word, _, _ := strings.Cut(after, "#")
	id, _ := strconv.Atoi(word)
	return id
}

// answer writes one answer.
func (m *mock) answer(c net.Conn, in *bufio.Reader, path, head string) error {
	s, err := parseScenario(modelIn(head))
	s.id = idIn(head)
	if err != nil {
		_, err = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		return err
	}
	sh := chat
	if strings.HasSuffix(path, anthropic.path()) {
		sh = anthropic
	}
	if _, err := io.WriteString(c, sseHead); err != nil {
		return err
	}
	switch s.kind {
	case "paced":
		return writePaced(c, sh, s)
	case "idle":
		return m.writeIdle(c, in, sh, s)
	}
	for _, w := range m.writes(sh, s) {
		if _, err := c.Write(w); err != nil {
			return err
		}
	}
	return nil
}

// writes is the answer as it goes out, made once: the mock must not be what is slow.
func (m *mock) writes(sh shape, s scenario) [][]byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := string(sh) + s.model()
	if w := m.answers[key]; w != nil {
		return w
	}
	a := sh.answer(s.kind == "tool")
	out := [][]byte{chunk(a.open)}
	var put strings.Builder
	for i, p := range s.pieces() {
		put.WriteString(a.delta(p))
		if (i+1)%s.perWrite == 0 {
			out = append(out, chunk(put.String()))
			put.Reset()
		}
	}
	out = append(out, append(chunk(put.String()+a.close), lastPut...))
	m.answers[key] = out
	return out
}

func chunk(s string) []byte { return fmt.Appendf(nil, "%x\r\n%s\r\n", len(s), s) }

func writePaced(c net.Conn, sh shape, s scenario) error {
	a := sh.answer(false)
	if _, err := c.Write(chunk(a.open)); err != nil {
		return err
	}
	next := time.Now()
	for range s.n {
		if _, err := c.Write(chunk(a.delta(stamp()))); err != nil {
			return err
		}
		// From the start of the last pause, so that the pace holds.
		next = next.Add(s.pause)
		time.Sleep(time.Until(next))
	}
	_, err := c.Write(append(chunk(a.close), lastPut...))
	return err
}

// writeIdle writes one delta and waits for the other side to leave.
func (m *mock) writeIdle(c net.Conn, in *bufio.Reader, sh shape, s scenario) error {
	a := sh.answer(false)
	left := m.leaving(s.id)
	if _, err := c.Write(chunk(a.open + a.delta(s.pieces()[0]))); err != nil {
		return err
	}
	_, err := in.ReadByte()
	left <- time.Now().UnixNano()
	return errors.Join(errors.New("mock: the other side left"), err)
}

// closedPath asks when the other side left an idle answer; its number follows.
const closedPath = "/closed/"

func (m *mock) leaving(id int) chan int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed[id] == nil {
		m.closed[id] = make(chan int64, 1)
	}
	return m.closed[id]
}

func (m *mock) tellClosed(c net.Conn, word string) {
	id, _ := strconv.Atoi(word)
	at := strconv.FormatInt(<-m.leaving(id), 10)
	_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(at), at)
}
