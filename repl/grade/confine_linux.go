package grade

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
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

// fenced is in the environment of a process that has fenced itself.
const fenced = "GRADE_FENCED"

// fence keeps this process, from its own restart on, from writing anywhere but in its folder and to devices,
// from TCP, and from signals to others: as much of that as the kernel's Landlock has. It needs no rights
// (landlock.io), and is of one thread, which is why the process starts again from that. Where it cannot be,
// the process goes on without.
func fence() {
	if os.Getenv(fenced) != "" {
		return
	}
	runtime.LockOSThread()
	if restrict() == nil {
		_ = syscall.Exec("/proc/self/exe", os.Args, append(os.Environ(), fenced+"=1"))
	}
	runtime.UnlockOSThread()
}

// restrict is fence for the thread that calls it.
func restrict() error {
	version, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if no != 0 {
		return no
	}
	const write = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	rules := unix.LandlockRulesetAttr{Handled_access_fs: write | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM}
	size := unsafe.Sizeof(rules.Handled_access_fs) // of what the kernel's version knows
	if version >= 2 {
		rules.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rules.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 4 {
		rules.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
		size += unsafe.Sizeof(rules.Handled_access_net)
	}
	if version >= 6 {
		rules.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size += unsafe.Sizeof(rules.Scoped)
	}
	set, _, no := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if no != 0 {
		return no
	}
	defer unix.Close(int(set))
	for path, access := range map[string]uint64{".": rules.Handled_access_fs, "/dev": rules.Handled_access_fs & (write | unix.LANDLOCK_ACCESS_FS_TRUNCATE)} {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		beneath := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
		_, _, no := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&beneath)), 0, 0, 0)
		unix.Close(fd)
		if no != 0 {
			return no
		}
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, no := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); no != 0 {
		return no
	}
	return nil
}

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
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid)) // it is gone: nothing to scan
	var size, pages int64
	if _, err := fmt.Sscan(string(text), &size, &pages); err != nil {
		return 0
	}
	return pages * int64(os.Getpagesize())
}
