package llm

import (
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

const (
	// maxBody bounds an answer after gunzip, in bytes: ten times the longest that
	// a model writes. Decoded it takes about as often its size.
	maxBody      = 16 << 20
	maxErrorBody = 1 << 20 // of an answer that is an error: the rest is not worth reading
	maxStream    = 1 << 50 // of a stream: its lines and what is kept of it are bounded instead

	// maxHeaders bounds the headers of an answer in bytes, those of the 1xx
	// answers before it included.
	maxHeaders = 1 << 20
	// maxValues is how many values the JSON of an answer may have: decoded, one
	// takes hundreds of bytes, on the wire two.
	maxValues = 1 << 18
	// maxPieces is how many items and pieces of items an answer may have. They
	// are looked for one behind the other.
	maxPieces = 1 << 14
)

// What is wrong with an answer whatever is in it; the same request would get
// the same again.
var (
	errTooLarge = errors.New("the answer is larger than 16 MiB")
	errTooMany  = errors.New("the answer has too many parts")
	errZip      = errors.New("the answer is not the gzip that it says it is")
)

// bounded is a body that ends with errTooLarge after n bytes.
type bounded struct {
	io.Reader
	body io.Closer
	n    int64
}

// bound wraps the body of resp: gunzipped where the transport left that to us
// (a server that compresses unasked), and never more than n bytes long. One
// that says to be longer is not read at all.
func bound(resp *http.Response, n int64) io.ReadCloser {
	b := &bounded{Reader: resp.Body, body: resp.Body, n: n}
	if !resp.Uncompressed && strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		b.Reader = &gunzip{src: resp.Body}
	}
	if resp.ContentLength > n {
		b.n = 0
	}
	return b
}

func (b *bounded) Read(p []byte) (int, error) {
	// One byte more than allowed is asked for, to tell a body of exactly n
	// bytes from a longer one.
	if int64(len(p)) > b.n+1 {
		p = p[:b.n+1]
	}
	n, err := b.Reader.Read(p)
	if int64(n) > b.n {
		n, err = int(b.n), errTooLarge
	}
	b.n -= int64(n)
	return n, zipError(err)
}

func (b *bounded) Close() error { return b.body.Close() }

// zipError tells data that is no gzip from data that is cut off: the reader in
// net/http is one like ours.
func zipError(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: %w", errZip, err)
	}
	return err
}

// gunzip reads the gzip header at the first Read, so that an answer that has
// begun is not held up by a body that has not.
type gunzip struct {
	src io.Reader
	zr  *gzip.Reader
	err error // of the header; whoever peeks forgets it
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.zr == nil && g.err == nil {
		g.zr, g.err = gzip.NewReader(g.src)
	}
	if g.err != nil {
		return 0, g.err
	}
	return g.zr.Read(p)
}

// readAll is io.ReadAll for a body of at most maxBody bytes.
func readAll(r io.Reader) ([]byte, error) {
	r = &bounded{Reader: r, n: maxBody}
	var data []byte
	for {
		data = room(data, maxBody)
		n, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// room returns b with space behind it to read into. It doubles, but not far
// beyond the limit: bytes that will not come take memory as well, and so does
// the b that it leaves.
func room(b []byte, limit int) []byte {
	const readAtOnce = 16 << 10
	if cap(b)-len(b) >= readAtOnce/2 {
		return b
	}
	size := max(2*cap(b), readAtOnce)
	if size >= limit {
		size = max(limit, len(b)) + readAtOnce // the last time
	}
	return append(make([]byte, 0, size), b...)
}

// crowded reports that JSON has more values than an answer may: each but the
// first one stands behind one of three characters.
func crowded(data []byte) bool { return len(data) > maxValues && values(data) > maxValues }

// values is how many values JSON has, about: keys count with theirs.
func values(data []byte) int {
	n := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[', ',':
			n++
		case '"':
			for i++; i < len(data) && data[i] != '"'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		}
	}
	return n
}
