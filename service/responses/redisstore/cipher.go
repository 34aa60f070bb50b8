package redisstore

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
)

// Key is an AES-256 key with its name.
type Key struct {
	ID     string
	Secret []byte
}

// box encrypts and decrypts what belongs to one response, or to one request id:
// AES-256-GCM under a key that is derived for it, so that random nonces do not run
// out, with the place in Redis as additional data, so that nothing can be moved.
//
//	version 1 | length of key id | key id | nonce, 12 bytes | ciphertext and tag
type box struct {
	keys  []Key
	name  string
	mu    sync.Mutex
	aeads map[string]cipher.AEAD
}

const boxVersion = 1

var errCipher = errors.New("redisstore: what is stored cannot be decrypted")

func newBox(keys []Key, name string) *box {
	return &box{keys: keys, name: name, aeads: map[string]cipher.AEAD{}}
}

func (b *box) aead(id string) (cipher.AEAD, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a := b.aeads[id]; a != nil {
		return a, nil
	}
	for _, k := range b.keys {
		if k.ID != id {
			continue
		}
		derived, err := hkdf.Key(sha256.New, k.Secret, nil, "llmd shared responses 1 "+b.name, 32)
		if err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			return nil, err
		}
		a, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		b.aeads[id] = a
		return a, nil
	}
	return nil, fmt.Errorf("%w: no key %q is configured", errCipher, id)
}

// seal encrypts a text for a place.
func (b *box) seal(place string, text []byte) ([]byte, error) {
	id := b.keys[0].ID
	a, err := b.aead(id)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, 2+len(id)+a.NonceSize()+len(text)+a.Overhead())
	out = append(append(out, boxVersion, byte(len(id))), id...)
	at := len(out)
	out = out[:at+a.NonceSize()]
	if _, err := rand.Read(out[at:]); err != nil {
		return nil, err
	}
	return a.Seal(out, out[at:], text, []byte(b.name+" "+place)), nil
}

// open decrypts what was sealed for a place.
func (b *box) open(place, sealed string) ([]byte, error) {
	if len(sealed) < 2 || sealed[0] != boxVersion || len(sealed) < 2+int(sealed[1]) {
		return nil, errCipher
	}
	id, rest := sealed[2:2+int(sealed[1])], sealed[2+int(sealed[1]):]
	a, err := b.aead(id)
	if err != nil {
		return nil, err
	}
	if len(rest) < a.NonceSize() {
		return nil, errCipher
	}
	text, err := a.Open(nil, []byte(rest[:a.NonceSize()]), []byte(rest[a.NonceSize():]), []byte(b.name+" "+place))
	if err != nil {
		return nil, errCipher
	}
	return text, nil
}

// digest names what belongs to an owner without saying whose it is.
func digest(owner, id string) string {
	sum := sha256.Sum256([]byte(owner + "\x00" + id))
	return hex.EncodeToString(sum[:16])
}
