package server

import (
	"crypto/tls"
	"net"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/llmd-dev/llmd/internal/principal"
	"github.com/llmd-dev/llmd/internal/web"
)

// newCredentials are the gRPC server's: TLS for TCP where there are certificates, the
// kernel's word for Unix sockets.
func newCredentials(c *certificates) credentials.TransportCredentials {
	tcp := insecure.NewCredentials()
	if c != nil {
		tcp = credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS13, GetConfigForClient: c.current})
	}
	return &byNetwork{TransportCredentials: tcp}
}

// byNetwork looks at what a connection came by.
type byNetwork struct {
	credentials.TransportCredentials
}

// ServerHandshake implements credentials.TransportCredentials.
func (b *byNetwork) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if of, ok := conn.(*web.Conn); ok {
		return b.fromWeb(of)
	}
	unix, ok := conn.(*net.UnixConn)
	if !ok {
		return b.TransportCredentials.ServerHandshake(conn)
	}
	return conn, infoOf(unix), nil
}

// fromWeb takes what the web's client showed when it connected.
func (b *byNetwork) fromWeb(conn *web.Conn) (net.Conn, credentials.AuthInfo, error) {
	if info := shown(conn.Client()); info != nil {
		return conn, info, nil
	}
	return insecure.NewCredentials().ServerHandshake(conn)
}

// shown is what a client of the web showed when it connected; nil = nothing.
func shown(client net.Conn) credentials.AuthInfo {
	switch client := client.(type) {
	case *net.UnixConn:
		return infoOf(client)
	case *tls.Conn:
		level := credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
		return credentials.TLSInfo{State: client.ConnectionState(), CommonAuthInfo: level}
	}
	return nil
}

func infoOf(unix *net.UnixConn) socketInfo {
	uid, known := peerUser(unix)
	return socketInfo{
		CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		SocketUser:     principal.SocketUser{UID: uid, Known: known},
	}
}

// Clone implements credentials.TransportCredentials.
func (b *byNetwork) Clone() credentials.TransportCredentials {
	return &byNetwork{b.TransportCredentials.Clone()}
}

// socketInfo is what is known of who opened a Unix socket.
type socketInfo struct {
	credentials.CommonAuthInfo
	principal.SocketUser
}

// AuthType implements credentials.AuthInfo.
func (socketInfo) AuthType() string { return "unix" }
