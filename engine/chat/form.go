package chat

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/mcs-notebook/mcs/internal/lazy"
)

// A Tool is a function that an answer may call.
type Tool struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"` // their JSON schema; nil: there are none
}

// texts says whether a parameter is a text by its schema.
func (t Tool) texts(parameter string) bool {
	var of struct{ Properties map[string]struct{ Type any } }
	return json.Unmarshal(t.Parameters, &of) == nil && of.Properties[parameter].Type == "string"
}

// A Form is how a model writes what it thinks and which functions it calls. The zero Form has thoughts only.
type Form struct {
	probe       func() *regexp.Regexp // finds it in a call that the chat template writes
	begin       string                // what stands before a call, for the tokenizer; %s is the function's name, if that is no part of the JSON
	open, close string                // what stands around it in the text of an answer; "": the name of a tool
	marks       []string              // further ones in it
	anywhere    bool                  // not only at the beginning of an answer
	list        bool                  // calls are a list
	name        string                // the key of a function's name; "": name
	arguments   string                // that of its arguments

	call func() *regexp.Regexp // finds the name of a call that is no JSON object, behind which its arguments stand; its ID, too, where the model writes one
	pair func() *regexp.Regexp // finds names and values of arguments; nil: they are JSON
	// literals are what stands between the name of an argument and its value, and what ends the arguments:
	// they are literals of Python, or Gemma's; empty: they are not.
	literals [2]string

	texts    bool // the template wants arguments as texts, and content null beside them
	channels bool // an answer is messages with heads, as gpt-oss writes it (OpenAI 2025: harmony)
}

// pythonic and braced find the name of a call in Python's syntax and Gemma's, behind marks and what stands
// between calls.
var (
	pythonic = lazy.Regexp(`^(?:[\s,;\[\]]|<[/|\w]+>)*([A-Za-z_][\w.-]*)\(`)
	braced   = lazy.Regexp(`^(?:\s|<[/|\w]+>)*call:([\w.-]+)\{`)
)

// keyed finds the name of a call whose arguments are written as keys and values, and keys those.
var (
	keyed = lazy.Regexp(`<tool_call>\s*([^<\s]+)`)
	keys  = lazy.Regexp(`(?s)<arg_key>\s*(.*?)\s*</arg_key>\s*<arg_value>(.*?)</arg_value>`)
)

// tagged finds the arguments of a call that is written as tags.
var tagged = lazy.Regexp(`(?s)<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>`)

// forms are those that are known.
var forms = sync.OnceValue(func() []Form {
	return []Form{
		{probe: lazy.Regexp(`<tool_call>\s*\{"name": ?"probe", ?"arguments": ?\{"x": ?1`), begin: "<tool_call>\n", open: "<tool_call>", close: "</tool_call>", anywhere: true, arguments: "arguments"},                     // Hermes, Qwen
		{probe: lazy.Regexp(`\[TOOL_CALLS\] ?\[\{"name": ?"probe", ?"arguments": ?\{"x": ?1`), begin: "[TOOL_CALLS]", open: "[", list: true, arguments: "arguments"},                                                       // Mistral
		{probe: lazy.Regexp(`<TOOLCALL>\[\{"name": ?"probe", ?"arguments": ?\{"x": ?1`), begin: "<TOOLCALL>", open: "<TOOLCALL>", close: "</TOOLCALL>", anywhere: true, list: true, arguments: "arguments"},                // Nemotron Nano 2
		{probe: lazy.Regexp(`<\|tool_call\|>\[?\{"name": ?"probe", ?"arguments": ?\{"x": ?1`), begin: "<|tool_call|>", open: "<|tool_call|>", close: "<|/tool_call|>", anywhere: true, list: true, arguments: "arguments"}, // Phi-4-mini, Granite 3
		{probe: lazy.Regexp(`<tool_calls>\s*\[\{"name": ?"probe", ?"arguments": ?\{"x": ?1`), begin: "<tool_calls>", open: "<tool_calls>", close: "</tool_calls>", anywhere: true, list: true, arguments: "arguments"},     // Hunyuan A13B
		{probe: lazy.Regexp(`<\|START_ACTION\|>\[\s*\{"tool_call_id": ?"0", ?"tool_name": ?"probe", ?"parameters": ?\{"x": ?1`), begin: "<|START_ACTION|>", open: "<|START_ACTION|>", close: "<|END_ACTION|>", anywhere: true, list: true,
			name: "tool_name", arguments: "parameters"}, // Command R7B, A
		{probe: lazy.Regexp(`\{"name": ?"probe", ?"parameters": ?\{"x": ?1`), open: "{", arguments: "parameters"},                                                       // Llama 3
		{probe: lazy.Regexp(`\[TOOL_CALLS\]probe\[ARGS\]\{"x": ?1`), begin: "[TOOL_CALLS]%s[ARGS]", call: lazy.Regexp(`^\s*(?:\[TOOL_CALLS\])?([\w.-]+)(?:\[ARGS\])?`)}, // Mistral since 2025
		{probe: lazy.Regexp(`<｜tool▁call▁begin｜>probe<｜tool▁sep｜>\{"x": ?1`), begin: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>%s<｜tool▁sep｜>", open: "<｜tool▁calls▁begin｜>", anywhere: true,
			call: lazy.Regexp(`<｜tool▁call▁begin｜>(.*?)<｜tool▁sep｜>`)}, // DeepSeek 3.1
		{probe: lazy.Regexp("<｜tool▁call▁begin｜>function<｜tool▁sep｜>probe\n```json\n\\{\"x\": ?1"), begin: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>%s\n```json\n", open: "<｜tool▁calls▁begin｜>", anywhere: true,
			call: lazy.Regexp("<｜tool▁call▁begin｜>\\w*<｜tool▁sep｜>([^\n]+)\n+```(?:json)?\n")}, // DeepSeek V3, R1
		{probe: lazy.Regexp(`<\|tool_call_begin\|>abcdefghi<\|tool_call_argument_begin\|>\{"x": ?1`), begin: "<|tool_calls_section_begin|><|tool_call_begin|>functions.%s:0<|tool_call_argument_begin|>", open: "<|tool_calls_section_begin|>", anywhere: true,
			marks: []string{"<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>", "<|tool_calls_section_end|>"},
			call:  lazy.Regexp(`<\|tool_call_begin\|>\s*(?P<id>(?:functions\.)?(?P<name>[\w.-]+):\d+)\s*<\|tool_call_argument_begin\|>`)}, // Kimi K2
		{probe: lazy.Regexp(`<tool_call>\s*<function=probe>\s*<parameter=x>\s*1\s*</parameter>`), open: "<tool_call>", anywhere: true, call: lazy.Regexp(`<function=([^>\s]+)>`), pair: tagged},           // Qwen3-Coder, Qwen 3.5
		{probe: lazy.Regexp(`<seed:tool_call>\s*<function=probe>\s*<parameter=x>\s*1\s*</parameter>`), open: "<seed:tool_call>", anywhere: true, call: lazy.Regexp(`<function=([^>\s]+)>`), pair: tagged}, // Seed-OSS
		{probe: lazy.Regexp(`<minimax:tool_call>\s*<invoke name="probe">\s*<parameter name="x">1</parameter>`), open: "<minimax:tool_call>", anywhere: true,
			call: lazy.Regexp(`<invoke name="?([^">\s]+)"?[^>]*>`), pair: lazy.Regexp(`(?s)<parameter name="?([^">\s]+)"?[^>]*>\n?(.*?)\n?</parameter>`)}, // MiniMax-M2
		{probe: lazy.Regexp(`<tool_call>probe\s*<arg_key>x</arg_key>\s*<arg_value>1</arg_value>`), open: "<tool_call>", anywhere: true, call: keyed, pair: keys},            // GLM 4.5
		{probe: lazy.Regexp(`<tool_call>probe<tool_sep>\s*<arg_key>x</arg_key>\s*<arg_value>1</arg_value>`), open: "<tool_calls>", anywhere: true, call: keyed, pair: keys}, // Hy3
		{probe: lazy.Regexp(`to=functions\.probe<\|channel\|>commentary json<\|message\|>\{"x": ?1`), begin: "<|channel|>commentary to=functions.%s <|constrain|>json<|message|>", marks: channelMarks,
			call: lazy.Regexp(`to=(?:functions\.)?([\w.-]+)`), channels: true}, // gpt-oss
		{probe: lazy.Regexp(`<\|tool_call_start\|>\[probe\(x=1\)|<\|tool_list_start\|>`), open: "<|tool_call_start|>", close: "<|tool_call_end|>", anywhere: true, call: pythonic, literals: [2]string{"=", ")"}}, // LFM 2, whose first templates write none
		{probe: lazy.Regexp(`<function_calls>\s*probe\(x=1\)`), open: "<function_calls>", anywhere: true, call: pythonic, literals: [2]string{"=", ")"}},                                                          // OLMo 3
		{probe: lazy.Regexp(`\[probe\(x="?1"?\)\]`), open: "[", close: "]", call: pythonic, literals: [2]string{"=", ")"}},                                                                                        // Llama 3.2 and 4 as lists of Python
		{probe: lazy.Regexp(`<\|tool_call>call:probe\{x:1\}`), open: "<|tool_call>", close: "<tool_call|>", marks: []string{`<|"|>`}, anywhere: true, call: braced, literals: [2]string{":", "}"}},                // Gemma 4
		{probe: lazy.Regexp(`<start_function_call>call:probe\{x:1\}`), open: "<start_function_call>", close: "<end_function_call>", marks: []string{"<escape>"}, anywhere: true, call: braced,
			literals: [2]string{":", "}"}}, // FunctionGemma
	}
})

// Known are the models whose calls are.
const Known = "Hermes, Qwen, Mistral, Llama 3, DeepSeek, GLM 4.5, gpt-oss, Kimi K2, MiniMax-M2, Seed-OSS, Command R7B, Nemotron Nano 2, Phi-4-mini, Hunyuan, LFM 2, OLMo 3 or Gemma 4"

// thoughts are the marks around what a model thinks before it answers.
var thoughts = [][2]string{{"<think>", "</think>"}, {"[THINK]", "[/THINK]"}, {"<seed:think>", "</seed:think>"}, {"<|START_THINKING|>", "<|END_THINKING|>"}, {"<|channel>thought", "<channel|>"}}

// channelMarks are those of an answer in channels.
var channelMarks = []string{"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"}

// FormOf finds the form of a model: as its chat template, which render runs, writes a call that it is given.
// Calls says whether it knows how; without that the form has thoughts only.
func FormOf(render func([]Message, Options) (string, error)) (f *Form, calls bool) {
	tools := []json.RawMessage{json.RawMessage(`{"type": "function", "function": {"name": "other", "description": "a", "parameters": {"type": "object", "properties": {}}}}`)}
	for i, fields := range []string{`"arguments": {"x": 1}}}]`, `"arguments": "{\"x\": 1}"}}], "content": null`} { // the second as DeepSeek V3 wants it
		text, err := render([]Message{
			{Role: "user", Content: "a"},
			{Role: "assistant", Fields: json.RawMessage(`{"tool_calls": [{"id": "abcdefghi", "type": "function", "function": {"name": "probe", ` + fields + "}")},
		}, Options{Tools: tools})
		for _, f := range forms() {
			if err == nil && f.probe().MatchString(text) {
				f.texts = i == 1
				return &f, true
			}
		}
	}
	return &Form{}, false
}

// Marks are what the form is known by in a text: where the tokenizer takes them for special tokens, a
// [Reader] has to see them nevertheless.
func (f *Form) Marks() []string {
	list := slices.Clone(f.marks)
	for _, m := range thoughts {
		list = append(list, m[:]...)
	}
	return append(list, f.open, f.close)
}

// Texts says whether the chat template wants the arguments of calls as texts, and null for no content beside
// them. Others want objects, and no field for no content.
func (f *Form) Texts() bool { return f.texts }

// Channels says whether thoughts and answer are messages of their own, which only marks tell apart.
func (f *Form) Channels() bool { return f.channels }

// Required says how an answer that has to call one of tools begins, and of which JSON schema the rest is. It
// is an error where that is no JSON, or the name stands outside of it and there are several.
func (f *Form) Required(tools []Tool) (begin, schema string, err error) {
	if f.pair != nil || f.literals[0] != "" || f.call != nil && len(tools) > 1 {
		return "", "", fmt.Errorf("this model writes the name of a function, or all of a call, outside of JSON, which cannot be required of several, or of any")
	}
	var calls []string
	for _, t := range tools {
		calls, begin = append(calls, f.schema(t)), strings.Replace(f.begin, "%s", t.Name, 1)
	}
	schema = `{"anyOf": [` + strings.Join(calls, ", ") + "]}"
	if f.list {
		schema = `{"type": "array", "minItems": 1, "maxItems": 1, "items": ` + schema + "}"
	}
	return begin, schema, nil
}

// schema is that of a call, or of its arguments alone. Parameters are a document of their own, by $id, in
// which their references lead.
func (f *Form) schema(t Tool) string {
	parameters := bytes.TrimSpace(t.Parameters)
	switch {
	case len(parameters) == 0 || string(parameters) == "null":
		parameters = []byte(`{"type": "object", "properties": {}}`)
	case parameters[0] == '{' && !bytes.HasSuffix(bytes.TrimSpace(parameters[:len(parameters)-1]), []byte("{")):
		parameters = append([]byte(`{"$id": "parameters", `), parameters[1:]...)
	}
	if f.call != nil {
		return string(parameters)
	}
	return fmt.Sprintf(`{"type": "object", "properties": {"%s": {"const": %s}, "%s": %s}, "required": ["%[1]s", "%[3]s"]}`, f.key(), asJSON(t.Name), f.arguments, parameters)
}

// key is that of a function's name.
func (f *Form) key() string { return cmp.Or(f.name, "name") }

// asJSON is a string as JSON.
func asJSON(s string) string {
	b, _ := json.Marshal(s) // a string can be written
	return string(b)
}
