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

// hkdfInfo is the info of HKDF (RFC 5869): with it the derived key differs from keys that other
// uses derive from the same secret.
const hkdfInfo = "openai-responses-mcp task id"

// maxExcluded bounds the excluded domains in an id, in bytes, because models copy ids.
const maxExcluded = 1000

// timeBits is how many bits of the first 8 bytes of an id have the time, in milliseconds. The 16
// bits above have the Reservation of the call.
const timeBits = 48

var encoding = base64.RawURLEncoding

// ownerOf returns what a sealed id is bound to: the ID of the person who can open it ("" over stdio
// and for anonymous callers), and the base URL of the API. The URL has no NUL, so two different
// pairs never have the same owner.
func ownerOf(personID, baseURL string) []byte {
	return []byte(personID + "\x00" + baseURL)
}

// seal returns an id that has a ResponseRef in it, encrypted. For a response of OpenAI the id has
// 131 to 143 characters, and more only with excluded domains: it is short because models copy ids.
// Only unseal with the same secret and the same owner can read it.
func seal(ref answer.ResponseRef, secret string, owner []byte) string {
	began := uint64(ref.CallBegan.UnixMilli())
	plain := binary.BigEndian.AppendUint64(nil, uint64(ref.Reservation)<<timeBits|began)
	fields := strings.TrimSuffix(ref.Tool+"\x00"+ref.ResponseID+"\x00"+ref.Excluded, "\x00")
	plain = append(plain, fields...)
	sealed := newAEAD(secret).Seal(nil, nil, plain, owner)
	return encoding.EncodeToString(sealed)
}

// unseal returns the ResponseRef in an id that was sealed with one of the secrets for its owner,
// and false for any other id.
func unseal(id string, secrets []string, owner []byte) (ref answer.ResponseRef, ok bool) {
	sealed, _ := encoding.DecodeString(id)
	if encoding.EncodeToString(sealed) != id { // the decoder skips line breaks, for example
		return ref, false
	}

	for _, secret := range secrets {
		plain, err := newAEAD(secret).Open(nil, nil, sealed, owner)
		if err == nil {
			first := binary.BigEndian.Uint64(plain)
			ref.Reservation = uint16(first >> timeBits)
			ref.CallBegan = time.UnixMilli(int64(first & (1<<timeBits - 1))).UTC()
			fields := strings.Split(string(plain[8:]), "\x00")
			fields = append(fields, "", "", "") // seal or an old version omits some
			ref.Tool = fields[0]
			ref.ResponseID = fields[1]
			ref.Excluded = fields[2]
			ref.GivenOut = true // a client has the id
			return ref, true
		}
	}
	return ref, false
}

// newAEAD returns AES-256-GCM with a key derived from secret, and with a random nonce before the
// ciphertext. The errors it ignores are only about sizes, which are fixed here.
func newAEAD(secret string) cipher.AEAD {
	key, _ := hkdf.Key(sha256.New, []byte(secret), nil, hkdfInfo, 32)
	block, _ := aes.NewCipher(key)
	aead, _ := cipher.NewGCMWithRandomNonce(block)
	return aead
}
