package rationgrpc_test

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationgrpc"
)

// A retry policy in the service config multiplies with ours, and is counted and
// charged by nobody here. gRPC's switch turns it off.
func TestServiceConfigRetriesMultiply(t *testing.T) {
	const config = `{"methodConfig": [{"name": [{}], "retryPolicy": {
		"maxAttempts": 4, "initialBackoff": "0.01s", "maxBackoff": "0.01s",
		"backoffMultiplier": 1, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`
	for _, tc := range []struct {
		name     string
		opts     []grpc.DialOption
		calls    int
		previous string // what each call claims to come after
	}{
		{"both", nil, 12, ", 1, 2, 3, 1, 1 1, 2 1, 3 1, 2, 1 2, 2 2, 3 2"},
		{"ours alone", []grpc.DialOption{grpc.WithDisableRetry()}, 3, ", 1, 2"},
	} {
		for _, shape := range []string{"unary", "server stream"} {
			t.Run(tc.name+", "+shape, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := failEverything()
					var heard recorder
					p := plain()
					p.OnEvent = heard.hear
					opts := append(newGuard(t, p).DialOptions(), grpc.WithDefaultServiceConfig(config))
					conn := connect(t, serve(t, b), append(opts, tc.opts...)...)
					shapes[shape](t.Context(), testpb.NewTestServiceClient(conn))
					if n := count(heard.take(), ration.EventAttempt); n != 3 {
						t.Errorf("%d attempts of ours", n)
					}
					var previous []string
					calls := b.take()
					for _, c := range calls {
						previous = append(previous, strings.Join(c.Get(rationgrpc.PreviousAttemptsKey), " "))
						if got := c.Get(rationgrpc.RetryingKey); len(got) != 1 || got[0] != "1" {
							t.Errorf("marker %q", got)
						}
					}
					if got := strings.Join(previous, ", "); len(calls) != tc.calls || got != tc.previous {
						t.Errorf("%d calls, after %q; want %d, %q", len(calls), got, tc.calls, tc.previous)
					}
				})
			})
		}
	}
}

// A call that certainly never reached the server is sent again by gRPC itself, of
// whatever shape. Here it is one attempt, and costs nothing.
func TestTransparentRetries(t *testing.T) {
	for shape, run := range shapes {
		t.Run(shape, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := bufconn.Listen(1 << 16)
				s := &refuser{}
				go s.serve(l)
				t.Cleanup(func() { l.Close() })
				var heard recorder
				p := plain()
				p.OnEvent, p.Budget = heard.hear, drained(t)
				conn := connect(t, l, newGuard(t, p).DialOptions()...)
				err := run(t.Context(), testpb.NewTestServiceClient(conn))
				if status.Code(err) != codes.NotFound {
					t.Errorf("the caller got %v", err)
				}
				if got := kinds(heard.take()); got != "attempt not_retried" {
					t.Errorf("events %q", got)
				}
				if s.calls != 2 || s.previous {
					t.Errorf("%d calls, of which one claimed to come after another: %t", s.calls, s.previous)
				}
				conn.Close()
			})
		})
	}
}

// A refuser is a server that refuses its first stream unprocessed, as one does
// that is shutting down or has too many, and answers the others with NotFound.
type refuser struct {
	calls    int
	previous bool // a call came with grpc-previous-rpc-attempts
}

func (s *refuser) serve(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		s.handle(conn)
		conn.Close()
	}
}

func (s *refuser) handle(conn net.Conn) {
	io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	framer.WriteSettings()
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				framer.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			s.calls++
			for _, field := range f.RegularFields() {
				s.previous = s.previous || field.Name == rationgrpc.PreviousAttemptsKey
			}
			if s.calls == 1 {
				framer.WriteRSTStream(f.StreamID, http2.ErrCodeRefusedStream)
				continue
			}
			var block bytes.Buffer
			encoder := hpack.NewEncoder(&block)
			for _, h := range [][2]string{
				{":status", "200"}, {"content-type", "application/grpc"}, {"grpc-status", "5"},
			} {
				encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]})
			}
			framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: f.StreamID, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: true,
			})
		}
	}
}
