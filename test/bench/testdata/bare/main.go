// A Go program that answers each call on stdin by the HTTP request that the
// server would make for it, and nothing else: no MCP, no reading of the answer.
// The arguments are the URL of the API and the folder with the bodies to send.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const hello = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bare","version":"0.0.0"}}}` + "\n"

func main() {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	bodies := map[bool][]byte{}
	for stream, name := range map[bool]string{false: "plain.json", true: "stream.json"} {
		body, err := os.ReadFile(filepath.Join(os.Args[2], name))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		bodies[stream] = body
	}
	var calls sync.WaitGroup
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break
		}
		if strings.Contains(line, `"initialize"`) {
			os.Stdout.WriteString(hello)
			continue
		}
		calls.Go(func() {
			var m struct{ ID int }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return
			}
			events, n, err := post(client, bodies[strings.Contains(line, "progressToken")])
			fmt.Printf(`{"jsonrpc":"2.0","id":%d,"result":{"events":%d,"bytes":%d,"error":"%v"}}`+"\n", m.ID, events, n, err)
		})
	}
	calls.Wait()
}

// post sends the body and reads the answer, counting its events.
func post(c *http.Client, body []byte) (events, n int, err error) {
	req, err := http.NewRequest(http.MethodPost, os.Args[1]+"/responses", bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer bench")
	resp, err := c.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	r := bufio.NewReaderSize(resp.Body, 32<<10)
	for {
		line, err := r.ReadSlice('\n')
		n += len(line)
		if bytes.HasPrefix(line, []byte("data: ")) {
			events++
		}
		switch {
		case err == io.EOF:
			return events, n, nil
		case err != nil && err != bufio.ErrBufferFull:
			return events, n, err
		}
	}
}
