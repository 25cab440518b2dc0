// Package letters is where a program's typeface of pictures is kept, so that package plot, which tensors
// need, needs no reader of fonts.
package letters

import "golang.org/x/image/font"

// Face makes the typeface in a size, for one goroutine. Package typeface sets it when it begins; without that
// package it is nil.
var Face func(pixels float64) font.Face
