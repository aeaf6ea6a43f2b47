package worker

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"coxswain/models"
	"coxswain/workflows"
)

// prepareEngine brings the namespace up to what the workflows need: search
// attributes where that is allowed, and every workflow again where the namespace
// is a new one. Without the attributes the worker runs all the same.
func prepareEngine(ctx context.Context, c client.Client, o Options) (attributes bool, err error) {
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: o.Engine.NamespaceName()})
	if err != nil {
		return false, models.Errorf(models.CodeEngineUnavailable, "namespace: %q is not on this Temporal", o.Engine.NamespaceName()).
			Hint("create it, or name another with --namespace").Because(err)
	}
	rebuilt, err := o.Ledger.EngineSeen(ctx, described.GetNamespaceInfo().GetId())
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
