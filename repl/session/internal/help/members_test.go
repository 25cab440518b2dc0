package help

import "testing"

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"One thing":                          "One thing",
		"One thing. Another.":                "One thing.",
		"Over\n\ttwo  lines.\nMore":          "Over two lines.",
		"Version 1.2 of x.y is new. Or not.": "Version 1.2 of x.y is new.",
		"The first paragraph\n\nEnds. Here":  "The first paragraph",
		"It ends with the text. ":            "It ends with the text.",
		" Blanks around ":                    "Blanks around",
	} {
		if got := sentence(text); got != want {
			t.Errorf("sentence(%q) = %q, want %q", text, got, want)
		}
	}
}
