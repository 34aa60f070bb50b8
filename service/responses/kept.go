package responses

import (
	"time"

	"google.golang.org/protobuf/proto"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
)

// kept is a record as it waits to be asked for: written out. Most are never asked for,
// and the collector passes bytes by, where it would follow every pointer of a message
// at each of its rounds for five minutes.
type kept struct {
	started, terminal []byte
	// message is empty if it is the one of the terminal event.
	message        []byte
	contentOmitted bool
	err            error
	log            *Log
	expires        time.Time
}

// keep writes a record out.
func keep(r *Record) *kept {
	k := &kept{
		started: encode(r.Started), terminal: encode(r.Terminal),
		contentOmitted: r.ContentOmitted, err: r.Err, log: r.Log,
	}
	if m, _ := Final(r.Terminal); m != r.Message {
		k.message = encode(r.Message)
	}
	return k
}

// encode is never nil: an empty message is one too.
func encode(m proto.Message) []byte {
	// Marshalling fails for invalid UTF-8 alone, which the assembler has mended.
	b, _ := proto.Marshal(m)
	return b
}

// record reads it; nil for nil. What it returns is the caller's.
func (k *kept) record() *Record {
	if k == nil {
		return nil
	}
	r := &Record{
		Started: &llmdv1.StreamResponse{}, Terminal: &llmdv1.StreamResponse{},
		ContentOmitted: k.contentOmitted, Err: k.err, Log: k.log, ExpireTime: k.expires,
	}
	decode(k.started, r.Started)
	decode(k.terminal, r.Terminal)
	if k.message == nil {
		r.Message, _ = Final(r.Terminal)
		return r
	}
	r.Message = &llmdv1.AssistantMessage{}
	decode(k.message, r.Message)
	return r
}

// decode reads what encode wrote, which cannot fail.
func decode(b []byte, m proto.Message) { _ = proto.Unmarshal(b, m) }

// size is what counts against MaxBytes.
func (k *kept) size() int {
	return len(k.started) + len(k.terminal) + len(k.message) + k.log.size()
}
