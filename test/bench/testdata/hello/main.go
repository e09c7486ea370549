// Hello answers each line on stdin that has an id with a line on stdout: the
// least that a Go program over stdio costs.
package main

import (
	"bufio"
	"fmt"
	"os"
	"regexp"
)

var id = regexp.MustCompile(`"id":(\d+)`)

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if m := id.FindSubmatch(in.Bytes()); m != nil {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"hello","version":"0"}}}`+"\n", m[1])
		}
	}
}
