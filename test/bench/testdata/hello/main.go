// A Go program that answers each request on stdin with the same line on stdout:
// what any Go program over stdio costs at the least.
package main

import (
	"bufio"
	"os"
	"strings"
)

const answer = `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"hello","version":"0.0.0"}}}` + "\n"

func main() {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		if strings.Contains(line, `"id"`) {
			os.Stdout.WriteString(answer)
		}
	}
}
