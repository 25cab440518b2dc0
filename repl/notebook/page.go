package notebook

import (
	"crypto/sha256"
	_ "embed" // the page's style and script
	"encoding/base64"
	"fmt"
	"html"
	"strings"

	"github.com/mcs-notebook/mcs/repl/cell"
	"github.com/mcs-notebook/mcs/repl/display"
	"github.com/mcs-notebook/mcs/repl/display/prose"
	"github.com/mcs-notebook/mcs/repl/script/mcsfile"
)

var (
	//go:embed page.css
	pageStyle string
	//go:embed page.js
	pageScript string
)

// HTML returns the notebook as one page: its pictures are inside, it is light or dark as the reader has it,
// and cells can be copied. No script runs on it but its own, whatever is in the outputs of a notebook.
func (nb *Notebook) HTML(title string) string {
	var b strings.Builder
	sum := sha256.Sum256([]byte(pageScript))
	fmt.Fprintf(&b, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data: https:; script-src 'sha256-%s'; base-uri 'none'; form-action 'none'">
<title>%s</title>
<style>
%s</style>
</head>
<body>
`, base64.StdEncoding.EncodeToString(sum[:]), html.EscapeString(title), pageStyle)
	for i := range nb.Cells {
		nb.Cells[i].html(&b)
	}
	fmt.Fprintf(&b, "<script>%s</script>\n</body>\n</html>\n", pageScript)
	return b.String()
}

func (c *Cell) html(b *strings.Builder) {
	switch c.Kind {
	case "markdown":
		b.WriteString(c.Prose())
		return
	case "raw":
		fmt.Fprintf(b, "<pre>%s</pre>\n", html.EscapeString(c.Source))
		return
	}
	if title := c.Title(); title != "" {
		fmt.Fprintf(b, "<div class=\"title\">%s</div>\n", html.EscapeString(title))
	}
	if strings.TrimSpace(c.Source) != "" {
		fmt.Fprintf(b, "<div class=\"cell\"><pre><code>%s</code></pre><button>copy</button></div>\n", highlighted(c.Source))
	}
	for _, o := range c.Outputs {
		b.WriteString("<div class=\"output\">" + o.HTML() + "</div>\n")
	}
}

// Title is what a file has behind the mark of a cell.
func (c *Cell) Title() string {
	before, _ := ownOf(c.Metadata)["before"].(string)
	if cells := mcsfile.Parse("", before+"x").Cells; len(cells) == 1 {
		return cells[0].Title
	}
	return ""
}

// Prose is a cell of Markdown as HTML. HTML in it is left out.
func (c *Cell) Prose() string {
	source := c.Source
	if attached, ok := c.rest["attachments"].(map[string]any); ok {
		for name, v := range attached {
			data, _ := v.(map[string]any)
			for kind, text := range data {
				if text, err := joined(text); err == nil {
					source = strings.ReplaceAll(source, "(attachment:"+name+")", "(data:"+kind+";base64,"+strings.TrimSpace(text)+")")
				}
			}
		}
	}
	return prose.Markdown(source).HTML()
}

// HTML is the best rendering of an output that a page can show. What another program has put into a notebook
// is as it was: a page that does more than show it takes out what it does not know.
func (o Output) HTML() string {
	data, _ := o["data"].(map[string]any)
	text := func(kind string) string { s, _ := joined(data[kind]); return s }
	image := func(kind, encoded string) string {
		return fmt.Sprintf(`<img src="data:%s;base64,%s" alt="%s">`, kind, html.EscapeString(encoded), html.EscapeString(cell.Line(text(display.PlainText), 1)))
	}
	if svg := text(display.SVGImage); svg != "" {
		return image(display.SVGImage, base64.StdEncoding.EncodeToString([]byte(svg)))
	}
	for _, kind := range []string{display.PNGImage, "image/jpeg"} {
		if s := strings.ReplaceAll(strings.TrimSpace(text(kind)), "\n", ""); s != "" {
			return image(kind, s)
		}
	}
	if s := text(display.HTMLText); s != "" {
		return s
	}
	class := ""
	switch {
	case o["output_type"] == "error":
		class = ` class="bad"`
	case o["name"] == "stderr":
		s, _ := joined(o["text"])
		return `<pre class="dim">` + html.EscapeString(coloured().ReplaceAllString(s, "")) + "</pre>"
	}
	return "<pre" + class + ">" + html.EscapeString(coloured().ReplaceAllString(outputText(o), "")) + "</pre>"
}

// highlighted is the source of a cell with its tokens in the classes of the page's style.
func highlighted(source string) string {
	var b strings.Builder
	at := 0
	for _, t := range cell.Scan(source) {
		b.WriteString(html.EscapeString(source[at:t.From]))
		text := html.EscapeString(t.Text(source))
		if class := t.Class(); class != 0 {
			text = fmt.Sprintf(`<span class="%c">%s</span>`, class, text)
		}
		b.WriteString(text)
		at = t.To
	}
	return b.String() + html.EscapeString(source[at:])
}

// Markdown returns the notebook as Markdown: cells and the text of their outputs between fences.
func (nb *Notebook) Markdown() string {
	var b strings.Builder
	for i := range nb.Cells {
		c := &nb.Cells[i]
		if strings.TrimSpace(c.Source) == "" && len(c.Outputs) == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		if c.Kind != "code" {
			b.WriteString(strings.TrimRight(c.Source, "\n") + "\n")
			continue
		}
		if title := c.Title(); title != "" {
			b.WriteString("*" + title + "*\n\n")
		}
		b.WriteString(display.Fenced("go", c.Source))
		var put strings.Builder
		for _, o := range c.Outputs {
			text := coloured().ReplaceAllString(outputText(o), "")
			put.WriteString(text)
			if text != "" && !strings.HasSuffix(text, "\n") {
				put.WriteByte('\n')
			}
		}
		if put.Len() > 0 {
			b.WriteString("\n" + display.Fenced("", put.String()))
		}
	}
	return b.String()
}
