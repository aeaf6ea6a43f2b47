package worker

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
)

// beats sends the heartbeats of every activity that has a heartbeat timeout, for
// as long as it runs, so that an attempt whose process died is tried again within
// seconds and not only at the end of its own limit.
type beats struct {
	interceptor.WorkerInterceptorBase
}

// InterceptActivity implements interceptor.WorkerInterceptor.
func (*beats) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	b := &beating{}
	b.Next = next
	return b
}

type beating struct {
	interceptor.ActivityInboundInterceptorBase
}

// ExecuteActivity implements interceptor.ActivityInboundInterceptor.
func (b *beating) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	limit := activity.GetInfo(ctx).HeartbeatTimeout
	if limit <= 0 {
		return b.Next.ExecuteActivity(ctx, in)
	}
	done := make(chan struct{})
	defer close(done)
	go func() {
		t := time.NewTicker(limit / 4)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return b.Next.ExecuteActivity(ctx, in)
}
