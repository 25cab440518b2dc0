package term

import "golang.org/x/sys/unix"

const bytesWaiting = unix.TIOCINQ
