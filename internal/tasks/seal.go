package tasks

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// purpose keeps the key apart from other uses of its secret.
const purpose = "openai-responses-mcp task id"

var encoding = base64.RawURLEncoding

// origin is all there is to know about a response that the API writes for a call. A sealed id holds
// it.
type origin struct {
	Created  time.Time // in milliseconds
	Tool     string    // without NUL
	Response string    // id at the API
}

// owner is who can open a sealed id.
type owner struct {
	person  string // "" over stdio and for anonymous callers
	baseURL string // of the API, without NUL
}

// seal returns the id of a response: for one of OpenAI's it has 145 characters, because models copy
// it. Only a server with the same secret and the same API can read
// it.
func seal(o origin, secret string, by owner) string {
	plain := binary.BigEndian.AppendUint64(nil, uint64(o.Created.UnixMilli()))
	plain = append(plain, o.Tool+"\x00"+o.Response...)
	sealed := newAEAD(secret).Seal(nil, nil, plain, by.data())
	return encoding.EncodeToString(sealed)
}

// open returns the origin in an id that was sealed with one of the secrets for its owner. It returns
// false for any other id.
func open(id string, secrets []string, by owner) (o origin, ok bool) {
	sealed, _ := encoding.DecodeString(id)
	if encoding.EncodeToString(sealed) != id { // the decoder skips line breaks, for example
		return o, false
	}

	for _, secret := range secrets {
		plain, err := newAEAD(secret).Open(nil, nil, sealed, by.data())
		if err == nil {
			o.Created = time.UnixMilli(int64(binary.BigEndian.Uint64(plain))).UTC()
			o.Tool, o.Response, ok = strings.Cut(string(plain[8:]), "\x00")
			return o, ok
		}
	}
	return o, false
}

// data is what the id is bound to. The base URL has no NUL, so no two owners have the same.
func (o owner) data() []byte {
	return []byte(o.person + "\x00" + o.baseURL)
}

// newAEAD returns AES-256-GCM, which puts a random nonce before what it seals, with the key of a
// secret. Sizes are the only errors, and they are fixed.
func newAEAD(secret string) cipher.AEAD {
	key, _ := hkdf.Key(sha256.New, []byte(secret), nil, purpose, 32)
	block, _ := aes.NewCipher(key)
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return aead
}
