//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package unread

// bytesWaiting is FIONREAD of <sys/filio.h>, _IOR('f', 127, int), which is the same on all of them.
const bytesWaiting = 0x4004667f
