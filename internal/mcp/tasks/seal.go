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

	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

// purpose keeps the key apart from other uses of its secret.
const purpose = "openai-responses-mcp task id"

// maxExcluded bounds the excluded domains in an id, in bytes: models copy it.
const maxExcluded = 1000

// unreserved is a bit of the milliseconds in an id, which they do not need.
const unreserved = 1 << 63

var encoding = base64.RawURLEncoding

// owner returns what a sealed id is bound to: who can open it ("" over stdio and for anonymous
// callers), and the base URL of the API. The URL has no NUL, so no two owners are the same.
func owner(person, baseURL string) []byte {
	return []byte(person + "\x00" + baseURL)
}

// seal returns the id of a response. With a name of OpenAI the id has 145 characters, and more only
// for excluded domains: models copy ids. Only a server with the same secret and the same API can
// read the id.
func seal(o answer.Origin, secret string, by []byte) string {
	begin := uint64(o.Created.UnixMilli())
	if o.Unreserved {
		begin |= unreserved
	}
	plain := binary.BigEndian.AppendUint64(nil, begin)
	words := strings.TrimSuffix(o.Tool+"\x00"+o.Response+"\x00"+o.Excluded, "\x00")
	plain = append(plain, words...)
	sealed := newAEAD(secret).Seal(nil, nil, plain, by)
	return encoding.EncodeToString(sealed)
}

// unseal returns the origin in an id that was sealed with one of the secrets for its owner, and
// false for any other id.
func unseal(id string, secrets []string, by []byte) (o answer.Origin, ok bool) {
	sealed, _ := encoding.DecodeString(id)
	if encoding.EncodeToString(sealed) != id { // the decoder skips line breaks, for example
		return o, false
	}

	for _, secret := range secrets {
		plain, err := newAEAD(secret).Open(nil, nil, sealed, by)
		if err == nil {
			begin := binary.BigEndian.Uint64(plain)
			o.Unreserved = begin&unreserved != 0
			o.Created = time.UnixMilli(int64(begin &^ unreserved)).UTC()
			words := strings.Split(string(plain[8:])+"\x00", "\x00")
			o.Tool = words[0]
			o.Response = words[1]
			o.Excluded = words[2]
			return o, true
		}
	}
	return o, false
}

// newAEAD returns AES-256-GCM with a key derived from secret, and with a random nonce before the
// ciphertext. Errors are about sizes alone, which are fixed.
func newAEAD(secret string) cipher.AEAD {
	key, _ := hkdf.Key(sha256.New, []byte(secret), nil, purpose, 32)
	block, _ := aes.NewCipher(key)
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return aead
}
