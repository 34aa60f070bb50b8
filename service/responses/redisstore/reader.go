package redisstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	llmdv1 "github.com/llmd-dev/llmd/gen/llmd/v1"
	"github.com/llmd-dev/llmd/service/responses"
)

// readEntries is how many entries one question gets.
const readEntries = 64

// answer is the entries of one response behind a number, and its state.
type answer struct {
	entries []redis.XMessage
	state   state
}

// state is the hash of a response.
type state struct {
	token, state, info, extra string
	next                      int32
}

// stateOf reads HMGET t s i x n. It is empty if there is no such response.
func stateOf(fields []any) (s state) {
	for i, to := range []*string{&s.token, &s.state, &s.info, &s.extra} {
		if i < len(fields) {
			*to, _ = fields[i].(string)
		}
	}
	if len(fields) == 5 {
		text, _ := fields[4].(string)
		n, _ := strconv.ParseInt(text, 10, 32)
		s.next = int32(n)
	}
	return s
}

func (s *Store) getState(ctx context.Context, p redis.Pipeliner, id string) *redis.SliceCmd {
	return p.HMGet(ctx, s.names.hash(id), "t", "s", "i", "x", "n")
}

// entryFrom is the least id of an entry with events behind a number.
func entryFrom(after int32) string { return strconv.Itoa(int(after)+2) + "-0" }

// checkpointAt is the id of the entry that stands for all events up to a number. It is
// behind that of the event itself.
func checkpointAt(number int32) string { return strconv.Itoa(int(number)+1) + "-1" }

// read asks for the entries of a response from an id on.
func (s *Store) read(ctx context.Context, id, from string) (answer, error) {
	var entries *redis.XMessageSliceCmd
	var fields *redis.SliceCmd
	err := s.reads.ask(ctx, func(ctx context.Context, p redis.Pipeliner) {
		entries = p.XRangeN(ctx, s.names.stream(id), from, "+", readEntries)
		fields = s.getState(ctx, p, id)
	})
	if err == nil {
		err = answered(entries, fields)
	}
	if err != nil {
		return answer{}, err
	}
	return answer{entries: entries.Val(), state: stateOf(fields.Val())}, nil
}

// entry is an entry of a stream, decrypted. checkpoint: it stands for all before.
type entry struct {
	events     []*llmdv1.StreamResponse
	checkpoint bool
}

// openEntry decrypts an entry and leaves out what is not behind a number; of a
// checkpoint everything is kept.
func openEntry(b *box, m *redis.XMessage, after int32) (entry, error) {
	kind, text := "b", ""
	for k, v := range m.Values {
		kind = k
		text, _ = v.(string)
	}
	number, _, _ := strings.Cut(m.ID, "-")
	next, err := strconv.ParseInt(number, 10, 32)
	if err != nil {
		return entry{}, unreadable(errCipher)
	}
	plain, err := b.open(place(kind, int32(next)), text)
	if err != nil {
		return entry{}, unreadable(err)
	}
	e := entry{checkpoint: kind == "c"}
	if e.checkpoint {
		after = -1
	}
	if e.events, err = responses.ReadEvents(plain, after); err != nil {
		return entry{}, unreadable(err)
	}
	return e, nil
}

// errDamaged: a response that has ended lacks its end.
var errDamaged = errors.New("redisstore: the end of a response is not where it should be")

// errForeign: a response was written with a key that is not known here. It is as unknown
// as any other, and nobody needs to wait for it.
var errForeign = fmt.Errorf("%w: its key is not known", responses.ErrNotFound)

// unreadable: what is in Redis is not what was written.
func unreadable(err error) error { return &responses.UnavailableError{Kind: "failed", Err: err} }

// remote is a response as Redis has it.
type remote struct {
	store *Store
	id    string
	box   *box
	state state
	info  info
}

// find reads a response of an owner by its id.
func (s *Store) find(ctx context.Context, owner, responseID string) (*remote, error) {
	r := &remote{store: s, id: digest(owner, responseID)}
	r.box = newBox(s.options.Keys, r.id)
	var fields *redis.SliceCmd
	err := s.reads.ask(ctx, func(ctx context.Context, p redis.Pipeliner) { fields = s.getState(ctx, p, r.id) })
	if err == nil {
		err = answered(fields)
	}
	if err != nil {
		return nil, err
	}
	if r.state = stateOf(fields.Val()); r.state.token == "" {
		return nil, responses.ErrNotFound
	}
	text, err := r.box.open("info", r.state.info)
	if err != nil {
		s.log.Warn("a shared response cannot be read", "response_id", responseID, "error", err)
		return nil, errForeign
	}
	if err := json.Unmarshal(text, &r.info); err != nil || r.info.Owner != owner || r.info.ResponseID != responseID {
		return nil, responses.ErrNotFound
	}
	return r, nil
}

// lookUp finds a response of a key.
func (s *Store) lookUp(ctx context.Context, k responses.Key) (*remote, error) {
	id := k.ResponseID
	if id == "" {
		var value *redis.StringCmd
		err := s.reads.ask(ctx, func(ctx context.Context, p redis.Pipeliner) {
			value = p.Get(ctx, s.names.request(digest(k.Owner, k.RequestID)))
		})
		if err == nil {
			err = answered(value)
		}
		if err != nil {
			return nil, err
		}
		v := value.Val()
		if v == "" || v[0] != 'R' {
			return nil, responses.ErrNotFound
		}
		id, _, _ = strings.Cut(v[1:], "\n")
	}
	return s.find(ctx, k.Owner, id)
}
