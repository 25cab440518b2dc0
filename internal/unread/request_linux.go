package unread

import "golang.org/x/sys/unix"

const bytesWaiting = unix.TIOCINQ
