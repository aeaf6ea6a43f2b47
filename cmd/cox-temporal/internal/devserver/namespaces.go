package devserver

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"coxswain/cmd/cox-temporal/internal/options"
	"coxswain/models"
)

// dialPoll is the pause between two tries to reach a frontend that is starting.
const dialPoll = 50 * time.Millisecond

// awaitReady waits until the frontend is healthy, then brings every namespace
// up to date.
func (s *Server) awaitReady(ctx context.Context, o options.Options) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	c, err := s.dial(ctx, o.Namespaces[0])
	if err != nil {
		return unavailable("the server did not become healthy", err)
	}
	defer c.Close()
	for _, name := range o.Namespaces {
		if err := updateRetention(ctx, c, name); err != nil {
			return err
		}
		if err := addSearchAttributes(ctx, c, name, o.SearchAttributes); err != nil {
			return err
		}
	}
	return nil
}

// dial connects to the frontend, trying again until it is healthy.
func (s *Server) dial(ctx context.Context, namespace string) (client.Client, error) {
	for {
		c, err := client.DialContext(ctx, client.Options{
			HostPort: s.address, Namespace: namespace, Logger: log.NewSdkLogger(s.log.logger),
		})
		if err == nil {
			return c, nil
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(dialPoll):
		}
	}
}

// updateRetention sets the retention of a namespace that has another.
func updateRetention(ctx context.Context, c client.Client, name string) error {
	got, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if err != nil {
		return unavailable("namespace "+name+" cannot be read", err)
	}
	if got.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() == retention {
		return nil
	}
	_, err = c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: name,
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(retention)},
	})
	if err != nil {
		return unavailable("the retention of namespace "+name+" cannot be set", err)
	}
	return nil
}

// addSearchAttributes adds those that a namespace lacks. One that exists with
// another type is INVALID_ARGUMENT; it is never changed, because the workflows
// that have it would no longer be found.
func addSearchAttributes(ctx context.Context, c client.Client, name string, want map[string]enumspb.IndexedValueType) error {
	if len(want) == 0 {
		return nil
	}
	got, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: name})
	if err != nil {
		return unavailable("the search attributes of namespace "+name+" cannot be read", err)
	}
	missing := make(map[string]enumspb.IndexedValueType)
	for attribute, kind := range want {
		switch has, exists := got.GetCustomAttributes()[attribute]; {
		case !exists:
			missing[attribute] = kind
		case has != kind:
			return models.Invalid("search-attribute", "%s is a %s in namespace %s already, %s is asked for", attribute, has, name, kind).
				Hint("ask for %s=%s, or use another name", attribute, has)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{Namespace: name, SearchAttributes: missing})
	// A reserved name, or no free column of that type.
	if _, refused := errors.AsType[*serviceerror.InvalidArgument](err); refused {
		return models.Invalid("search-attribute", "namespace %s cannot have them", name).Because(err)
	}
	if err != nil {
		return unavailable("the search attributes of namespace "+name+" cannot be added", err)
	}
	return nil
}
