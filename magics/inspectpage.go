package magics

import (
	"fmt"
	"html"
	"strings"

	"github.com/mcs-notebook/mcs/repl/display"
)

// A section is a part of an inspection for a page: a paragraph, or below a title a text as it is, or names
// with what is said of them.
type section struct {
	title, text, code string
	items             [][2]string
}

// sections are the parts of an inspection, in the order of its text.
func (v inspection) sections() (list []section) {
	declaration, comment, both := strings.Cut(v.docText(), "\n\n")
	if v.Kind == "var" || v.Kind == "field" || v.Kind == "expression" || !both && v.Cell != 0 { // its type says what it is
		declaration, comment = "", v.docText()
	}
	if v.Shown != nil && v.tensor == nil {
		list = append(list, section{code: display.Styled(v.Shown, 80, nil)})
	}
	if v.tensor != nil {
		values := tensorLine(*v.tensor)
		if v.stats != nil {
			values += "\n" + v.stats.text(60)
		}
		list = append(list, section{code: values})
	}
	list = append(list, section{code: declaration}, section{text: display.Reflow(comment)})
	for _, s := range []section{{title: "plan", code: v.plan}, {title: "source", code: v.source}} {
		if s.code != "" {
			list = append(list, s)
		}
	}
	for _, g := range v.Groups {
		s := section{title: fmt.Sprintf("%s (%d)", g.Title, len(g.Items))}
		for _, i := range g.Items {
			s.items = append(s.items, [2]string{i.Name + " " + i.Detail, i.Doc})
		}
		if !v.all && len(s.items) > memberLines {
			s.items = append(s.items[:memberLines:memberLines], [2]string{"…", v.Name + "?? shows all"})
		}
		list = append(list, s)
	}
	return list
}

// Markdown writes what Text does for a page.
func (v inspection) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** %s\n\n", inCode(v.Name+" "+v.Type), markdownText(v.note()))
	for _, s := range v.sections() {
		if s.title != "" {
			fmt.Fprintf(&b, "**%s**\n\n", markdownText(s.title))
		}
		if s.text != "" {
			b.WriteString(markdownText(s.text) + "\n\n")
		}
		if s.code != "" {
			b.WriteString(display.Fenced("go", s.code) + "\n")
		}
		for i, item := range s.items {
			fmt.Fprintf(&b, "- %s %s\n", inCode(item[0]), markdownText(item[1]))
			if i == len(s.items)-1 {
				b.WriteByte('\n')
			}
		}
	}
	return strings.TrimSpace(b.String())
}

// HTML writes what Text does for a page.
func (v inspection) HTML() string {
	var b strings.Builder
	fmt.Fprintf(&b, "<p><b><code>%s</code></b> %s</p>\n", html.EscapeString(v.Name+" "+v.Type), html.EscapeString(v.note()))
	for _, s := range v.sections() {
		for _, part := range []struct{ format, text string }{{"<p><b>%s</b></p>\n", s.title}, {"<p>%s</p>\n", s.text}, {"<pre>%s</pre>\n", s.code}} {
			if part.text != "" {
				fmt.Fprintf(&b, part.format, html.EscapeString(part.text))
			}
		}
		if len(s.items) > 0 {
			b.WriteString("<ul>\n")
			for _, item := range s.items {
				fmt.Fprintf(&b, "<li><code>%s</code> %s</li>\n", html.EscapeString(item[0]), html.EscapeString(item[1]))
			}
			b.WriteString("</ul>\n")
		}
	}
	return b.String()
}

// note is the kind of a name, and where it is declared.
func (v inspection) note() string {
	if v.Place != "" {
		return v.Kind + ", " + v.Place
	}
	return v.Kind
}

// inCode is a piece of code within a line of Markdown.
func inCode(code string) string {
	quote := "`"
	for strings.Contains(code, quote) {
		quote += "`"
	}
	if len(quote) > 1 {
		return quote + " " + strings.TrimSpace(code) + " " + quote
	}
	return quote + strings.TrimSpace(code) + quote
}

// markdownText escapes what Markdown would take for its own.
func markdownText(text string) string { return markdownSigns.Replace(text) }

var markdownSigns = strings.NewReplacer("\\", "\\\\", "*", "\\*", "_", "\\_", "`", "\\`", "<", "&lt;", "[", "\\[", "#", "\\#", "$", "\\$")
