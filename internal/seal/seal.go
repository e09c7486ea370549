// Package seal makes ids of tasks that run at the API. Such an id holds all there is to know about
// its task, and only a server with the same secret and the same API can read it.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"time"
)

// purpose keeps the key apart from other uses of its secret.
const purpose = "openai-responses-mcp task id"

var encoding = base64.RawURLEncoding

// Task is a response that the API writes for a call.
type Task struct {
	Created  time.Time
	Tool     string
	Response string // id at the API
}

// Owner is who can open the id of a task.
type Owner struct {
	Person  string // "" over stdio and for anonymous callers
	BaseURL string // of the API, without NUL
}

// Seal returns the id of a task.
func Seal(t Task, secret string, owner Owner) string {
	plain, _ := json.Marshal(t) // texts and a time of this century

	sealed := newAEAD(secret).Seal(nil, nil, plain, owner.data())
	return encoding.EncodeToString(sealed)
}

// Open returns the task of an id that was sealed with one of the secrets for owner. It returns
// false for any other id.
func Open(id string, secrets []string, owner Owner) (t Task, ok bool) {
	sealed, _ := encoding.DecodeString(id)
	if encoding.EncodeToString(sealed) != id { // the decoder skips line breaks, for example
		return t, false
	}

	for _, secret := range secrets {
		plain, err := newAEAD(secret).Open(nil, nil, sealed, owner.data())
		if err == nil {
			err = json.Unmarshal(plain, &t)
			return t, err == nil
		}
	}
	return t, false
}

// data is what the id is bound to. The base URL has no NUL, so no two owners have the same.
func (o Owner) data() []byte {
	return []byte(o.Person + "\x00" + o.BaseURL)
}

// newAEAD returns AES-256-GCM, which puts a random nonce before what it seals, with the key of a
// secret. Sizes are the only errors, and they are fixed.
func newAEAD(secret string) cipher.AEAD {
	key, _ := hkdf.Key(sha256.New, []byte(secret), nil, purpose, 32)
	block, _ := aes.NewCipher(key)
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return aead
}
