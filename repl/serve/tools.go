package serve

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcs-notebook/mcs/engine/chat"
)

// readTools reads which tools there are, and which of them the answer has to call.
func (q *question) readTools(s *server) error {
	if len(q.Tools) == 0 {
		return nil
	}
	choice, named := "auto", struct{ Function struct{ Name string } }{}
	if given := len(q.ToolChoice) > 0 && string(q.ToolChoice) != "null"; given && json.Unmarshal(q.ToolChoice, &choice) != nil {
		if choice = "named"; json.Unmarshal(q.ToolChoice, &named) != nil {
			return wrong("tool_choice", "got %s, want none, auto, required or a function", q.ToolChoice)
		}
	}
	switch {
	case choice == "none":
		q.Tools = nil
		return nil
	case !slices.Contains([]string{"auto", "required", "named"}, choice):
		return wrong("tool_choice", "got %q, want none, auto, required or a function", choice)
	case choice != "auto" && q.grammar != nil:
		return wrong("tool_choice", "got %s and a response_format, want one of them", choice)
	}
	if !q.calls {
		return wrong("tools", "the model's chat template writes no calls, or not as %s do", chat.Known)
	}
	var must []chat.Tool
	for i, text := range q.Tools {
		var t struct{ Function chat.Tool }
		if err := json.Unmarshal(text, &t); err != nil || t.Function.Name == "" {
			return wrong(fmt.Sprintf("tools[%d]", i), "got no function with a name")
		}
		q.tools = append(q.tools, t.Function)
		if choice == "required" || t.Function.Name == named.Function.Name {
			must = append(must, t.Function)
		}
	}
	if choice == "auto" {
		return nil
	}
	if len(must) == 0 {
		return wrong("tool_choice", "got the function %q, which is not among the tools", named.Function.Name)
	}
	begin, schema, err := q.form.Required(must)
	if err != nil {
		return wrong("tool_choice", "got %s, want auto: %v", choice, err)
	}
	q.begin, q.forced = begin, true
	if q.grammar, err = s.compiled.get(json.RawMessage(schema)); err != nil {
		return wrong("tools", "%v", err)
	}
	return nil
}

// A call is what an answer calls, as OpenAI has it.
type call struct {
	Index    *int   `json:"index,omitempty"` // of a stream
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// asCalls are calls as OpenAI has them.
func asCalls(list []chat.Call) (calls []call) {
	for _, c := range list {
		one := call{ID: c.ID, Type: "function"}
		one.Function.Name, one.Function.Arguments = c.Name, c.Arguments
		calls = append(calls, one)
	}
	return calls
}

// openCalls makes objects of the arguments of calls, which most templates want; nil: there are none.
func openCalls(list json.RawMessage) (json.RawMessage, error) {
	var calls []map[string]json.RawMessage
	if list == nil || string(list) == "null" {
		return nil, nil
	}
	if err := json.Unmarshal(list, &calls); err != nil {
		return nil, err
	}
	for _, c := range calls {
		var f map[string]json.RawMessage
		if err := json.Unmarshal(c["function"], &f); err != nil {
			return nil, err
		}
		text := ""
		if json.Unmarshal(f["arguments"], &text) == nil {
			if f["arguments"] = json.RawMessage(text); !json.Valid(f["arguments"]) {
				return nil, fmt.Errorf("got arguments of a call that are no JSON: %.40q", text)
			}
		}
		c["function"], _ = json.Marshal(f)
	}
	return json.Marshal(calls)
}
