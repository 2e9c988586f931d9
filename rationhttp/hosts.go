package rationhttp

import (
	"hash/maphash"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ration-go/ration"
)

// A Host is what [Transport.Hosts] tells about one host. It is a value.
type Host struct {
	// Host is the name and port, lower-case.
	Host string

	// Utilization is how much of the retry budget is in use, from 0 to 1. Near 1,
	// retries are being refused. It is 0 where there is no budget.
	Utilization float64

	// Breaker is the state of the host's breaker.
	Breaker ration.BreakerStatus
}

// Hosts lists the hosts that are remembered, sorted by name, for a page that
// one looks at in trouble. An executor that is shared with other code lists its
// other keys too.
func (t *Transport) Hosts() []Host {
	now := time.Now()
	keys := t.executor.Keys()
	hosts := make([]Host, 0, len(keys))
	for _, e := range keys {
		h := Host{Host: e.Key(), Breaker: e.Breaker(now)}
		if b := e.Budget(); b != nil {
			h.Utilization = b.UtilizationAt(now)
		}
		hosts = append(hosts, h)
	}
	return hosts
}

// hostKeys remembers the key of each host that is not written as one, since
// most URLs name no port and to append it would allocate for every call. It is
// a cache without a lock that forgets: two hosts in one slot cost each other
// that allocation and nothing else, and a flood of hosts does not make it grow.
type hostKeys struct {
	seed  maphash.Seed
	slots [256]atomic.Pointer[hostKey]
}

type hostKey struct{ scheme, host, key string }

// of returns the key of a URL's host: its authority in lower case, with the
// scheme's own port where none is given. The user is no part of it.
func (k *hostKeys) of(u *url.URL) string {
	if hasPort(u.Host) && !hasUpper(u.Host) {
		return u.Host
	}
	slot := &k.slots[maphash.String(k.seed, u.Host)%uint64(len(k.slots))]
	if h := slot.Load(); h != nil && h.host == u.Host && h.scheme == u.Scheme {
		return h.key
	}
	h := &hostKey{scheme: u.Scheme, host: u.Host, key: authority(u)}
	slot.Store(h)
	return h.key
}

func authority(u *url.URL) string {
	host := strings.ToLower(u.Host)
	if hasPort(host) {
		return host
	}
	host = strings.TrimSuffix(host, ":")
	switch u.Scheme {
	case "http":
		return host + ":80"
	case "https":
		return host + ":443"
	}
	return host
}

// hasPort reports whether something follows the last colon that is not within
// the brackets of an IPv6 address.
func hasPort(host string) bool {
	i := strings.LastIndexByte(host, ':')
	return i >= 0 && i < len(host)-1 && strings.IndexByte(host[i:], ']') < 0
}

// hasUpper reports whether lower case might differ.
func hasUpper(s string) bool {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' || c >= 0x80 {
			return true
		}
	}
	return false
}
