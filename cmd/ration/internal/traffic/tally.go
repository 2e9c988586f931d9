package traffic

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"time"
)

// mostHosts bounds how many hosts are told apart; the others are one.
const (
	mostHosts  = 200
	otherHosts = "(others)"
)

// A tally counts the requests of one service.
type tally struct {
	requests, failed, gaveUp, untimed uint64

	latency  histogram // of those that succeeded
	failing  histogram
	statuses map[string]uint64
	hosts    map[string]*Host
}

func (t *tally) add(host string, d time.Duration, timed, failed, gaveUp bool) {
	t.requests++
	switch {
	case gaveUp:
		t.gaveUp++
	case failed:
		t.failed++
	}
	switch {
	case !timed:
		t.untimed++
	case gaveUp:
		// It would have taken longer, and nobody knows how much.
	case failed:
		t.failing.add(d)
	default:
		t.latency.add(d)
	}
	if host == "" {
		return
	}
	h := t.hosts[host]
	if h == nil {
		if t.hosts == nil {
			t.hosts = make(map[string]*Host)
		}
		if len(t.hosts) >= mostHosts {
			host = otherHosts
		}
		if h = t.hosts[host]; h == nil {
			h = &Host{Name: host}
			t.hosts[host] = h
		}
	}
	h.Requests++
	if failed {
		h.Failed++
	}
}

func (t *tally) status(code int) {
	if code != 0 {
		t.code(strconv.Itoa(code))
	}
}

func (t *tally) code(code string) {
	if t.statuses == nil {
		t.statuses = make(map[string]uint64)
	}
	t.statuses[code]++
}

// service returns what was counted.
func (t *tally) service(name string) Service {
	s := Service{
		Name: name, Requests: t.requests, Failed: t.failed, GaveUp: t.gaveUp, Untimed: t.untimed,
		Zero: t.latency.zeros, Quantiles: t.latency.quantiles(), Mean: t.latency.mean(),
		Failures: t.failing.quantile(0.5),
	}
	for _, code := range slices.Sorted(maps.Keys(t.statuses)) {
		s.Statuses = append(s.Statuses, Status{code, t.statuses[code]})
	}
	for _, h := range t.hosts {
		s.Hosts = append(s.Hosts, *h)
	}
	slices.SortFunc(s.Hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Name, b.Name))
	})
	return s
}
