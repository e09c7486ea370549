package stdio_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
)

// A line, a line that is not JSON, and a framed message.
func ExampleReader() {
	in := "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n" +
		"{x}\n" +
		"Content-Length: 40\r\n\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}"
	r := stdio.NewReader(strings.NewReader(in))
	for f, err := r.Read(); !errors.Is(err, io.EOF); f, err = r.Read() {
		if err != nil {
			fmt.Println("error:", err)
		} else {
			fmt.Printf("framed %t: %s\n", f.Framed, f.Body)
		}
	}
	// Output:
	// framed false: {"jsonrpc":"2.0","id":1,"method":"ping"}
	// error: not JSON
	// framed true: {"jsonrpc":"2.0","id":2,"method":"ping"}
}
