package fetch

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// offline is a Fetcher that knows some names and fails the test if it connects.
func offline(t *testing.T, allow ...string) *Fetcher {
	t.Helper()
	f, err := New(Options{Allow: allow})
	if err != nil {
		t.Fatal(err)
	}
	f.lookup = func(_ context.Context, host string) ([]netip.Addr, error) {
		var all []netip.Addr
		for s := range strings.FieldsSeq(names[host]) {
			all = append(all, netip.MustParseAddr(s))
		}
		if all == nil {
			return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return all, nil
	}
	f.connect = func(_ context.Context, host string, to netip.AddrPort) (net.Conn, error) {
		t.Errorf("connects to %s (%s)", to, host)
		return nil, errors.New("the network must not be reached")
	}
	return f
}

var names = map[string]string{
	"loopback.example":   "127.0.0.1",
	"localhost":          "127.0.0.1 ::1",
	"private.example":    "10.1.2.3",
	"mixed.example":      "93.184.216.34 192.168.0.1",
	"mixed6.example":     "93.184.216.34 fd00::1",
	"mapped.example":     "::ffff:10.0.0.1",
	"link.example":       "169.254.1.1",
	"aws.example":        "169.254.169.254",
	"azure.example":      "168.63.129.16",
	"xn--lhr-1na.local":  "10.0.0.9",
	"metadata.goog":      "93.184.216.34",
	"public.example":     "93.184.216.34",
	"nat64.example":      "64:ff9b::a00:1",
	"sixtofour.example":  "2002:a00:1::1",
	"multicast.example":  "224.0.0.1",
	"unspecific.example": "0.0.0.0",
}

// hostile URLs, none of which may lead to a connection, with a word of the problem.
var hostile = []struct{ url, problem string }{
	// What is no URL of the web.
	{"", "neither http nor https"},
	{"ftp://public.example/a.png", "neither http nor https"},
	{"file:///etc/passwd", "neither http nor https"},
	{"gopher://127.0.0.1:6379/_FLUSHALL", "neither http nor https"},
	{"dict://127.0.0.1:11211/stats", "neither http nor https"},
	{"ldap://127.0.0.1/", "neither http nor https"},
	{"jar:http://public.example!/", "neither http nor https"},
	{"javascript:alert(1)", "neither http nor https"},
	{"//127.0.0.1/a.png", "neither http nor https"},
	{"/a.png", "neither http nor https"},
	{"a.png", "neither http nor https"},
	{"http:127.0.0.1/", "no host"},
	{"http:///a.png", "no host"},
	{"http://", "no host"},
	{"http://:80/", "no name"},
	{"http://./", "no name"},
	{"http://public..example/", "no name"},
	{"http://public.example../", "no name"},
	{"http://public.example:0/", "port"},
	{"http://public.example:65616/", "port"},
	{"http://public.example:99999999999999999999/", "port"},
	{"http://public.example:8o/", "cannot be read"},
	{"http://" + strings.Repeat("a.", 200) + "example/", "no name"},
	{"http://public.example/" + strings.Repeat("a", maxURL), "longer"},
	// Two readings.
	{"http://public.example@127.0.0.1/", "user name"},
	{"http://public.example:80@127.0.0.1/", "user name"},
	{"http://user:secret@public.example/", "user name"},
	{"http://@127.0.0.1/", "user name"},
	{"http://127.0.0.1\\@public.example/", "backslashes"},
	{"http://public.example\\.loopback.example/", "backslashes"},
	{"http:\\\\127.0.0.1\\", "backslashes"},
	{" http://127.0.0.1/", "spaces"},
	{"http://127.0.0.1 /", "spaces"},
	{"http://127.0.0.1\t/", "control"},
	{"http://public.example\r\nHost: 127.0.0.1/", "control"},
	{"http://public.example\x00.loopback.example/", "control"},
	{"http://%31%32%37.0.0.1/", "cannot be read"},
	{"http://127.0.0.1%2f@public.example/", "user name"},
	{"http://{public.example}/", "cannot be read|no name"},
	{"http://public.example*/", "no name"},
	// Loopback in all spellings.
	{"http://127.0.0.1/", "no public address"},
	{"https://127.0.0.1/", "no public address"},
	{"HTTP://127.0.0.1./", "no public address"},
	{"http://127.255.255.254:8080/", "no public address"},
	{"http://localhost/", "no public address"},
	{"http://LOCALHOST./", "no public address"},
	{"http://loopback.example/", "no public address"},
	{"http://2130706433/", "unusual spelling"},
	{"http://017700000001/", "unusual spelling"},
	{"http://0x7f000001/", "unusual spelling"},
	{"http://0x7f.0.0.1/", "unusual spelling"},
	{"http://0X7F.1/", "unusual spelling"},
	{"http://0177.0.0.1/", "unusual spelling"},
	{"http://127.1/", "unusual spelling"},
	{"http://127.0.1/", "unusual spelling"},
	{"http://127.0.0.01/", "unusual spelling"},
	{"http://127.0.0.0x1/", "unusual spelling"},
	{"http://127.0.0.1.1/", "unusual spelling"},
	{"http://256.0.0.1/", "unusual spelling"},
	{"http://0/", "unusual spelling"},
	{"http://0x/", "unusual spelling"},
	{"http://public.example.0x7f/", "unusual spelling"},
	{"http://0.0.0.0/", "no public address"},
	{"http://unspecific.example/", "no public address"},
	// International names that are something else.
	{"http://１２７.０.０.１/", "no public address"},
	{"http://127。0。0。1/", "no public address"},
	{"http://①②⑦.⓪.⓪.①/", "no public address"},
	{"http://ｌｏｃａｌｈｏｓｔ/", "no public address"},
	{"http://löhr.local/", "no public address"},
	{"http://a\u200eb.example/", "no international name"},
	// Private and special IPv4.
	{"http://10.0.0.1/", "no public address"},
	{"http://172.16.0.1/", "no public address"},
	{"http://172.31.255.255/", "no public address"},
	{"http://192.168.1.1/", "no public address"},
	{"http://100.64.0.1/", "no public address"},
	{"http://100.127.255.254/", "no public address"},
	{"http://169.254.1.1/", "no public address"},
	{"http://192.0.0.1/", "no public address"},
	{"http://192.0.2.1/", "no public address"},
	{"http://198.18.0.1/", "no public address"},
	{"http://198.19.255.1/", "no public address"},
	{"http://198.51.100.1/", "no public address"},
	{"http://203.0.113.1/", "no public address"},
	{"http://192.88.99.1/", "no public address"},
	{"http://224.0.0.1/", "no public address"},
	{"http://239.255.255.250:1900/", "no public address"},
	{"http://240.0.0.1/", "no public address"},
	{"http://255.255.255.255/", "no public address"},
	{"http://private.example/", "no public address"},
	{"http://link.example/", "no public address"},
	{"http://multicast.example/", "no public address"},
	{"http://mixed.example/", "no public address"},
	{"http://mixed6.example/", "no public address"},
	{"http://nowhere.example/", "no public address"},
	// IPv6.
	{"http://[::1]/", "no public address"},
	{"http://[::]/", "no public address"},
	{"http://[0:0:0:0:0:0:0:1]:80/", "no public address"},
	{"http://[::ffff:127.0.0.1]/", "no public address"},
	{"http://[::ffff:7f00:1]/", "no public address"},
	{"http://[::ffff:93.184.216.34]/", "no public address"},
	{"http://[::127.0.0.1]/", "no public address"},
	{"http://[::ffff:0:127.0.0.1]/", "no public address"},
	{"http://mapped.example/", "no public address"},
	{"http://[64:ff9b::127.0.0.1]/", "no public address"},
	{"http://[64:ff9b::5db8:d822]/", "no public address"},
	{"http://[64:ff9b:1::a00:1]/", "no public address"},
	{"http://nat64.example/", "no public address"},
	{"http://[2002:7f00:1::]/", "no public address"},
	{"http://sixtofour.example/", "no public address"},
	{"http://[2001:0:4136:e378:8000:63bf:f5ff:fffe]/", "no public address"},
	{"http://[2a00:1450::5efe:10.0.0.1]/", "no public address"},
	{"http://[2a00:1450::200:5efe:127.0.0.1]/", "no public address"},
	{"http://[fc00::1]/", "no public address"},
	{"http://[fd12:3456:789a::1]/", "no public address"},
	{"http://[fe80::1]/", "no public address"},
	{"http://[fe80::1%25eth0]/", "IPv6 address without a zone"},
	{"http://[2a00:1450::1%25lo]/", "IPv6 address without a zone"},
	{"http://[fec0::1]/", "no public address"},
	{"http://[ff02::1]/", "no public address"},
	{"http://[2001:db8::1]/", "no public address"},
	{"http://[3fff::1]/", "no public address"},
	{"http://[100::1]/", "no public address"},
	{"http://[5f00::1]/", "no public address"},
	{"http://[2001:10::1]/", "no public address"},
	{"http://[2001:20::1]/", "no public address"},
	{"http://[::1/", "cannot be read"},
	{"http://[127.0.0.1]/", "cannot be read|no public address"},
	{"http://[::g]/", "cannot be read|IPv6 address"},
	// Metadata services, by address and by name.
	{"http://169.254.169.254/latest/meta-data/", "metadata service"},
	{"http://169.254.170.2/v2/credentials", "metadata service"},
	{"http://169.254.170.23/v1/credentials", "metadata service"},
	{"http://168.63.129.16/machine", "metadata service"},
	{"http://100.100.100.200/latest/", "metadata service"},
	{"http://192.0.0.192/latest/", "metadata service"},
	{"http://[fd00:ec2::254]/latest/", "metadata service"},
	{"http://[fd20:ce::254]/", "metadata service"},
	{"http://[::ffff:169.254.169.254]/", "metadata service"},
	{"http://[::ffff:a9fe:a9fe]/", "metadata service"},
	{"http://[64:ff9b::a9fe:a9fe]/", "metadata service"},
	{"http://[64:ff9b:1:a9fe:a9:fe00::]/", "metadata service"},
	{"http://[2002:a9fe:a9fe::1]/", "metadata service"},
	{"http://[2a00::5efe:a9fe:a9fe]/", "metadata service"},
	{"http://aws.example/", "metadata service"},
	{"http://azure.example/", "metadata service"},
	{"http://metadata.google.internal/computeMetadata/v1/", "metadata service"},
	{"http://METADATA.google.internal./", "metadata service"},
	{"http://metadata.goog/", "metadata service"},
	// Ports.
	{"http://public.example:22/", "port"},
	{"http://public.example:25/", "port"},
	{"https://93.184.216.34:1023/", "port"},
}

func TestHostileURLs(t *testing.T) {
	f := offline(t)
	for _, tt := range hostile {
		_, _, err := f.Fetch(t.Context(), tt.url)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%q: %v", tt.url, err)
			continue
		}
		fits := false
		for word := range strings.SplitSeq(tt.problem, "|") {
			fits = fits || strings.Contains(e.Problem, word)
		}
		if !fits {
			t.Errorf("%q: %s, want %s", tt.url, e.Problem, tt.problem)
		}
		if len(e.URL) > maxShown || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is shown as %q", tt.url, err)
		}
	}
}

// Names and addresses again, as where a redirect leads.
func TestHostileRedirects(t *testing.T) {
	from, err := parse("http://public.example/dir/")
	if err != nil {
		t.Fatal(err)
	}
	f := offline(t)
	for _, tt := range hostile {
		u, err := next(from, tt.url)
		if err != nil {
			continue
		}
		if u.Host == from.Host {
			continue // a path, or nothing but a path after all
		}
		if _, err := f.get(t.Context(), u); err == nil {
			t.Errorf("a redirect to %q is followed", tt.url)
		}
	}
}

// An allow-list opens what it names and leaves metadata services shut.
func TestAllowList(t *testing.T) {
	private := netip.MustParseAddrPort("10.1.2.3:8080")
	for _, tt := range []struct {
		allow, host, to string
		want            bool
	}{
		{"", "a.example", "10.1.2.3:8080", false},
		{"10.0.0.0/8", "a.example", "10.1.2.3:8080", true},
		{"10.1.2.3/8", "a.example", "10.9.9.9:22", true},
		{"10.0.0.0/8", "a.example", "192.168.0.1:80", false},
		{"10.1.2.3", "a.example", "10.1.2.3:22", true},
		{"10.1.2.3", "a.example", "10.1.2.4:22", false},
		{"a.example", "a.example", "10.1.2.3:22", true},
		{"A.Example.", "a.example", "[fd00::1]:80", true},
		{"a.example", "b.a.example", "10.1.2.3:80", false},
		{"a.example", "a.example", "169.254.169.254:80", false},
		{"a.example", "a.example", "[fd00:ec2::254]:80", false},
		{"0.0.0.0/0", "a.example", "127.0.0.1:80", true},
		{"0.0.0.0/0", "a.example", "168.63.129.16:80", false},
		{"0.0.0.0/0", "a.example", "100.100.100.200:80", false},
		{"0.0.0.0/0", "a.example", "[::1]:80", false},
		{"::/0", "a.example", "[::1]:80", true},
		{"::/0", "a.example", "[::ffff:10.0.0.1]:80", false},
		{"::/0", "a.example", "[64:ff9b::a00:1]:80", false},
		{"::/0", "a.example", "[64:ff9b::a9fe:a9fe]:80", false},
		{"64:ff9b::/96", "a.example", "[64:ff9b::5db8:d822]:443", true},
		{"64:ff9b::/96", "a.example", "[64:ff9b::a00:1]:443", false},
		{"[::1]", "a.example", "[::1]:1", true},
		{"fe80::/10", "a.example", "[fe80::1%eth0]:80", false},
		{"10.0.0.0/8", "a.example", "93.184.216.34:22", false},
		{"a.example", "a.example", "93.184.216.34:22", true},
	} {
		var allow []string
		if tt.allow != "" {
			allow = []string{tt.allow}
		}
		g, err := newGuard(allow)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.check(tt.host, netip.MustParseAddrPort(tt.to)); (err == nil) != tt.want {
			t.Errorf("with %q open, %s at %s: %v", tt.allow, tt.host, tt.to, err)
		}
	}
	for _, bad := range []string{"", "10.0.0.0/33", "a b", "http://a.example", "a.example:80", "*.example", "fe80::1%eth0"} {
		if _, err := New(Options{Allow: []string{bad}}); err == nil {
			t.Errorf("%q was taken for a host or network", bad)
		}
	}
	if g, _ := newGuard(nil); g.check("a", private) == nil {
		t.Error("a private address is open without a list")
	}
}

// The public side of the table: ordinary addresses are let through.
func TestPublicAddresses(t *testing.T) {
	g, err := newGuard(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range []string{
		"93.184.216.34:80", "1.1.1.1:443", "8.8.8.8:8443", "172.32.0.1:80", "172.15.0.1:80", "100.128.0.1:80", "11.0.0.1:65535",
		"[2606:4700:4700::1111]:443", "[2a00:1450:4001:81b::200e]:443", "[2001:4860:4860::8888]:1024",
		"[2a00::5efe:5db8:d822]:443",
	} {
		if err := g.check("a.example", netip.MustParseAddrPort(at)); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// The socket's address is checked even if everything before it was led astray.
func TestSocketIsChecked(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	to := netip.MustParseAddrPort(l.Addr().String())
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if conn, err := f.dialOne(t.Context(), "public.example", to); err == nil {
		_ = conn.Close()
		t.Error("a socket was connected to loopback")
	} else if !errors.Is(err, errNotPublic) {
		t.Error(err)
	}
	if f, err = New(Options{Allow: []string{"127.0.0.0/8"}}); err != nil {
		t.Fatal(err)
	}
	conn, err := f.dialOne(t.Context(), "public.example", to)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

func TestShown(t *testing.T) {
	for _, tt := range []struct{ url, want string }{
		{"https://a.example/b/c.png?sig=secret#frag", "https://a.example/b/c.png"},
		{"https://A.example:8443/b%20c", "https://a.example:8443/b%20c"},
		{"https://me:secret@a.example/x", "https://a.example/x"},
		{"https://a.example/" + strings.Repeat("x", 200), "https://a.example/" + strings.Repeat("x", 99) + "..."},
		{"https://a.example/" + strings.Repeat("ä", 200), "https://a.example/" + strings.Repeat("%C3%A4", 16) + "%C3..."},
	} {
		u, _ := parse(tt.url)
		if got := shown(u); got != tt.want || len(got) > maxShown {
			t.Errorf("%q is shown as %q", tt.url, got)
		}
	}
	if shown((*url.URL)(nil)) == "" {
		t.Error("nothing stands for what is no URL")
	}
}
