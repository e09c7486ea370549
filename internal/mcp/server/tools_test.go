package server

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var update = flag.Bool("update", false, "write the arguments of the tools into the READMEs")

// The SDK, which does not see the tools in a server, accepts them: it panics at a wrong schema.
func TestTools(t *testing.T) {
	for _, tool := range tools(Settings{StructuredContent: true}, time.Second) {
		mcp.NewServer(implementation(), nil).AddTool(tool, nil)
	}
}

// The READMEs list the arguments of each tool, and say how many tokens the definitions take:
// o200k_base, an encoding of OpenAI's models, has one for 4.44 bytes of their names, descriptions
// and schemas.
func TestReadme(t *testing.T) {
	for _, file := range []string{"../../../README.md", "../../../README.ja.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		bytes := 0
		for _, tool := range tools(Settings{}, 0) {
			bytes += len(tool.Name + tool.Description + string(tool.InputSchema.(json.RawMessage)))
		}
		tokens := math.Round(float64(bytes)/4.44/10) * 10
		compare.Contains(t, "tokens in "+file, text, fmt.Sprintf(" %.0f ", tokens))

		for _, tool := range tools(Settings{}, time.Second) {
			t.Run(file+" "+tool.Name, func(t *testing.T) {
				schema := string(tool.InputSchema.(json.RawMessage))
				listed := gjson.Get(schema, "properties|@keys").String()
				names := strings.NewReplacer(`"`, "`", ",", ", ").Replace(strings.Trim(listed, "[]"))
				row := regexp.MustCompile(`(?m)^(\| .` + tool.Name + `. \| .* \|).*\|$`)
				want := "${1} " + names + " |"
				if !row.MatchString(text) {
					t.Fatal("there is no row")
				}
				if *update {
					text = row.ReplaceAllString(text, want)
				}
				got := row.FindString(text)
				compare.Equal(t, "row (-update rewrites it)", got, row.ReplaceAllString(got, want))
			})
		}
		if *update {
			err = os.WriteFile(file, []byte(text), 0o644)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
