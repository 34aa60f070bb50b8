package server

import (
	"net/http"
	"strings"

	"google.golang.org/grpc"
	channelzv1 "google.golang.org/grpc/channelz/grpc_channelz_v1"
	channelzservice "google.golang.org/grpc/channelz/service"
	"google.golang.org/protobuf/encoding/protojson"
)

// channelz is gRPC's view of its own connections, see
// https://github.com/grpc/proposal/blob/master/A14-channelz.md.
type channelz struct {
	grpc    *grpc.Server
	service channelzv1.ChannelzServer
}

func newChannelz() *channelz {
	c := &channelz{grpc: grpc.NewServer()}
	channelzservice.RegisterChannelzServiceToServer(c)
	return c
}

// RegisterService implements grpc.ServiceRegistrar: the service is called both by
// gRPC and by the summary.
func (c *channelz) RegisterService(d *grpc.ServiceDesc, impl any) {
	c.grpc.RegisterService(d, impl)
	c.service, _ = impl.(channelzv1.ChannelzServer)
}

// over answers gRPC calls; all other requests are next's.
func (c *channelz) over(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc") {
			c.grpc.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// summary lists the servers of this process with their counts of calls.
func (c *channelz) summary(w http.ResponseWriter, r *http.Request) {
	servers, err := c.service.GetServers(r.Context(), &channelzv1.GetServersRequest{})
	if err != nil {
		plain(w, http.StatusInternalServerError, "channelz does not answer")
		return
	}
	text, err := protojson.MarshalOptions{Multiline: true}.Marshal(servers)
	if err != nil {
		plain(w, http.StatusInternalServerError, "channelz cannot be shown")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}
