package workflows

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Bounds of the connection to the engine. The SDK's own back-off grows to 10 s, for
// the connection and again for the polls of its workers, so that an engine that came
// back would stand idle for that long.
const (
	firstRedial    = 100 * time.Millisecond
	lastRedial     = time.Second     // between two attempts to connect, however long the engine was away
	connectTimeout = 5 * time.Second // of one attempt
)

// reconnecting are the options that make a connection come back soon after its engine.
func reconnecting() []grpc.DialOption {
	b := backoff.DefaultConfig
	b.BaseDelay, b.MaxDelay = firstRedial, lastRedial
	return []grpc.DialOption{
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: b, MinConnectTimeout: connectTimeout}),
		grpc.WithChainUnaryInterceptor(patientPolls),
	}
}

// patientPolls lets a worker's poll wait for the connection instead of failing without
// one, since each failure would lengthen the pause before the next poll. A poll whose
// time is over while there was no connection found no task, which is no failure either.
func patientPolls(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if !strings.Contains(method, "/Poll") {
		return invoke(ctx, method, req, reply, cc, opts...)
	}
	err := invoke(ctx, method, req, reply, cc, append(opts, grpc.WaitForReady(true))...)
	if status.Code(err) == codes.DeadlineExceeded {
		return nil
	}
	return err
}
