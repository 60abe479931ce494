package mcpserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/plugberth/plugberth/channel"
)

// The tools of the channel, offered where the grant's channel has the part.
const (
	ToolAskUser        = "ask_user"
	ToolReportSummary  = "report_summary"
	ToolSpawnSubtask   = "spawn_subtask"
	ToolRecordProgress = "record_progress"
)

// channelToolNames are in the order of the bits of a setKey.
var channelToolNames = [...]string{ToolAskUser, ToolReportSummary, ToolSpawnSubtask, ToolRecordProgress}

func channelTool(name string) bool { return slices.Contains(channelToolNames[:], name) }

// channelTools returns the tools in key. They are compiled once.
func channelTools(key setKey) []*Tool {
	var out []*Tool
	for i, t := range allChannelTools() {
		if key&(1<<i) != 0 {
			out = append(out, t)
		}
	}
	return out
}

var allChannelTools = sync.OnceValue(func() []*Tool {
	no := false
	hints := func(idempotent bool) *mcp.ToolAnnotations {
		return &mcp.ToolAnnotations{DestructiveHint: &no, OpenWorldHint: &no, IdempotentHint: idempotent}
	}
	defs := []ToolDef{
		{
			Name:  ToolAskUser,
			Title: "Ask the user",
			Description: "Ask the user of this run one question. Use it when you cannot go on well without something that only the user knows or may decide: " +
				"missing requirements, a choice between ways that differ in effect, permission for something that cannot be undone. " +
				"Do not use it for what you can find out yourself, to report progress, or to say that you are done. " +
				"Put everything the user needs into the question, who may not have followed your work, and offer choices where there are few sensible answers. " +
				"The call waits for the answer. If the result says that the question was recorded instead, end your turn at once: you will be resumed with the answer. " +
				"If the call breaks off, ask again in exactly the same words: you get the answer to the same question.",
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"question": {"type": "string", "minLength": 1, "maxLength": 4000, "pattern": "\\S",
						"description": "The question, complete in itself."},
					"choices": {"type": "array", "maxItems": 20, "uniqueItems": true,
						"items": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "\\S"},
						"description": "Answers to choose from, the one you recommend first. Leave it out for an open question."},
					"allow_free_text": {"type": "boolean", "default": true,
						"description": "Whether the user may answer in their own words although there are choices."}
				},
				"required": ["question"]
			}`),
			OutputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"status": {"enum": ["answered", "blocked"]},
					"answer": {"type": "string", "description": "The user's answer, if status is answered."},
					"question_id": {"type": "string"}
				},
				"required": ["status"]
			}`),
			Annotations: hints(true),
			Handler:     askUser,
		},
		{
			Name:  ToolReportSummary,
			Title: "Report a summary",
			Description: "Report to the host what this run has done. Use it once, at the end of your work, before you end your turn, also when you could not do everything: " +
				"what was done, what was left, what the user has to know or do next. A later report replaces an earlier one.",
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"summary": {"type": "string", "minLength": 1, "maxLength": 20000, "pattern": "\\S",
						"description": "The report, in Markdown or plain text."}
				},
				"required": ["summary"]
			}`),
			OutputSchema: json.RawMessage(`{"type": "object", "properties": {"status": {"const": "recorded"}}, "required": ["status"]}`),
			Annotations:  hints(true),
			Handler:      reportSummary,
		},
		{
			Name:  ToolSpawnSubtask,
			Title: "Spawn a subtask",
			Description: "Hand a piece of work to the host, which runs it apart from this run. Use it for work that is self-contained and need not be finished before you go on. " +
				"The prompt must hold everything: the subtask knows nothing of this conversation. You are told the subtask's id, not its result. " +
				"The same title and prompt, or the same key, always mean the same subtask, so calling again after a failure is safe.",
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"title": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[^\\n\\r]*\\S[^\\n\\r]*$",
						"description": "What the subtask is about, in one line."},
					"prompt": {"type": "string", "minLength": 1, "maxLength": 20000, "pattern": "\\S",
						"description": "What the subtask has to do, complete in itself."},
					"key": {"type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[A-Za-z0-9._-]+$",
						"description": "Optional: a name of your choice for this request. Give different keys only if you want several subtasks of the same title and prompt."}
				},
				"required": ["title", "prompt"]
			}`),
			OutputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"subtask_id": {"type": "string"},
					"existing": {"type": "boolean", "description": "Whether an earlier request had created it."}
				},
				"required": ["subtask_id", "existing"]
			}`),
			Annotations: hints(true),
			Handler:     spawnSubtask,
		},
		{
			Name:  ToolRecordProgress,
			Title: "Record progress",
			Description: "Tell the user what you are doing. Use it when you begin or finish a step that takes a while, or learn something that changes the plan; " +
				"a few words each time. Not for questions, and not for the final report.",
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"text": {"type": "string", "minLength": 1, "maxLength": 1000, "pattern": "\\S",
						"description": "What was done or is being done."},
					"percent": {"type": "number", "minimum": 0, "maximum": 100,
						"description": "How much of the whole run is done, if you know."}
				},
				"required": ["text"]
			}`),
			OutputSchema: json.RawMessage(`{"type": "object", "properties": {"status": {"const": "recorded"}}, "required": ["status"]}`),
			Annotations:  hints(false),
			Handler:      recordProgress,
		},
	}
	tools := make([]*Tool, len(defs))
	for i, def := range defs {
		t, err := newTool(def)
		if err != nil {
			panic(err) // only if the table above is wrong, which every test shows
		}
		t.asks = def.Name == ToolAskUser
		tools[i] = t
	}
	return tools
})

// text returns the argument of that name, which the schema has judged. Names
// are compared exactly.
func (c Call) text(name string) string {
	s, _ := c.value[name].(string)
	return s
}

func askUser(ctx context.Context, call Call) (Result, error) {
	q := channel.Question{Text: call.text("question")}
	if choices, ok := call.value["choices"].([]any); ok {
		for _, c := range choices {
			q.Choices = append(q.Choices, c.(string))
		}
	}
	if free, ok := call.value["allow_free_text"].(bool); ok {
		q.OnlyChoices = !free && len(q.Choices) > 0
	}
	a, err := call.state.e.questions.ask(ctx, call.state, q)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: a.Text, Structured: askResult{Status: "answered", Answer: a.Text, QuestionID: a.QuestionID}}, nil
}

type askResult struct {
	Status     string `json:"status"`
	Answer     string `json:"answer,omitempty"`
	QuestionID string `json:"question_id,omitempty"`
}

// blocked is the result of a call that asked somebody who will answer later. For
// ask_user it is a normal one: the question is where it should be. Any other tool
// has not done what it is for, and where it has an output schema, or may have one,
// the result has to be an error: nothing that could be said fits that.
func (c *call) blocked(err error) Result {
	res := askResult{Status: "blocked"}
	var blocked *channel.BlockedError
	if errors.As(err, &blocked) {
		res.QuestionID = blocked.Question.ID
	}
	if c.tool == nil || !c.tool.asks {
		out := Result{
			Text: "Not done yet: somebody has to be asked first, and that question has been recorded. The answer will not come during this turn. " +
				"End your turn now: do not call the tool again, do not wait, and do not go on as if it had been done. " +
				"You will be resumed with the answer.",
			outcome: OutcomeBlocked,
		}
		switch {
		case c.plugin != nil:
			out.IsError = c.plugin.entry.OutputSchema != nil
		default:
			out.IsError = c.tool == nil || c.tool.output != nil
		}
		if !out.IsError {
			out.Structured = res
		}
		return out
	}
	return Result{
		Text: "Your question has been recorded for the user. The answer will not come during this turn. " +
			"End your turn now: do not ask again, do not wait, and do not go on by guessing the answer. " +
			"You will be resumed with the answer.",
		Structured: res,
		outcome:    OutcomeBlocked,
	}
}

type recorded struct {
	Status string `json:"status"`
}

func reportSummary(ctx context.Context, call Call) (Result, error) {
	err := call.state.e.parts.Summarizer.ReportSummary(ctx, channel.Summary{Text: call.text("summary")})
	if err != nil {
		return Result{}, err
	}
	return Result{Text: "The summary is recorded.", Structured: recorded{"recorded"}}, nil
}

type spawned struct {
	SubtaskID string `json:"subtask_id"`
	Existing  bool   `json:"existing"`
}

func spawnSubtask(ctx context.Context, call Call) (Result, error) {
	spec := channel.SubtaskSpec{Key: call.text("key"), Title: call.text("title"), Prompt: call.text("prompt")}
	if spec.Key == "" {
		spec.Key = derivedKey(spec.Title, spec.Prompt)
	}
	sub, err := call.state.e.parts.Spawner.SpawnSubtask(ctx, spec)
	if err != nil {
		return Result{}, err
	}
	text := "The subtask was created. Its id is " + sub.ID + "."
	if sub.Existing {
		text = "This subtask exists already, and nothing new was created. Its id is " + sub.ID + "."
	}
	return Result{Text: text, Structured: spawned{sub.ID, sub.Existing}}, nil
}

// derivedKey is the key of a request that names none. It depends on what is
// asked for and on nothing else, so that an agent whose answer was lost, and
// which says the same again, in this grant or a later one of the run, means the
// same subtask. It has a colon, which a key of an agent cannot have.
func derivedKey(title, prompt string) string {
	h := sha256.New()
	h.Write([]byte(title))
	h.Write([]byte{0})
	h.Write([]byte(prompt))
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

func recordProgress(ctx context.Context, call Call) (Result, error) {
	p := channel.Progress{Text: call.text("text")}
	if percent, ok := call.value["percent"].(float64); ok {
		p.Percent = &percent
	}
	if err := call.state.e.parts.Recorder.RecordProgress(ctx, p); err != nil {
		return Result{}, err
	}
	return Result{Text: "Recorded.", Structured: recorded{"recorded"}}, nil
}
