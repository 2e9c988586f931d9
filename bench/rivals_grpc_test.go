package bench

import (
	"context"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationsim"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
)

// TestGRPCConforms compares the retry throttling of a gRPC channel, with a server
// behind it, with the model. The test is the server: it decides which of the calls
// in flight fails or succeeds next, and then waits for what the channel makes of
// it, a further attempt or the end of the call. No call waits for its retry, as
// the server pushes back by nothing, so that the order of events is the test's.
func TestGRPCConforms(t *testing.T) {
	rival, _ := rationsim.RivalNamed("grpc")
	for seed := range uint64(3) {
		c := newChannel(t)
		l, r := rival.New(), rand.New(rand.NewPCG(seed, 1))
		flying := make(map[string]*modelCall)
		const steps = 4000
		granted, refused := 0, 0
		for step := range steps {
			if len(flying) == 0 || len(flying) < 8 && r.IntN(3) == 0 {
				id := strconv.Itoa(step)
				flying[id] = &modelCall{made: 1}
				l.Begin(0, &flying[id].Held)
				c.begin(id)
				continue
			}
			ids := slices.Sorted(maps.Keys(flying))
			id := ids[r.IntN(len(ids))]
			call := flying[id]
			p := []float64{0, 1, 0, 0.05, 0.2, 0.02}[step*6/steps]
			end := drawEnd(r, p)
			got := channelModel(l, call, end)
			again := c.finish(t, id, end)
			if got != again {
				t.Fatalf("seed %d, step %d, attempt %d ends %v: the model retries %v, the channel %v",
					seed, step, call.made, end, got, again)
			}
			switch {
			case again:
				granted++
				call.made++
				continue
			case mayMend(end) && call.made < stormAttempts:
				refused++
			}
			delete(flying, id)
		}
		t.Logf("seed %d: %d retries, %d refused", seed, granted, refused)
		if granted == 0 || refused == 0 {
			t.Errorf("seed %d: the rule granted nothing or everything", seed)
		}
	}
}

// channelModel tells the model of an attempt's end and reports whether there is a
// next one.
func channelModel(l rationsim.Limiter, c *modelCall, end rationsim.AttemptEnd) bool {
	l.Done(0, &c.Held, end)
	if mayMend(end) && c.made < stormAttempts && l.Retry(0, &c.Held, end) {
		return l.Resume(0, &c.Held)
	}
	l.End(0, &c.Held, end.Verdict == ration.VerdictOK)
	return false
}

// A channel is a client of gRPC with a server whose every answer is given by hand.
type channel struct {
	grpc_health_v1.UnimplementedHealthServer
	client  grpc_health_v1.HealthClient
	arrived chan string // the id of an attempt's call
	ended   chan string
	closed  chan struct{}

	mu      sync.Mutex
	answers map[string]chan rationsim.AttemptEnd
}

// throttled has the numbers that gRFC A6 shows.
const throttled = `{
	"methodConfig": [{
		"name": [{}],
		"retryPolicy": {
			"maxAttempts": 4, "initialBackoff": "1s", "maxBackoff": "1s",
			"backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]
		}
	}],
	"retryThrottling": {"maxTokens": 10, "tokenRatio": 0.1}
}`

func newChannel(t *testing.T) *channel {
	c := &channel{
		arrived: make(chan string), ended: make(chan string), closed: make(chan struct{}),
		answers: make(map[string]chan rationsim.AttemptEnd),
	}
	listener := bufconn.Listen(1 << 16)
	server := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(server, c)
	go server.Serve(listener)
	conn, err := grpc.NewClient("passthrough:///bufconn",
		grpc.WithDefaultServiceConfig(throttled),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return listener.DialContext(ctx)
		}))
	if err != nil {
		t.Fatal(err)
	}
	c.client = grpc_health_v1.NewHealthClient(conn)
	t.Cleanup(func() {
		close(c.closed)
		conn.Close() // ends the attempts that are left, which the server waits for
		server.Stop()
	})
	return c
}

// Check is the server's end of an attempt.
func (c *channel) Check(
	ctx context.Context, r *grpc_health_v1.HealthCheckRequest,
) (*grpc_health_v1.HealthCheckResponse, error) {
	answer := c.answer(r.Service)
	c.arrived <- r.Service
	select {
	case end := <-answer:
		_ = grpc.SetTrailer(ctx, metadata.Pairs("grpc-retry-pushback-ms", "0"))
		return &grpc_health_v1.HealthCheckResponse{}, status.Error(channelCodes[end.Verdict], "")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var channelCodes = map[ration.VerdictKind]codes.Code{
	ration.VerdictOK:        codes.OK,
	ration.VerdictTransient: codes.Unavailable,
	ration.VerdictThrottled: codes.ResourceExhausted,
	ration.VerdictPermanent: codes.InvalidArgument,
}

func (c *channel) answer(id string) chan rationsim.AttemptEnd {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answers[id] == nil {
		c.answers[id] = make(chan rationsim.AttemptEnd)
	}
	return c.answers[id]
}

// begin starts a call and returns when its first attempt is at the server.
func (c *channel) begin(id string) {
	go func() {
		_, _ = c.client.Check(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: id})
		select {
		case c.ended <- id:
		case <-c.closed:
		}
	}()
	<-c.arrived
}

// finish answers the call's attempt, and reports whether another one follows.
func (c *channel) finish(t *testing.T, id string, end rationsim.AttemptEnd) bool {
	c.answer(id) <- end
	select {
	case other := <-c.arrived:
		if other != id {
			t.Fatalf("an attempt of %q came after an answer to %q", other, id)
		}
		return true
	case other := <-c.ended:
		if other != id {
			t.Fatalf("%q ended after an answer to %q", other, id)
		}
		return false
	}
}
