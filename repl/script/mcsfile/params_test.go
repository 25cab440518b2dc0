package mcsfile

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestCombinations(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want [][]string
	}{
		{nil, [][]string{nil}},
		{[]string{"a=1"}, [][]string{{"a=1"}}},
		{[]string{"a="}, [][]string{{"a="}}},
		{[]string{"a=1,2", "b=x,y"}, [][]string{{"a=1", "b=x"}, {"a=1", "b=y"}, {"a=2", "b=x"}, {"a=2", "b=y"}}},
		{[]string{"a=1", "b=3", "a=2"}, [][]string{{"a=2", "b=3"}}}, // the last counts
		{[]string{`a="x,y",'z,'`}, [][]string{{"a=x,y"}, {"a=z,"}}},
		{[]string{`a="x"`}, [][]string{{`a="x"`}}}, // quotes that keep nothing together
		{[]string{"a=it's,they're"}, [][]string{{"a=it's"}, {"a=they're"}}},
		{[]string{"a=f(1,2),[3,4]"}, [][]string{{"a=f(1,2)"}, {"a=[3,4]"}}},
		{[]string{"a=x=1,y=2"}, [][]string{{"a=x=1"}, {"a=y=2"}}},
	} {
		if got, err := Combinations(tt.args); err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v: got %q, %v, want %q", tt.args, got, err, tt.want)
		}
	}
	for _, args := range []string{"a", "=1", "a=,", "a=1,,2"} {
		if got, err := Combinations([]string{args}); err == nil || !strings.HasPrefix(err.Error(), "-p "+args+": got ") {
			t.Errorf("%s: got %q, %v, want an error", args, got, err)
		}
	}
}

// A mark has a title and a limit, in any order.
func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		mark, title string
		limit       time.Duration
		problem     string
	}{
		{"// %% timeout=5s", "", 5 * time.Second, ""},
		{"// %% a  title", "a  title", 0, ""},
		{"// %% train timeout=1m30s", "train", 90 * time.Second, ""},
		{"// %% timeout=1ms of it", "of it", time.Millisecond, ""},
		{"// %% timeout=5", "timeout=5", 0, "f.mcs:1: got timeout=5, want a time such as timeout=5s"},
		{"// %% timeout=-1s", "timeout=-1s", 0, "f.mcs:1: got timeout=-1s, want a time such as timeout=5s"},
	} {
		f := Parse("f.mcs", tt.mark+"\n1\n")
		problem := ""
		if err := f.Problem(); err != nil {
			problem = err.Error()
		}
		if c := f.Cells[0]; c.Title != tt.title || c.Limit != tt.limit || problem != tt.problem {
			t.Errorf("%s: got %q, %v, %s", tt.mark, c.Title, c.Limit, problem)
		}
		if again := Parse("f.mcs", Format(f.Cells)); !reflect.DeepEqual(again.Cells, f.Cells) {
			t.Errorf("%s: written and read again: %+v", tt.mark, again.Cells)
		}
	}
}
