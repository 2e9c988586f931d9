package ration

import "syscall"

// errno is the type of the system's error numbers.
type errno = syscall.Errno

// connectionErrnos are lost and refused connections, on any kind of file. The
// system gives the numbers: most have no name in package syscall, whose names
// without a prefix are inventions that no call returns. They are listed last,
// for code that returns them by itself.
var connectionErrnos = [...]errno{
	64,    // ERROR_NETNAME_DELETED
	109,   // ERROR_BROKEN_PIPE
	121,   // ERROR_SEM_TIMEOUT
	232,   // ERROR_NO_DATA, a pipe that is being closed
	233,   // ERROR_PIPE_NOT_CONNECTED
	1225,  // ERROR_CONNECTION_REFUSED
	1231,  // ERROR_NETWORK_UNREACHABLE
	1232,  // ERROR_HOST_UNREACHABLE
	1236,  // ERROR_CONNECTION_ABORTED
	10050, // WSAENETDOWN
	10051, // WSAENETUNREACH
	10052, // WSAENETRESET
	10053, // WSAECONNABORTED
	10054, // WSAECONNRESET
	10057, // WSAENOTCONN
	10058, // WSAESHUTDOWN
	10060, // WSAETIMEDOUT
	10061, // WSAECONNREFUSED
	10064, // WSAEHOSTDOWN
	10065, // WSAEHOSTUNREACH
	10101, // WSAEDISCON
	syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED,
	syscall.EPIPE, syscall.ENOTCONN, syscall.ESHUTDOWN, syscall.ETIMEDOUT,
	syscall.EHOSTUNREACH, syscall.EHOSTDOWN,
	syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENETRESET,
}

// mistakeErrnos are those that a network operation repeats until someone
// changes the program, its settings or its rights.
var mistakeErrnos = [...]errno{
	5,     // ERROR_ACCESS_DENIED
	6,     // ERROR_INVALID_HANDLE
	87,    // ERROR_INVALID_PARAMETER
	10009, // WSAEBADF
	10013, // WSAEACCES
	10014, // WSAEFAULT
	10022, // WSAEINVAL
	10038, // WSAENOTSOCK
	10039, // WSAEDESTADDRREQ
	10040, // WSAEMSGSIZE
	10041, // WSAEPROTOTYPE
	10042, // WSAENOPROTOOPT
	10043, // WSAEPROTONOSUPPORT
	10044, // WSAESOCKTNOSUPPORT
	10045, // WSAEOPNOTSUPP
	10046, // WSAEPFNOSUPPORT
	10047, // WSAEAFNOSUPPORT
	10056, // WSAEISCONN
	10062, // WSAELOOP
	10063, // WSAENAMETOOLONG
	10092, // WSAVERNOTSUPPORTED
	syscall.EACCES, syscall.EPERM, syscall.EINVAL, syscall.EAFNOSUPPORT,
	syscall.EPROTONOSUPPORT, syscall.EOPNOTSUPP,
	syscall.EWINDOWS, // not supported by Windows
}
