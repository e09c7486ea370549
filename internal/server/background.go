package server

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/seal"
)

const (
	fetchTime    = 10 * time.Second // to ask the API about a task
	shareTime    = time.Second      // for which all requests about a task share what the API said
	pollAPI      = 5 * time.Second
	statusCancel = "cancelled"
)

// Background is how answer_detailed runs at the API. The id of such a task is sealed and says all
// about it, so that a server that is started later answers for it, too.
type Background struct {
	// Start begins an answer. It returns the id of the response at the API; or no id, and what Ask
	// returns or llm.ErrNoBackground.
	Start func(
		ctx context.Context,
		profile string,
		q answer.Question,
	) (response string, a *answer.Answer, err error)

	// Fetch returns the answer of a response, or an error of package answer that says why there is
	// none. Cancel cancels a response. Neither waits for other calls.
	Fetch func(
		ctx context.Context,
		profile string,
		response string,
		created time.Time,
	) (*answer.Answer, error)
	Cancel func(ctx context.Context, response string) error

	Secrets func() []string // ids are sealed with the first one, and opened with any
	BaseURL string          // of the API
	Keep    time.Duration   // how long the API has an answer after the time limit
}

// job is what this process knows about a task that the API runs. All of it can be lost.
type job struct {
	seal.Task
	release func() // gives back the person's place, if the task was started here

	turn    chan struct{} // holds a value while the API is asked; guards what follows
	state   *task         // what the API said within shareTime, or that there will be no answer
	counted bool          // the end is observed
}

// jobs are the tasks that this process has started or was asked about, until they expire.
type jobs struct {
	mu         sync.Mutex
	byResponse map[string]*job
}

// beginKey is the key of a context's *task, which a call fills in when it becomes a task that the
// API runs.
type beginKey struct{}

// hasBegun reports whether the call of ctx has become a task that the API runs.
func hasBegun(ctx context.Context) bool {
	begun, ok := ctx.Value(beginKey{}).(*task)
	return ok && begun.ID != ""
}

// begin starts a call at the API. If the API runs it then, it fills in begun; otherwise it returns
// what Start does. The task keeps the place of its call until its end is seen here, or until its
// time limit passes.
func (s *Server) begin(
	ctx context.Context,
	begun *task,
	call Call,
	q answer.Question,
	created time.Time,
	release func(),
) (*answer.Answer, error) {
	response, a, err := s.options.Background.Start(ctx, call.Tool, q)
	if response == "" {
		return a, err
	}

	release = sync.OnceFunc(release)
	if s.options.Timeout > 0 {
		time.AfterFunc(time.Until(created.Add(s.options.Timeout)), release)
	}
	sealed := seal.Task{
		Created:  created,
		Tool:     call.Tool,
		Response: response,
	}
	s.job(sealed).release = release

	*begun = s.working(sealed, s.seal(sealed, call.UserID))
	begun.Type = "task"
	return nil, nil
}

// seal returns the id of a task of a person.
func (s *Server) seal(t seal.Task, person string) string {
	b := s.options.Background
	return seal.Seal(t, b.Secrets()[0], seal.Owner{Person: person, BaseURL: b.BaseURL})
}

// open returns the task of a person with a sealed id, or nil if there is none or its time is over.
func (s *Server) open(id, person string) *job {
	b := s.options.Background
	if b == nil {
		return nil
	}

	owner := seal.Owner{Person: person, BaseURL: b.BaseURL}
	t, ok := seal.Open(id, b.Secrets(), owner)
	if !ok || time.Since(t.Created) > s.backgroundTTL() {
		return nil
	}
	return s.job(t)
}

// backgroundTTL is for how long after its creation a task can be asked about.
func (s *Server) backgroundTTL() time.Duration {
	return s.options.Timeout + s.options.Background.Keep
}

// job returns what this process knows about a task.
func (s *Server) job(t seal.Task) *job {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()

	j := s.jobs.byResponse[t.Response]
	if j != nil {
		return j
	}

	j = &job{
		Task:    t,
		release: func() {},
		turn:    make(chan struct{}, 1),
	}
	s.jobs.byResponse[t.Response] = j
	end := t.Created.Add(s.backgroundTTL())
	time.AfterFunc(time.Until(end), func() { s.forget(t.Response) })
	return j
}

func (s *Server) forget(response string) {
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	delete(s.jobs.byResponse, response)
}

// working returns a working task.
func (s *Server) working(t seal.Task, id string) task {
	return task{
		Type:         "complete",
		ID:           id,
		Status:       working,
		Created:      t.Created,
		Updated:      now(),
		TTL:          s.backgroundTTL().Milliseconds(),
		PollInterval: pollAPI.Milliseconds(),
	}
}

// state returns a task as the API says. The request of who asks may end early: others share the
// answer.
func (s *Server) state(ctx context.Context, j *job, p *TaskParams, who Call) *task {
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	if j.state != nil {
		return j.state
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	a, err := s.fetch(llm.WithCall(ctx, &who.Stats), j)
	t := s.working(j.Task, p.ID)
	j.state = &t
	running := errors.Is(err, answer.ErrRunning)
	if !running {
		t.set(s.outcome(j, a, err, p.Meta, who))
	}

	// An answer is not kept: the API has it.
	if running || err == nil {
		time.AfterFunc(shareTime, j.ask)
	}
	return &t
}

// ask lets the next request about a task ask the API.
func (j *job) ask() {
	j.turn <- struct{}{}
	j.state = nil
	<-j.turn
}

// fetch asks the API about a task. One that runs beyond the time limit is cancelled, but only if the
// API says that it runs: a complete answer is not lost because the API is busy.
func (s *Server) fetch(ctx context.Context, j *job) (a *answer.Answer, err error) {
	defer s.recoverCall(j.Tool, &err)
	b := s.options.Background
	limit := s.options.Timeout

	a, err = b.Fetch(ctx, j.Tool, j.Response, j.Created)
	late := limit > 0 && time.Since(j.Created) >= limit
	runs := errors.Is(err, answer.ErrRunning) && !errors.Is(err, answer.ErrUnknown)
	if late && runs {
		_ = b.Cancel(ctx, j.Response) // the task is over even if the response goes on
		return nil, answer.TimeoutError(limit)
	}
	return a, err
}

// outcome returns the end of a task, and observes it once, as a call of its person. The caller has
// the turn of j.
func (s *Server) outcome(
	j *job, a *answer.Answer, err error, meta mcp.Meta, call Call,
) (end task) {
	call.Tool = j.Tool
	call.Outcome = "error"
	call.Duration = time.Since(j.Created)
	call.Err = err
	switch {
	case err == nil:
		call.Outcome = "ok"
		call.Duration = a.Meta.Elapsed
		call.Meta = a.Meta
		end = task{Status: "completed", Result: s.result(a)}
	case errors.Is(err, answer.ErrCancelled):
		call.Outcome = statusCancel
		call.Err = context.Canceled
		end = task{Status: statusCancel}
	default:
		end = ended(s.failed(meta, j.Tool, err))
	}

	j.release()
	if s.options.Observe != nil && !j.counted {
		s.options.Observe(call)
	}
	j.counted = true
	return end
}

// cancelJob cancels a task at the API and asks how it ended, unless its end is known.
func (s *Server) cancelJob(ctx context.Context, j *job, p *TaskParams, who Call) {
	if s.state(ctx, j, p, who).Status != working {
		return
	}

	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	err := s.options.Background.Cancel(ctx, j.Response)
	if err != nil {
		s.options.Log.Warn("cancelling a task", "err", err)
	}

	j.ask()
	s.state(ctx, j, p, who)
}
