package server

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestTask(t *testing.T) {
	inSession(t, func(p *peer) {
		// A task is returned at once.
		const times = `"createdAt":"2000-01-01T00:00:00Z","ttlMs":3900000,"pollIntervalMs":2000`
		began := time.Now()
		created := p.call(withProgress(withTasks), "why")
		id := created.Get("taskId").Str
		p.want(created, `"resultType":"task"`, `"status":"working"`, times)

		if len(id) < 26 {
			p.Errorf("id %q, want 26 characters", id)
		}
		compare.Equal(p, "created after", time.Since(began), 0)

		// While it works, it has the last message about the call.
		time.Sleep(500 * time.Millisecond)
		p.wantTask(id, `"resultType":"complete","taskId":"`+id+`"`, times,
			`"status":"working","statusMessage":"searching: a","lastUpdatedAt":"2000-01-01T00:00:00.5Z"`)
		update := p.task("update", id)
		p.want(update, `"resultType":"complete"`)

		compare.Equal(p, "id in the update", update.Get("taskId").Raw, "")

		// Its result is that of a plain call.
		time.Sleep(time.Minute)
		over := p.wantTask(id, `"status":"completed","lastUpdatedAt":"2000-01-01T00:01:00Z"`, times)
		plain := p.call(withoutTasks, "why")
		p.want(plain, `"resultType":"complete"`)
		want, _ := sjson.Delete(plain.Raw, `_meta.io\.modelcontextprotocol/serverInfo`)

		compare.Equal(p, "result", over.Get("result").Raw, want)

		// It is kept for its time.
		time.Sleep(65*time.Minute - time.Since(began))
		p.wantTask(id, `"status":"completed"`)
		time.Sleep(time.Millisecond)
		p.wantTask(id, `"code":-32602`)
	})
}

// What tasks/get returns for calls that have failed. It is too late to cancel them.
func TestTaskFails(t *testing.T) {
	for _, tt := range []struct {
		query, mode, status, want string
	}{
		{"fail", "", "completed", `"isError":true`},
		{"fail", "protocol", "failed", `"error":{"code":-32001,"message":"answer failed: `},
	} {
		t.Run(tt.query+" "+tt.mode, func(t *testing.T) {
			mode := func(o *Options) { o.Settings.ToolErrors = tt.mode }
			inSession(t, func(p *peer) {
				id := p.start(tt.query)
				synctest.Wait()
				p.want(p.task("cancel", id), `"resultType":"complete"`)

				r := p.wantTask(id, `"status":"`+tt.status+`"`, tt.want)
				compare.Equal(p, "has a result", r.Get("result").Exists(), tt.status == "completed")
				if strings.Contains(r.Raw, secret) {
					p.Errorf("the secret is in %s", r)
				}
			}, mode)
		})
	}
}

// Which calls are no tasks, and which requests about tasks are refused.
func TestNoTask(t *testing.T) {
	metas := map[string]string{
		"tasks":      withTasks,
		"no tasks":   withoutTasks,
		"2025-06-18": initialized,
	}
	for _, tt := range compare.Rows[struct {
		Name, Method, Client, Params, Want string
	}](t, "no-task") {
		t.Run(tt.Name+" "+tt.Method, func(t *testing.T) {
			tasks := func(o *Options) { o.Detach.OffersTasks = tt.Name != "off" }
			inSession(t, func(p *peer) {
				if tt.Client == "2025-06-18" {
					p.initialize()
				}

				r := p.request(tt.Method, metas[tt.Client], tt.Params)
				p.want(r, tt.Want)

				if strings.Contains(r.Raw, `"task"`) {
					p.Errorf("got a task: %s", r)
				}
			}, tasks)
		})
	}
}

// Of more than 1,000 tasks the first that has ended is dropped.
func TestTaskLimit(t *testing.T) {
	inSession(t, func(p *peer) {
		first := p.start("brief")
		time.Sleep(time.Millisecond)
		second := p.start("brief")
		works := p.start("why")
		for range 998 {
			p.start("brief")
		}

		time.Sleep(2 * time.Second)
		p.wantTask(first, `"code":-32602`)
		p.wantTask(second, `"status":"completed"`)
		p.wantTask(works, `"status":"working"`)
	})
}

// Beyond 64 MiB the tasks that ended first are dropped, also if they began later.
func TestTaskBytes(t *testing.T) {
	inSession(t, func(p *peer) {
		ids := []string{p.start("why large")}
		for range 7 {
			ids = append(ids, p.start("brief large"))
			time.Sleep(2 * time.Second)
		}

		time.Sleep(time.Minute)
		ids = append(ids, p.start("brief large"))
		time.Sleep(2 * time.Second)

		for i, id := range ids {
			want := i == 0 || i > 3
			got := p.task("update", id).Get("resultType").Exists()

			compare.Equal(p, fmt.Sprint("task ", i, " is kept"), got, want)
		}
	})
}

// Tasks are named and end side by side. With the race detector this test finds what they share.
func TestTaskRace(t *testing.T) {
	a := &api{}
	inSession(t, func(p *peer) {
		const n = 600
		for range n {
			p.send("tools/call", withTasks, detailedCall("instant"))
		}
		for range n {
			p.want(p.receive(), `"resultType":"task"`)
		}
	}, a.overStdio)
}

// A request about a task that waits for the API ends with its session, as at the end of a drain.
func TestTaskAtShutdown(t *testing.T) {
	a := &api{}
	inSession(t, func(p *peer) {
		params := &taskParams{}
		_ = json.Unmarshal([]byte(`{"_meta":`+withTasks+`,`+byID(p.start("silent"))+`}`), params)
		other, _ := newServer(a.overHTTP)
		session, end := context.WithCancelCause(p.Context())
		time.AfterFunc(time.Second, func() { end(call.ErrShutdown) })

		began := time.Now()
		req := &mcp.ServerRequest[*taskParams]{Session: request("").Session, Params: params}
		res, _ := other.handler(session, call.Person{}, nil)(p.Context(), "tasks/get", req)
		compare.Equal(p, "status", res.(*taskResult).Status, statusWorking)
		compare.Equal(p, "time", time.Since(began), time.Second)
		time.Sleep(10 * time.Second) // the request to the API ends
	}, a.overHTTP)
}
