// Package engine carries the source of the engine's public packages, so that a person who asks in a notebook
// how something is computed can read it.
package engine

import "embed"

// Source holds the Go files of the public packages, as tensor/tensor.go.
//
//go:embed bench/*.go chat/*.go check/*.go data/*.go device/*.go dtype/*.go embed/*.go fft/*.go gguf/*.go grammar/*.go kernel/*.go linalg/*.go llm/*.go lora/*.go nn/*.go npy/*.go optim/*.go plot/*.go plot/typeface/*.go profile/*.go progress/*.go
//go:embed quant/*.go safetensors/*.go tensor/*.go tokenizer/*.go train/*.go
var Source embed.FS
