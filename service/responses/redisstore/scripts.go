package redisstore

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Answers of the scripts.
const (
	done   = 0
	gone   = -1 // Redis does not have the response
	fenced = -2 // it is not, or no longer, this process's to write
	hole   = -3 // the events there do not end where the new ones begin, or are gone
)

// scripts check and write in one step. All keys of one response are in one slot of a
// cluster.
type scripts struct{ put, renew, lose, abort, claim, keepID, release *redis.Script }

func newScripts() scripts {
	return scripts{
		// KEYS hash, stream. ARGV token, first number, number behind the last, events,
		// kind (b: batch, c: checkpoint, n: none), state, ttl in ms, info, extra, how many
		// entries stay before a checkpoint.
		// A batch that is there already is done: a reply may get lost. Redis may evict the
		// stream and keep the hash.
		put: redis.NewScript(`
local t, s, n = unpack(redis.call('HMGET', KEYS[1], 't', 's', 'n'))
if not t then
  if ARGV[8] == '' then return {-1, ''} end
  redis.call('HSET', KEYS[1], 't', ARGV[1], 's', 'r', 'n', 0, 'i', ARGV[8])
  n = '0'
elseif t ~= ARGV[1] then
  return {-2, ''}
elseif s ~= 'r' then
  if s == ARGV[6] and n == ARGV[3] then return {0, ''} end
  return {-2, ''}
end
if ARGV[5] ~= 'c' and n ~= '0' and redis.call('EXISTS', KEYS[2]) == 0 then return {-3, ''} end
if ARGV[5] == 'b' and n ~= ARGV[3] then
  if n ~= ARGV[2] then return {-3, ''} end
  redis.call('XADD', KEYS[2], ARGV[3] .. '-0', 'b', ARGV[4])
  redis.call('HSET', KEYS[1], 'n', ARGV[3])
elseif ARGV[5] == 'c' then
  local id = ARGV[3] .. '-1'
  if ARGV[10] == '0' then
    redis.call('DEL', KEYS[2])
  elseif #redis.call('XRANGE', KEYS[2], id, id) == 0 then
    redis.call('XTRIM', KEYS[2], 'MAXLEN', ARGV[10])
  else
    id = ''
  end
  if id ~= '' then redis.call('XADD', KEYS[2], id, 'c', ARGV[4]) end
  redis.call('HSET', KEYS[1], 'n', ARGV[3])
end
if ARGV[6] ~= 'r' then redis.call('HSET', KEYS[1], 's', ARGV[6]) end
if ARGV[9] ~= '' then redis.call('HSET', KEYS[1], 'x', ARGV[9]) end
redis.call('PEXPIRE', KEYS[1], ARGV[7])
redis.call('PEXPIRE', KEYS[2], ARGV[7])
return {0, redis.call('HGET', KEYS[1], 'a') or ''}`),
		// KEYS hash, stream. ARGV token, ttl.
		renew: redis.NewScript(`
local t, s, a, n = unpack(redis.call('HMGET', KEYS[1], 't', 's', 'a', 'n'))
if not t then return {-1, ''} end
if t ~= ARGV[1] or s ~= 'r' then return {-2, ''} end
if n ~= '0' and redis.call('EXISTS', KEYS[2]) == 0 then return {-3, ''} end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return {0, a or ''}`),
		// The end of a response whose owner is gone, once. KEYS hash, stream. ARGV token,
		// next number, number behind the last, events, ttl.
		lose: redis.NewScript(`
local t, s, n = unpack(redis.call('HMGET', KEYS[1], 't', 's', 'n'))
if t ~= ARGV[1] or s ~= 'r' or n ~= ARGV[2] then return 0 end
redis.call('XADD', KEYS[2], ARGV[3] .. '-0', 'b', ARGV[4])
redis.call('HSET', KEYS[1], 's', 'e', 'n', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
redis.call('PEXPIRE', KEYS[2], ARGV[5])
return 1`),
		// A wish to end a response that runs. KEYS hash. ARGV reason.
		abort: redis.NewScript(`
if redis.call('HGET', KEYS[1], 's') == 'r' then redis.call('HSETNX', KEYS[1], 'a', ARGV[1]) end
return 1`),
		// A request id. Its value is R and the response's id, or T and the reason of an
		// early abort. KEYS id. ARGV value, ttl, value that may be replaced.
		claim: redis.NewScript(`
local v = redis.call('GET', KEYS[1])
if v and string.sub(v, 1, 1) == 'R' and v ~= ARGV[3] then return v end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return v or ''`),
		// KEYS id. ARGV value, ttl. It is set again where Redis lost it.
		keepID: redis.NewScript(`
local v = redis.call('GET', KEYS[1])
if v and v ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`),
		// KEYS id. ARGV value.
		release: redis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`),
	}
}

// load puts the scripts where they are run by their digest.
func (s *scripts) load(ctx context.Context, client redis.UniversalClient) error {
	each := func(ctx context.Context, c redis.Scripter) error {
		for _, script := range []*redis.Script{s.put, s.renew, s.lose, s.abort, s.claim, s.keepID, s.release} {
			if err := script.Load(ctx, c).Err(); err != nil {
				return err
			}
		}
		return nil
	}
	if cluster, ok := client.(*redis.ClusterClient); ok {
		return cluster.ForEachMaster(ctx, func(ctx context.Context, c *redis.Client) error { return each(ctx, c) })
	}
	return each(ctx, client)
}

// lacksScripts: Redis was restarted, or another node has the slot now.
func lacksScripts(cmds []redis.Cmder) bool {
	for _, c := range cmds {
		if err := c.Err(); err != nil && strings.HasPrefix(err.Error(), "NOSCRIPT") {
			return true
		}
	}
	return false
}

var errNotAsked = errors.New("redisstore: Redis was not asked")

// outcome reads the answer of put and renew; nil = Redis was not asked.
func outcome(c *redis.Cmd) (code int64, abort string, err error) {
	if c == nil {
		return 0, "", errNotAsked
	}
	answer, err := c.Slice()
	if err != nil {
		return 0, "", err
	}
	if len(answer) == 2 {
		code, _ = answer[0].(int64)
		abort, _ = answer[1].(string)
	}
	return code, abort, nil
}
