package session

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var writeTutorials = flag.Bool("write-tutorials", false, "write the answers of testdata/tutorials.txt anew")

// TestTutorialsByHabit types what somebody who knows PyTorch types by habit, in the order of its beginner's
// tutorials. Testdata/tutorials.txt has a session for each heading, and its cells, each with what follows it:
//
//	== a heading
//	t = torch.rand(2, 3)
//	-> t := tensor.Rand(2, 3)
//
// The line behind -> is the answer, which runs when it is pasted. Behind -- stands a message that leaves
// nothing to paste. A cell without either runs as it is.
func TestTutorialsByHabit(t *testing.T) {
	file, err := filepath.Abs("testdata/tutorials.txt")
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	head, snippets, _ := strings.Cut(string(b), "\n== ")
	out.WriteString(head)
	n, pasted := 0, 0
	for snippet := range strings.SplitSeq(snippets, "\n== ") {
		title, cells, _ := strings.Cut(strings.TrimSpace(snippet), "\n")
		out.WriteString("\n== " + title + "\n")
		n++
		t.Chdir(t.TempDir()) // for what is saved
		s, _ := newSession(t, Options{})
		for i, cell := range strings.Split(strings.Trim(cells, "\n"), "\n\n") {
			typed, want := parted(cell)
			got := answer(t, s, typed)
			if strings.HasPrefix(got, "-> ") {
				pasted++
			}
			if got != want && !*writeTutorials {
				t.Errorf("%s: %s\n got %s\nwant %s", title, typed, got, want)
			}
			if i > 0 {
				out.WriteString("\n")
			}
			out.WriteString(typed + "\n" + strings.TrimPrefix(got+"\n", "\n"))
		}
	}
	if n < 30 || pasted < 100 {
		t.Errorf("%d snippets with %d answers, want at least 30 with 100", n, pasted)
	}
	if *writeTutorials {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// parted splits a cell of the file into what is typed and what is answered.
func parted(cell string) (typed, want string) {
	for line := range strings.SplitSeq(cell, "\n") {
		if strings.HasPrefix(line, "-> ") || strings.HasPrefix(line, "-- ") {
			want = line
		} else {
			typed += line + "\n"
		}
	}
	return strings.TrimSuffix(typed, "\n"), want
}

// answer runs a cell, and the line that its message says to write. It returns the line of the file for it.
func answer(t *testing.T, s *Session, typed string) string {
	r := s.Run(t.Context(), typed)
	if r.Err == nil {
		return ""
	}
	_, hint, _ := strings.Cut(firstLine(r.Err), "\x00")
	goText, ok := strings.CutPrefix(hint, "write ")
	if text, said := meant(typed, hint); said {
		goText, ok = text, true
	}
	if hint == "declare it with :=" {
		goText, ok = strings.Replace(typed, " = ", " := ", 1), true
	}
	if !ok {
		return "-- " + hint
	}
	if r := s.Run(t.Context(), goText); r.Err != nil {
		t.Errorf("%s: pasted: %s: %v", typed, goText, r.Err)
	}
	return "-> " + goText
}

// meant returns what was typed with the name that a hint proposes.
func meant(typed, hint string) (string, bool) {
	name, ok := strings.CutPrefix(hint, "did you mean ")
	name = strings.TrimSuffix(name, "?")
	bare := strings.TrimSuffix(name[strings.LastIndexByte(name, '.')+1:], "()")
	at := strings.Index(strings.ToLower(typed), strings.ToLower(bare))
	if !ok || at < 0 {
		return "", false
	}
	return typed[:at] + name + typed[at+len(bare):], true
}

// A line that needs what the session does not have gets a message, too.
func TestHabitsWithoutWhatTheyNeed(t *testing.T) {
	s, _ := newSession(t, Options{})
	run(t, s, "w := tensor.Ones(2).Param(); opt := optim.SGD{}.New(nil); data_ := data.Pairs(w, w, 1); _, _ = opt, data_")
	for _, typed := range []string{"w.grad", "w.backward()", "opt.step()", "for x, y in data_: pass", "torch.save()", "torch.load()", "F.relu()", "optim.SGD()", "torch.device()",
		"next(iter())", "torch.cat()", "w.add_()", "Cat(w, w, 1, 2)", "class A(nn.Module):\n  pass", "w.to()", "nn.Linear()", "DataLoader()", "lr_scheduler.StepLR()"} {
		if r := s.Run(t.Context(), typed); r.Err == nil || strings.Contains(r.Err.Error(), "internal error") {
			t.Errorf("%s: got error %v, want a message about the line", typed, r.Err)
		}
	}
}
