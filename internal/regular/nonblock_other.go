//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package regular

// OpenNonblock is for os.OpenFile. Files of these systems are never named pipes.
const OpenNonblock = 0
