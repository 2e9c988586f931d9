package ration

import (
	"context"
	"database/sql/driver"
	"io"
	"io/fs"
	"net"
	"reflect"
	"slices"
)

// A Classifier gives the verdict on what an attempt returned. It is the one
// source that retries, waits, the budget, the breaker and every report read. It
// must be safe for concurrent use, and should be quick: it runs between the
// attempt and whatever comes next.
//
// A nil error is not necessarily a success: value may hold an answer that asks
// to slow down. A classifier that wants to change a few verdicts handles those
// and ends with [DefaultClassifier].
type Classifier func(value any, err error) Verdict

// DefaultClassifier is the [Classifier] of a policy that names none. A nil error
// is OK, whatever the value. A mark such as [Transient] decides for itself.
// Timeouts and lost connections, and errors that wrap them, are transient.
// Everything else is permanent: a retry does not mend a wrong certificate, a
// wrong name or a wrong program.
//
// It goes by the types and values of errors, never by their text. The page
// docs/classification.md has the whole table. It is safe for concurrent use.
func DefaultClassifier(_ any, err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	v, _ := classifyKnown(err)
	return v
}

// RetryAny is a [Classifier] to which every error is transient, for a function
// whose errors are all worth another try. Two things still decide for
// themselves: marks such as [Permanent], and an [*Error] of an inner executor,
// which is permanent. It retries programming errors too; the budget bounds what
// that costs. It is safe for concurrent use.
func RetryAny(_ any, err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	if v, ok := wrapped(err); ok {
		return v
	}
	return Verdict{Kind: VerdictTransient}
}

// classifyKnown is [DefaultClassifier] for a non-nil err. known is false when
// nothing recognised err, so that permanent is only what is left.
func classifyKnown(err error) (v Verdict, known bool) {
	if v, ok := wrapped(err); ok {
		return v, true
	}
	v = Verdict{Kind: VerdictPermanent}
	walk(err, func(node error) step {
		for _, r := range rules {
			if kind := r(node); kind != VerdictOK {
				v.Kind, known = kind, true
				return stop
			}
		}
		return into
	})
	return v, known || fromTLS(err)
}

// A rule reads one error of a tree, without what that error wraps unless the
// rule is about a pair. VerdictOK says that the rule does not know it.
type rule func(node error) VerdictKind

// The rules are tried in this order on each error, from the outside in and from
// left to right, until one knows it: the order in which errors.As finds things,
// and in which authors put the error that matters first. The worst member of a
// join would make a lost connection permanent because a temporary file could not
// be removed either; the best would retry a full disk because the connection did
// not close cleanly either.
//
// Few errors answer to two rules, and those of the standard library get the same
// verdict from both; where others do not, the earlier rule wins.
var rules = [...]rule{sentinel, resolver, timeout, network, file, address, connection}

// sentinels are the values that the standard library returns or matches.
// net.ErrClosed and io.ErrClosedPipe mean that our own end closed under the
// attempt, as when a pool drops an idle connection just as a call picks it up:
// the next attempt gets another one. The cancellation is that of some context
// within the attempt, since the caller's own is no failure and is not
// classified: someone gave the work up on purpose.
var sentinels = [...]struct {
	target error
	kind   VerdictKind
}{
	{context.Canceled, VerdictPermanent},
	{context.DeadlineExceeded, VerdictTransient},
	{io.EOF, VerdictTransient},
	{io.ErrUnexpectedEOF, VerdictTransient},
	{net.ErrClosed, VerdictTransient},
	{io.ErrClosedPipe, VerdictTransient},
	{driver.ErrBadConn, VerdictTransient},
}

func sentinel(node error) VerdictKind {
	x, ok := node.(interface{ Is(error) bool })
	for _, s := range sentinels {
		//nolint:errorlint // a rule reads one error; the walk does the unwrapping
		if node == s.target || ok && x.Is(s.target) {
			return s.kind
		}
	}
	return VerdictOK
}

// resolver separates a name that does not exist from a resolver in trouble.
func resolver(node error) VerdictKind {
	e, ok := as[*net.DNSError](node)
	switch {
	case !ok:
		return VerdictOK
	case e.IsNotFound:
		return VerdictPermanent
	case e.IsTemporary, e.IsTimeout:
		return VerdictTransient
	}
	return VerdictPermanent
}

// timeout believes a yes alone. A no proves nothing: *url.Error, for one, asks
// only the very error that it wraps, and says no when a timeout lies deeper.
func timeout(node error) VerdictKind {
	e, ok := as[interface {
		error
		Timeout() bool
	}](node)
	if ok && e.Timeout() {
		return VerdictTransient
	}
	return VerdictOK
}

// network reads what an operation on a connection failed of. An errno that is
// no mistake of ours is transient here, listed or not, because the operation
// alone makes it a network failure. TLS alerts have a type that cannot be named
// but travel under an Op of their own; to import crypto/tls for them would put
// it into every program. What is neither is left for the rules to find inside.
func network(node error) VerdictKind {
	op, ok := as[*net.OpError](node)
	if !ok {
		return VerdictOK
	}
	if op.Op == "remote error" || op.Op == "local error" {
		return VerdictPermanent
	}
	e, ok := find[errno](op.Err)
	switch {
	case !ok:
		return VerdictOK
	case slices.Contains(mistakeErrnos[:], e):
		return VerdictPermanent
	}
	return VerdictTransient
}

// file keeps files apart from connections: a missing or forbidden file stays
// so, and a truncated one is no lost connection. Devices and pipes are files
// too, and do time out and break.
func file(node error) VerdictKind {
	e, ok := as[*fs.PathError](node)
	if !ok {
		return VerdictOK
	}
	lost := walk(e.Err, func(node error) step {
		if timeout(node) == VerdictTransient || connection(node) == VerdictTransient {
			return stop
		}
		return into
	})
	if lost {
		return VerdictTransient
	}
	return VerdictPermanent
}

// address knows the errors for what cannot be dialled at all. They are known so
// that a report does not call them unclassified.
func address(node error) VerdictKind {
	switch node.(type) { //nolint:errorlint // the walk does the unwrapping
	case *net.AddrError, *net.ParseError, net.UnknownNetworkError, net.InvalidAddrError:
		return VerdictPermanent
	}
	return VerdictOK
}

// connection knows the errnos of lost and refused connections wherever they
// occur, since not all code that makes system calls wraps them as package net
// does.
func connection(node error) VerdictKind {
	if e, ok := as[errno](node); ok && slices.Contains(connectionErrnos[:], e) {
		return VerdictTransient
	}
	return VerdictOK
}

// fromTLS reports whether err holds an error of crypto/tls or crypto/x509. Such
// an error is permanent without being recognised; this only keeps a certificate
// from being reported as unclassified. It goes by the package that declares the
// type, since the types themselves have changed before and the import is not
// worth it.
func fromTLS(err error) bool {
	return walk(err, func(node error) step {
		t := reflect.TypeOf(node)
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.PkgPath() == "crypto/tls" || t.PkgPath() == "crypto/x509" {
			return stop
		}
		return into
	})
}

// A step says how a walk goes on from an error.
type step int

const (
	into step = iota // to what the error wraps
	over             // past what it wraps
	stop
)

// walk visits err and what it wraps in the order of errors.As, and reports
// whether a visit stopped it. Unlike errors.As it passes over typed nil
// pointers, whose methods may panic: a function that returns one has a fault,
// and the verdict on it is no place to crash.
func walk(err error, visit func(node error) step) (stopped bool) {
	if err == nil || isNilPointer(err) {
		return false
	}
	if s := visit(err); s != into {
		return s == stop
	}
	switch x := err.(type) { //nolint:errorlint // this is the unwrapping
	case interface{ Unwrap() error }:
		return walk(x.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, e := range x.Unwrap() {
			if walk(e, visit) {
				return true
			}
		}
	}
	return false
}

func isNilPointer(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// as is errors.As for one error without what it wraps. The target is only
// allocated for an error that brings an As method.
func as[E error](node error) (e E, ok bool) {
	if e, ok = node.(E); ok { //nolint:errorlint // the walk does the unwrapping
		return e, true
	}
	if x, is := node.(interface{ As(any) bool }); is {
		target := new(E)
		if x.As(target) {
			return *target, true
		}
	}
	return e, false
}

// find is as for err and everything it wraps.
func find[E error](err error) (e E, ok bool) {
	walk(err, func(node error) step {
		if e, ok = as[E](node); ok {
			return stop
		}
		return into
	})
	return e, ok
}
