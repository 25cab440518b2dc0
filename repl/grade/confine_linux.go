package grade

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// confine gives a process that will be started a group of its own and, unless bare, namespaces of its own:
// of users, which lets it have the others; of the network, in which there is nothing; and of processes, so
// that it sees no others and all that it starts ends with it.
func confine(cmd *exec.Cmd, bare bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if bare {
		return
	}
	cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWPID
	cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
}

// end ends a process with its group.
func end(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// apart is a stream under another number, which code that closes the usual one does not know.
func apart(f *os.File) *os.File {
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		return f
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), f.Name())
}

// resident is how many bytes of memory a process holds; 0: not known.
func resident(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
