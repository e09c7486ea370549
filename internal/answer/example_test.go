package answer_test

import (
	"context"
	"fmt"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

func ExampleAnswerer_Ask() {
	api, err := apitest.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer api.Close()

	a := answer.New(answer.Options{
		Client:   llm.New(llm.Options{BaseURL: api.URL, APIKey: "any"}),
		Profiles: map[string]answer.Profile{"answer": {Model: "gpt-5.2"}},
	})
	question := answer.Question{Query: "What is new today?"}
	ans, err := a.Ask(context.Background(), &llm.Call{Tool: "answer"}, question)
	if err != nil {
		fmt.Println(err)
		return
	}

	fmt.Println(ans.UsedSearch, ans.Citations[0].URL)
	// Output:
	// true https://example.com/docs/web-search
}
