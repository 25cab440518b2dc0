//go:build mcs_static

package ccall

const advice = "it was built with -tags mcs_static"
