//go:build !((linux && (amd64 || arm64)) || (darwin && arm64)) && !mcs_static

package ccall

const advice = "builds for linux/amd64, linux/arm64 and darwin/arm64 can"
