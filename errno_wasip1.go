package ration

import "syscall"

// errno is the type of the system's error numbers.
type errno = syscall.Errno

// connectionErrnos are lost and refused connections, on any kind of file.
var connectionErrnos = [...]errno{
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED,
	syscall.EPIPE, syscall.ENOTCONN, syscall.ETIMEDOUT,
	syscall.EHOSTUNREACH,
	syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENETRESET,
}

// mistakeErrnos are those that a network operation repeats until someone
// changes the program, its settings or its rights.
var mistakeErrnos = [...]errno{
	syscall.EACCES, syscall.EPERM, syscall.ENOTCAPABLE,
	syscall.EINVAL, syscall.EFAULT, syscall.EBADF, syscall.ENOTSOCK,
	syscall.EISCONN, syscall.EDESTADDRREQ, syscall.EMSGSIZE,
	syscall.EAFNOSUPPORT, syscall.EPROTONOSUPPORT, syscall.EPROTOTYPE,
	syscall.ENOPROTOOPT, syscall.ENOTSUP, syscall.ENOSYS,
	syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.ELOOP,
}
