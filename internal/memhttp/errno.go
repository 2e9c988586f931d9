//go:build !plan9

package memhttp

import (
	"os"
	"syscall"
)

// What the operating system says when nobody listens, and when nobody reads.
var (
	errRefused = os.NewSyscallError("connect", syscall.ECONNREFUSED)
	errPipe    = os.NewSyscallError("write", syscall.EPIPE)
)
