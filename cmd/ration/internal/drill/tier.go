package drill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/ration-go/ration"
	"github.com/ration-go/ration/rationhttp"
)

// Nobody generates code for a service with one method and nothing to say.
const (
	serviceName = "ration.drill.Backend"
	methodName  = "Query"
)

// frontend serves users by asking the backend.
func (c *chain) frontend(conn *grpc.ClientConn) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.counts.Load().arrive(tierFrontend)
		var reply emptypb.Empty
		err := conn.Invoke(r.Context(), "/"+serviceName+"/"+methodName, &emptypb.Empty{}, &reply)
		switch {
		case err == nil:
			answer(w)
		case !rationhttp.WriteError(w, r, err):
			http.Error(w, "the backend fails", http.StatusServiceUnavailable)
		}
	})
}

// backend serves the frontend by asking the database at url.
func (c *chain) backend(client *http.Client, url string) *grpc.ServiceDesc {
	query := func(ctx context.Context, _ any) (any, error) {
		c.counts.Load().arrive(tierBackend)
		err := get(ctx, client, url)
		var stop *ration.Error
		switch {
		case err == nil:
			return &emptypb.Empty{}, nil
		case errors.As(err, &stop):
			return nil, stop // which the server options give a status
		}
		return nil, status.Error(codes.Unavailable, "the database fails")
	}
	return &grpc.ServiceDesc{
		ServiceName: serviceName,
		Methods: []grpc.MethodDesc{{
			MethodName: methodName,
			Handler: func(
				_ any, ctx context.Context, decode func(any) error,
				intercept grpc.UnaryServerInterceptor,
			) (any, error) {
				var req emptypb.Empty
				if err := decode(&req); err != nil {
					return nil, err
				}
				info := &grpc.UnaryServerInfo{FullMethod: "/" + serviceName + "/" + methodName}
				return intercept(ctx, &req, info, query)
			},
		}},
	}
}

// database answers as the trouble has it, once that has begun.
func (c *chain) database() http.Handler {
	db := &database{trouble: c.phase.Trouble, dice: newDice()}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := c.counts.Load()
		n.arrive(tierDatabase)
		if n == nil {
			answer(w)
			return
		}
		db.serve(w, r)
	})
}

func answer(w http.ResponseWriter) { _, _ = io.WriteString(w, "ok\n") }

// get asks a server for nothing in particular. An answer that is not 200 is an
// error too.
func get(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// Read to its end, or the connection cannot be used again.
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", req.URL.Host, resp.Status)
	}
	return nil
}
