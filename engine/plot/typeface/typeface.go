// Package typeface gives package plot the letters of pictures. A program that draws a plot in pixels
// ([plot.Plot.PNG], [plot.Plot.Render], a file .png) imports it for that alone; cells and scripts have it.
//
//	import _ "github.com/mcs-notebook/mcs/engine/plot/typeface"
package typeface

import (
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/font/sfnt"

	"github.com/mcs-notebook/mcs/engine/plot/internal/letters"
)

func init() { letters.Face = newFace }

// regular is read when the first picture is drawn.
var regular = sync.OnceValue(func() *sfnt.Font {
	f, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic("plot: the built-in font: " + err.Error())
	}
	return f
})

// newFace is the font in a size for one goroutine: faces keep buffers.
func newFace(pixels float64) font.Face {
	face, err := opentype.NewFace(regular(), &opentype.FaceOptions{Size: pixels, DPI: 72, Hinting: font.HintingNone})
	if err != nil {
		panic("plot: the built-in font: " + err.Error())
	}
	return face
}
