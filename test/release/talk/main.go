// Command talk starts a server as an MCP client does and asks it something.
//
//	talk -version 0.9.0 -- COMMAND ARGUMENTS...
//
// It fails unless the server has that version, lists its three tools and
// answers a call with the model that -model names; with -refused it fails
// unless the call fails with a message that holds that text.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// limit is for the whole conversation.
const limit = 2 * time.Minute

func main() {
	version := flag.String("version", "", "the `version` that the server must have")
	model := flag.String("model", "offline", "the `model` that must have answered")
	refused := flag.String("refused", "", "`text` of the error that a call must end in")
	flag.Parse()
	ctx, stop := context.WithTimeout(context.Background(), limit)
	err := run(ctx, flag.Args(), *version, *model, *refused)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "talk: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, command []string, version, model, refused string) error {
	if len(command) == 0 {
		return errors.New("no command to start")
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	client := mcp.NewClient(&mcp.Implementation{Name: "talk", Version: version}, nil)
	s, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	if got := s.InitializeResult().ServerInfo.Version; got != version {
		return fmt.Errorf("the server has version %q, want %q", got, version)
	}
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	if len(list.Tools) != 3 {
		return fmt.Errorf("the server has %d tools, want 3", len(list.Tools))
	}
	if err := call(ctx, s, model, refused); err != nil {
		return err
	}
	// The end of its input is all that a server needs to end.
	return s.Close()
}

func call(ctx context.Context, s *mcp.ClientSession, model, refused string) error {
	r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "answer", Arguments: map[string]any{"query": "What does HTTP 404 mean?"}})
	if refused != "" {
		if err == nil || !strings.Contains(err.Error(), refused) {
			return fmt.Errorf("the call ended with %v, want an error with %q", err, refused)
		}
		fmt.Println("refused:", err)
		return nil
	}
	if err != nil {
		return err
	}
	if len(r.Content) != 1 {
		return fmt.Errorf("the result has %d parts, want one", len(r.Content))
	}
	text, ok := r.Content[0].(*mcp.TextContent)
	if !ok {
		return fmt.Errorf("the result is no text: %T", r.Content[0])
	}
	var answer struct{ Answer, Model string }
	if err := json.Unmarshal([]byte(text.Text), &answer); err != nil {
		return err
	}
	if answer.Answer == "" || answer.Model != model {
		return fmt.Errorf("model %q said %q, want an answer of %q", answer.Model, answer.Answer, model)
	}
	fmt.Printf("%s: %s\n", answer.Model, answer.Answer)
	return nil
}
