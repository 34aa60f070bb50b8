package web

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"testing"
	"time"
)

// unauthenticated is what the protocols say of it: gRPC-Web with the number of the code.
var unauthenticated = regexp.MustCompile(`"code":"unauthenticated"|(?i:grpc-status): ?\[?16`)

// TestUnknownCallersAreNotRead: a caller without credentials is refused at once, with no
// byte of a request read that was announced; one that may call is waited for.
func TestUnknownCallersAreNotRead(t *testing.T) {
	l := start(t, "  auth:\n    tokens:\n      - {name: me, sha256: "+fmt.Sprintf("%x", sha256.Sum256([]byte("open")))+"}\n")
	for _, media := range []string{
		"application/json", "application/proto", "application/connect+json", "application/connect+proto", "application/grpc-web+json", "application/grpc-web+proto",
	} {
		for token, known := range map[string]bool{"": false, "wrong": false, "open": true} {
			t.Run(fmt.Sprintf("%s, %v %q", media, known, token), func(t *testing.T) {
				c, err := net.Dial("tcp", l.tcp)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				method := "Stream"
				if media == "application/json" || media == "application/proto" {
					method = "Complete"
				}
				head := "POST /llmd.v1.InferenceService/" + method + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: " + media + "\r\nContent-Length: 1000000\r\n"
				if token != "" {
					head += "Authorization: Bearer " + token + "\r\n"
				}
				if _, err := io.WriteString(c, head+"\r\n"); err != nil {
					t.Fatal(err)
				}
				if known {
					_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
					if _, err := c.Read(make([]byte, 1)); err == nil {
						t.Error("an answer to a request that was not sent")
					}
					return
				}
				_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
				r, err := http.ReadResponse(bufio.NewReader(c), nil)
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = r.Body.Close() }()
				said, _ := io.ReadAll(r.Body)
				text := fmt.Sprint(r.Status, r.Header, string(said))
				if !unauthenticated.MatchString(text) {
					t.Error(text)
				}
			})
		}
	}
}
