//go:build unix || windows

package ration

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// dialError returns the error of a dial that failed with err, as package net
// makes it.
func dialError(err error) error {
	var e syscall.Errno
	if errors.As(err, &e) {
		err = os.NewSyscallError("connect", err)
	}
	return &net.OpError{Op: "dial", Net: "tcp", Err: err}
}

func tlsError(err error) error { return &tls.CertificateVerificationError{Err: err} }

func pathError(err error) error { return &fs.PathError{Op: "read", Path: "/f", Err: err} }

// sometimes is an error with a Timeout method and nothing else.
type sometimes struct{ timeout bool }

func (e sometimes) Error() string { return "sometimes" }
func (e sometimes) Timeout() bool { return e.timeout }

// expired matches the error of a context but has no Timeout method.
type expired struct{}

func (expired) Error() string        { return "expired" }
func (expired) Is(target error) bool { return target == context.DeadlineExceeded }

// classified has one entry for each row of the table in docs/classification.md,
// in its order, under the name in the row's first cell.
var classified = []struct {
	row  string
	want string // the verdict, and "unclassified" when only the fallback applies
	errs []error
}{{
	row:  "marked `Transient`",
	want: "transient",
	errs: []error{Transient(errors.New("x")), Transient(Permanent(fs.ErrNotExist))},
}, {
	row:  "marked `Permanent`",
	want: "permanent",
	errs: []error{Permanent(io.EOF), Permanent(Throttled(io.EOF, 0))},
}, {
	row:  "marked `Throttled`",
	want: "throttled",
	errs: []error{Throttled(errors.New("x"), 0), Throttled(&Error{}, -1)},
}, {
	row:  "marked `Refused`",
	want: "throttled, self-imposed",
	errs: []error{Refused(errors.New("x"), 0), Refused(context.Canceled, -1)},
}, {
	row:  "marked with `Mark`",
	want: "transient, retry after 1s",
	errs: []error{
		Mark(errors.New("x"), Verdict{Kind: VerdictTransient, RetryAfter: time.Second}),
	},
}, {
	row:  "`*ration.Error`",
	want: "permanent",
	errs: []error{
		&Error{Reason: StopBudgetExhausted, Last: io.EOF},
		&Error{Reason: StopUnavailable, Last: Transient(io.EOF)},
		&Error{Reason: StopDeadlineExceeded},
		errors.Join(io.EOF, Transient(io.EOF), &Error{}),
	},
}, {
	row:  "`context.Canceled`",
	want: "permanent",
	errs: []error{context.Canceled, dialError(context.Canceled)},
}, {
	row:  "`context.DeadlineExceeded`, `os.ErrDeadlineExceeded`",
	want: "transient",
	errs: []error{
		context.DeadlineExceeded, os.ErrDeadlineExceeded, dialError(context.DeadlineExceeded),
		dialError(os.ErrDeadlineExceeded), ErrAttemptTimeout, expired{},
	},
}, {
	row:  "`Timeout()` is true",
	want: "transient",
	errs: []error{
		sometimes{true},
		dialError(sometimes{true}),
		&url.Error{Op: "Get", Err: fmt.Errorf("deeper: %w", sometimes{true})},
		errors.Join(sometimes{false}, sometimes{true}),
		syscall.EAGAIN,
	},
}, {
	row:  "`io.EOF`, `io.ErrUnexpectedEOF`",
	want: "transient",
	errs: []error{io.EOF, io.ErrUnexpectedEOF, &url.Error{Op: "Get", Err: io.EOF}, dialError(io.EOF)},
}, {
	row:  "`net.ErrClosed`, `io.ErrClosedPipe`",
	want: "transient",
	errs: []error{net.ErrClosed, io.ErrClosedPipe, &net.OpError{Op: "read", Err: net.ErrClosed}},
}, {
	row:  "`driver.ErrBadConn`",
	want: "transient",
	errs: []error{driver.ErrBadConn},
}, {
	row:  "`*net.DNSError`, not found",
	want: "permanent",
	errs: []error{
		&net.DNSError{IsNotFound: true},
		&net.DNSError{IsNotFound: true, IsTemporary: true},
		dialError(&net.DNSError{IsNotFound: true}),
	},
}, {
	row:  "`*net.DNSError`, temporary or timeout",
	want: "transient",
	errs: []error{
		&net.DNSError{IsTemporary: true}, &net.DNSError{IsTimeout: true},
		dialError(&net.DNSError{IsTemporary: true}),
	},
}, {
	row:  "`*net.DNSError`, other",
	want: "permanent",
	errs: []error{
		&net.DNSError{Err: "cannot unmarshal DNS message"},
		&net.DNSError{UnwrapErr: context.Canceled},
	},
}, {
	row:  "`*net.OpError`, TLS alert",
	want: "permanent",
	errs: []error{
		&net.OpError{Op: "remote error", Err: tls.AlertError(42)},
		&net.OpError{Op: "remote error", Err: errors.New("tls: bad certificate")},
		&net.OpError{Op: "local error", Err: errors.New("tls: bad certificate")},
	},
}, {
	row:  "`*net.OpError`, errno of a mistake",
	want: "permanent",
	errs: []error{
		dialError(syscall.EACCES), dialError(syscall.EPERM), dialError(syscall.EINVAL),
		dialError(syscall.EAFNOSUPPORT), dialError(syscall.EPROTONOSUPPORT),
		dialError(syscall.EOPNOTSUPP),
	},
}, {
	row:  "`*net.OpError`, any other errno",
	want: "transient",
	errs: []error{
		dialError(syscall.ECONNREFUSED), dialError(syscall.EADDRNOTAVAIL), dialError(syscall.EMFILE),
		&net.OpError{Op: "proxyconnect", Err: dialError(syscall.ECONNRESET)},
		&net.OpError{Op: "dial", Net: "unix", Err: os.NewSyscallError("connect", syscall.ENOENT)},
	},
}, {
	row:  "`*fs.PathError`, timeout or errno of a connection",
	want: "transient",
	errs: []error{
		pathError(os.ErrDeadlineExceeded), pathError(syscall.EPIPE), pathError(syscall.ETIMEDOUT),
		pathError(fmt.Errorf("deeper: %w", sometimes{true})),
	},
}, {
	row:  "`*fs.PathError`, other",
	want: "permanent",
	errs: []error{
		pathError(fs.ErrNotExist), pathError(syscall.ENOENT), pathError(fs.ErrClosed),
		pathError(io.ErrUnexpectedEOF), pathError(errors.New("x")),
	},
}, {
	row: "`*net.AddrError`, `*net.ParseError`, " +
		"`net.UnknownNetworkError`, `net.InvalidAddrError`",
	want: "permanent",
	errs: []error{
		&net.AddrError{}, &net.ParseError{}, net.UnknownNetworkError("x"), net.InvalidAddrError("x"),
		dialError(&net.AddrError{}), dialError(net.UnknownNetworkError("x")),
	},
}, {
	row:  "errno of a connection",
	want: "transient",
	errs: []error{
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
		syscall.ENOTCONN, syscall.ESHUTDOWN, syscall.ETIMEDOUT, syscall.EHOSTUNREACH,
		syscall.EHOSTDOWN, syscall.ENETUNREACH, syscall.ENETDOWN, syscall.ENETRESET,
		os.NewSyscallError("write", syscall.EPIPE),
	},
}, {
	row:  "certificate and other TLS errors",
	want: "permanent",
	errs: []error{
		tlsError(x509.UnknownAuthorityError{}),
		&net.OpError{Op: "proxyconnect", Err: x509.HostnameError{}},
		x509.CertificateInvalidError{}, x509.SystemRootsError{},
		tls.RecordHeaderError{}, tls.AlertError(42),
	},
}, {
	row:  "anything else",
	want: "permanent, unclassified",
	errs: []error{
		errors.New("x"), fs.ErrNotExist, syscall.ENOENT, syscall.EINVAL, sometimes{false},
		&url.Error{Op: "Get", Err: errors.New("x")}, dialError(errors.New("x")),
	},
}}

// reading puts what classifyKnown says into one string.
func reading(err error) string {
	v, known := classifyKnown(err)
	if !known {
		return v.String() + ", unclassified"
	}
	return v.String()
}

func TestClassify(t *testing.T) {
	for _, tt := range classified {
		t.Run(tt.row, func(t *testing.T) {
			for _, err := range tt.errs {
				if got := reading(err); got != tt.want {
					t.Errorf("%T %v: %s, want %s", err, err, got, tt.want)
				}
				if v, _ := classifyKnown(err); DefaultClassifier(nil, err) != v {
					t.Errorf("%T %v: DefaultClassifier says otherwise", err, err)
				}
			}
		})
	}
}

// The page and the code say the same, row by row.
func TestClassificationPage(t *testing.T) {
	page, err := os.ReadFile("docs/classification.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "| failure | verdict | because |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var rows [][2]string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		rows = append(rows, [2]string{strings.TrimPrefix(cells[0], "| "), cells[1]})
	}
	if len(rows) != len(classified) {
		t.Fatalf("%d rows, want %d", len(rows), len(classified))
	}
	for i, tt := range classified {
		if want := [2]string{tt.row, tt.want}; rows[i] != want {
			t.Errorf("row %d is %q, want %q", i+1, rows[i], want)
		}
	}
}

func TestClassifierOfNil(t *testing.T) {
	for name, c := range map[string]Classifier{"default": DefaultClassifier, "any": RetryAny} {
		if v := c(errors.New("a value is not looked at"), nil); v != (Verdict{}) {
			t.Errorf("%s: %v", name, v)
		}
	}
}

func TestRetryAny(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errors.New("x"), "transient"},
		{fs.ErrNotExist, "transient"},
		{context.Canceled, "transient"},
		{(*net.OpError)(nil), "transient"},
		{Permanent(io.EOF), "permanent"},
		{fmt.Errorf("x: %w", Refused(io.EOF, 1)), "throttled, self-imposed, retry after 1ns"},
		{&Error{Last: io.EOF}, "permanent"},
		{Transient(&Error{Last: io.EOF}), "transient"},
	} {
		if got := RetryAny(nil, tt.err).String(); got != tt.want {
			t.Errorf("%T %v: %s, want %s", tt.err, tt.err, got, tt.want)
		}
	}
}

// Of several errors in one, the first known decides, from the outside in and
// from left to right.
func TestClassifyOrder(t *testing.T) {
	notFound := &net.DNSError{IsNotFound: true}
	refusal := &Error{Reason: StopDeadlineExceeded}
	noFile := pathError(fs.ErrNotExist)
	unknown := errors.New("x")
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"failure, then clean-up", errors.Join(syscall.ECONNRESET, noFile), "transient"},
		{"file, then connection", errors.Join(noFile, syscall.ECONNRESET), "permanent"},
		{"two names", errors.Join(notFound, dialError(syscall.ECONNREFUSED)), "permanent"},
		{"unknown is passed over", fmt.Errorf("%w: %w", unknown, syscall.ECONNRESET), "transient"},
		{"cancelled, so it broke", fmt.Errorf("%w: %w", context.Canceled, net.ErrClosed), "permanent"},
		{"it broke, so it was cancelled", errors.Join(io.EOF, context.Canceled), "transient"},
		{"a mark beside a table row", errors.Join(io.EOF, Permanent(unknown)), "permanent"},
		{"two marks", errors.Join(Throttled(unknown, 0), Permanent(unknown)), "throttled"},
		{"a refusal beside a mark", errors.Join(&Error{}, Transient(unknown)), "permanent"},
		{"a refusal that timed out", &url.Error{Err: refusal}, "permanent"},
		{"a mark over a refusal in a join", Transient(errors.Join(io.EOF, &Error{})), "transient"},
		{"a lost connection under TLS", tlsError(dialError(syscall.ECONNRESET)), "transient"},
	} {
		if got := reading(tt.err); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// A typed nil pointer is an error value whose methods panic.
func TestClassifyTypedNil(t *testing.T) {
	for _, err := range []error{
		(*net.OpError)(nil), (*net.DNSError)(nil), (*fs.PathError)(nil), (*url.Error)(nil),
		(*Error)(nil), (*marked)(nil), errors.Join((*Error)(nil)), fmt.Errorf("%w", (*net.OpError)(nil)),
		&net.OpError{Err: errors.Join((*net.OpError)(nil))},
	} {
		if v, _ := classifyKnown(err); v.Kind != VerdictPermanent {
			t.Errorf("%T: %s", err, v)
		}
	}
	if v, _ := classifyKnown(Transient((*net.OpError)(nil))); v.Kind != VerdictTransient {
		t.Errorf("marked: %s", v)
	}
}

// chain holds errors the way multi-error packages from before errors.Join do:
// only Is and As lead to them.
type chain []error

func (c chain) Error() string { return c[0].Error() }

func (c chain) Is(target error) bool { return errors.Is(c[0], target) }
func (c chain) As(target any) bool   { return errors.As(c[0], target) }

func (c chain) Unwrap() error {
	if len(c) == 1 {
		return nil
	}
	return c[1:]
}

func TestClassifyThroughMethods(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{io.EOF, "transient"},
		{dialError(syscall.ECONNRESET), "transient"},
		{sometimes{true}, "transient"},
		{&net.DNSError{IsNotFound: true}, "permanent"},
		{Throttled(io.EOF, 0), "throttled"},
		{&Error{Last: io.EOF}, "permanent"},
	} {
		if got := reading(chain{errors.New("x"), tt.err}); got != tt.want {
			t.Errorf("%v: %s, want %s", tt.err, got, tt.want)
		}
	}
}

// wrappings are the ways in which errors are passed on.
var wrappings = []func(error) error{
	func(err error) error { return fmt.Errorf("reading: %w", err) },
	func(err error) error { return fmt.Errorf("%w: %w", errors.New("x"), err) },
	func(err error) error { return &url.Error{Op: "Get", URL: "http://h", Err: err} },
	func(err error) error { return errors.Join(err) },
	func(err error) error { return errors.Join(nil, err, errors.New("x")) },
}

// FuzzWrapping: however an error is wrapped, its verdict stays, unless a mark is
// among the wrappings; then the outermost one decides.
func FuzzWrapping(f *testing.F) {
	var errs []error
	for _, tt := range classified {
		errs = append(errs, tt.errs...)
	}
	for i := range errs {
		f.Add(uint8(i), []byte{byte(i), byte(i + 1), byte(i + 2)})
	}
	outside := []func(error) error{
		Transient, Permanent,
		func(err error) error { return Throttled(err, 1) },
		func(err error) error { return Refused(err, 2) },
	}
	f.Fuzz(func(t *testing.T, i uint8, ways []byte) {
		inner := errs[int(i)%len(errs)]
		err, want := inner, reading(inner)
		for _, w := range ways[:min(len(ways), 64)] {
			n := int(w) % (len(wrappings) + len(outside))
			if n < len(wrappings) {
				err = wrappings[n](err)
				continue
			}
			err = outside[n-len(wrappings)](err)
			want = err.(*marked).verdict.String()
		}
		if got := reading(err); got != want {
			t.Errorf("%v wrapped as %v: %s, want %s", inner, ways, got, want)
		}
		if !errors.Is(err, inner) {
			t.Errorf("%v wrapped as %v is lost", inner, ways)
		}
	})
}

var lostConnection = &url.Error{Op: "Get", URL: "http://h/", Err: dialError(syscall.ECONNRESET)}

func TestClassifyAllocs(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	unknown := fmt.Errorf("x: %w", errors.New("y"))
	for _, err := range []error{lostConnection, unknown, fmt.Errorf("x: %w", Refused(io.EOF, 1))} {
		if n := testing.AllocsPerRun(100, func() { DefaultClassifier(nil, err) }); n != 0 {
			t.Errorf("%v: %v allocations", err, n)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		DefaultClassifier(nil, lostConnection)
	}
}
