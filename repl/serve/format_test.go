package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"unicode/utf8"
)

// TestFormats: answers are JSON as their schema has it, whole or streamed, or its beginning.
func TestFormats(t *testing.T) {
	at, _ := start(t, Options{Name: "m", Model: load(t)})
	const schema = `{"type": "json_schema", "json_schema": {"name": "x", "strict": true, "schema": {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}, "old": {"type": "boolean"}, "é": {"type": "integer"}}, "required": ["name", "old", "é"], "additionalProperties": false}}}`
	for i := range 12 {
		body := fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": "a fox"}], "temperature": %v, "seed": %d, "max_tokens": 190, "response_format": %s`, i%3, i+1, schema)
		status, r := post(t, at+"/v1/chat/completions", body+"}")
		if status != http.StatusOK {
			t.Fatalf("got %d %+v", status, r.Error)
		}
		text := ""
		for _, e := range events(t, at+"/v1/chat/completions", body+`, "stream": true}`) {
			text += e.Choices[0].Delta.Content
		}
		var v struct {
			Name *string
			Old  *bool
			E    *int `json:"é"`
		}
		err := json.Unmarshal([]byte(text), &v)
		if c := r.Choices[0]; text != c.Message.Content || c.FinishReason != "stop" || err != nil || v.Name == nil || utf8.RuneCountInString(*v.Name) > 9 || v.Old == nil || v.E == nil {
			t.Errorf("got %+v, streamed %q, %v", c, text, err)
		}
	}
	_, r := post(t, at+"/v1/chat/completions", `{"model": "m", "messages": [{"role": "user", "content": "a fox"}], "max_tokens": 3, "response_format": `+schema+"}")
	if c := r.Choices[0]; c.FinishReason != "length" || c.Message.Content[0] != '{' {
		t.Errorf("cut off: got %+v", c)
	}
}
