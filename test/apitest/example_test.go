package apitest_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

// The first request is refused, the second one is answered.
func Example() {
	api, err := apitest.Start("503")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer api.Close()

	for range 2 {
		body := strings.NewReader(`{"model":"gpt-5.2","input":"What does HTTP 404 mean?"}`)
		resp, err := http.Post(api.URL+"/responses", "application/json", body)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Println(resp.Status)
	}

	fmt.Println(len(api.Requests()), "requests")
	// Output:
	// 503 Service Unavailable
	// 200 OK
	// 2 requests
}
