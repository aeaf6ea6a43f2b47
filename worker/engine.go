package worker

import (
	"context"
	"errors"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"coxswain/models"
	"coxswain/workflows"
)

// prepareEngine brings the namespace up to what the workflows need: search
// attributes where that is allowed, and every workflow again where the namespace
// is a new one. Without the attributes the worker runs all the same.
func prepareEngine(ctx context.Context, c client.Client, o Options) (attributes bool, err error) {
	described, err := describeNamespace(ctx, c, o.Engine.NamespaceName())
	if err != nil {
		return false, err
	}
	rebuilt, err := o.Ledger.EngineSeen(ctx, o.NodeID, described.GetNamespaceInfo().GetId())
	if err != nil {
		return false, err
	}
	if rebuilt {
		o.Log.Info("the engine's namespace is new; every workflow is rebuilt from the ledger")
	}
	missing := missingAttributes(ctx, c, o.Engine.NamespaceName())
	if len(missing) == 0 {
		return true, nil
	}
	add := map[string]enumspb.IndexedValueType{}
	for _, name := range missing {
		add[name] = enumspb.INDEXED_VALUE_TYPE_KEYWORD
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{SearchAttributes: add, Namespace: o.Engine.NamespaceName()})
	if err != nil {
		o.Log.Warn("this Temporal lacks search attributes and does not let us add them; the worker runs without", "missing", missing, "error", err)
		return false, nil
	}
	return true, nil
}

// settleWait is how long another node may take to see that the engine which both use
// came back as a new one.
const settleWait = 10 * time.Second

// prepareFirst is prepareEngine for a worker that starts.
func prepareFirst(ctx context.Context, c client.Client, o Options) (attributes bool, err error) {
	until := time.Now().Add(settleWait)
	for {
		attributes, err = prepareEngine(ctx, c, o)
		if !models.IsCode(err, models.CodeLeaseConflict) || time.Now().After(until) {
			return attributes, err
		}
		select {
		case <-time.After(reachAgain):
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}

// EngineState is what the workflows find at an engine.
type EngineState struct {
	Address   string   `json:"address"`
	Namespace string   `json:"namespace"`
	Missing   []string `json:"missing_search_attributes"` // the workflows run without them
}

// CheckEngine looks at an engine without changing anything. ENGINE_UNAVAILABLE when
// it does not answer or lacks the namespace.
func CheckEngine(ctx context.Context, e workflows.Engine) (EngineState, error) {
	s := EngineState{Address: e.AddressName(), Namespace: e.NamespaceName(), Missing: []string{}}
	c, err := workflows.Dial(ctx, e, slog.New(slog.DiscardHandler))
	if err != nil {
		return s, err
	}
	defer c.Close()
	if _, err := describeNamespace(ctx, c, s.Namespace); err != nil {
		return s, err
	}
	s.Missing = append(s.Missing, missingAttributes(ctx, c, s.Namespace)...)
	return s, nil
}

func describeNamespace(ctx context.Context, c client.Client, name string) (*workflowservice.DescribeNamespaceResponse, error) {
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	if _, unknown := errors.AsType[*serviceerror.NamespaceNotFound](err); unknown {
		return nil, models.Errorf(models.CodeEngineUnavailable, "namespace: %q is not on this Temporal", name).
			Hint("create it, or name another with --namespace").Because(err)
	}
	if err != nil {
		return nil, models.Errorf(models.CodeEngineUnavailable, "Temporal does not describe its namespace %q", name).
			Hint("cox doctor").Because(err)
	}
	return described, nil
}

// missingAttributes are those that the namespace does not have; all of them when
// it does not say.
func missingAttributes(ctx context.Context, c client.Client, namespace string) []string {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	var missing []string
	for _, name := range workflows.AttributeNames() {
		if _, ok := have.GetCustomAttributes()[name]; err != nil || !ok {
			missing = append(missing, name)
		}
	}
	return missing
}
