package workflows

import (
	"context"
	"errors"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"coxswain/models"
	"coxswain/models/ledger"
)

// Engine says where Temporal is. Empty fields are taken from the SDK's own
// environment configuration (TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TLS, API key,
// profiles), then from Temporal's defaults.
type Engine struct {
	Address   string // host:port
	Namespace string
	// Env reads the environment; the process's own when nil.
	Env func(string) (string, bool)
}

// DefaultAddress and DefaultNamespace are Temporal's own.
const (
	DefaultAddress   = "127.0.0.1:7233"
	DefaultNamespace = "default"
)

// Options are the client options of the engine.
func (e Engine) Options() (client.Options, error) {
	o, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: lookup(e.Env)})
	if err != nil {
		return o, models.Invalid("temporal", "its environment configuration cannot be used").Because(err).
			Hint("check TEMPORAL_CONFIG_FILE and the TEMPORAL_ variables")
	}
	if e.Address != "" {
		o.HostPort = e.Address
	}
	if o.HostPort == "" {
		o.HostPort = DefaultAddress
	}
	if e.Namespace != "" {
		o.Namespace = e.Namespace
	}
	if o.Namespace == "" {
		o.Namespace = DefaultNamespace
	}
	return o, nil
}

// NamespaceName is the namespace that the engine's options come to.
func (e Engine) NamespaceName() string {
	o, err := e.Options()
	if err != nil {
		return DefaultNamespace // Dial has reported the error before anyone asks
	}
	return o.Namespace
}

// AddressName is the address that the engine's options come to.
func (e Engine) AddressName() string {
	o, err := e.Options()
	if err != nil {
		return DefaultAddress // Dial reports the error
	}
	return o.HostPort
}

// envLookup adapts a lookup function to the SDK's interface.
type envLookup func(string) (string, bool)

// Environ implements envconfig.EnvLookup; profiles by variable listing are not
// used.
func (f envLookup) Environ() []string { return nil }

// LookupEnv implements envconfig.EnvLookup.
func (f envLookup) LookupEnv(key string) (string, bool) { return f(key) }

func lookup(env func(string) (string, bool)) envconfig.EnvLookup {
	if env == nil {
		return nil
	}
	return envLookup(env)
}

// dialTimeout is how long a server may take to answer at all.
const dialTimeout = 5 * time.Second

// Dial connects to the engine. ENGINE_UNAVAILABLE names the address that did not
// answer.
func Dial(ctx context.Context, e Engine, logger *slog.Logger) (client.Client, error) {
	o, err := e.Options()
	if err != nil {
		return nil, err
	}
	if logger != nil {
		o.Logger = log.NewStructuredLogger(logger)
	}
	o.ConnectionOptions.DialOptions = append(o.ConnectionOptions.DialOptions, reconnecting()...)
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return nil, models.Errorf(models.CodeEngineUnavailable, "Temporal at %s does not answer", o.HostPort).
			With("address", o.HostPort).Hint("cox up; or name yours by --address or TEMPORAL_ADDRESS").Because(err)
	}
	return c, nil
}

// Register registers every workflow under its wire name.
func Register(r worker.WorkflowRegistry) {
	r.RegisterWorkflow(Loop)
	r.RegisterWorkflow(Assignment)
	r.RegisterWorkflow(Nudge)
	r.RegisterWorkflow(Delivery)
	r.RegisterWorkflow(Clock)
}

// Front is the typed front door to the workflows of one ledger. It reads only:
// the ledger's wake-ups alone start and signal.
type Front struct {
	Client client.Client
	Prefix string
}

// Described is what the engine says of a workflow.
type Described struct {
	WorkflowID string    `json:"workflow_id"`
	RunID      string    `json:"run_id"`
	Status     string    `json:"status"` // Running, Completed, …
	Events     int64     `json:"events"`
	StartedAt  time.Time `json:"started_at"`
	// FailedTasks counts how often in a row the workflow's code could not be run on;
	// it goes on as soon as a worker can.
	FailedTasks int `json:"failed_tasks"`
}

// Running tells whether the workflow has not ended.
func (d Described) Running() bool {
	return d.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING.String()
}

// Describe asks the engine about a workflow by its id without the prefix. NOT_FOUND
// when the engine does not know it; ENGINE_UNAVAILABLE when the engine did not say.
func (f Front) Describe(ctx context.Context, workflowID string) (Described, error) {
	id := ID(f.Prefix, workflowID)
	d, err := f.Client.DescribeWorkflowExecution(ctx, id, "")
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return Described{}, models.NotFound("workflow", id).Because(err)
	}
	if err != nil {
		return Described{}, models.Errorf(models.CodeEngineUnavailable, "Temporal does not say how the workflow %s is", id).
			Hint("cox doctor").Because(err)
	}
	info := d.GetWorkflowExecutionInfo()
	return Described{
		WorkflowID: id, RunID: info.GetExecution().GetRunId(), Status: info.GetStatus().String(),
		Events: info.GetHistoryLength(), StartedAt: info.GetStartTime().AsTime(),
		FailedTasks: max(int(d.GetPendingWorkflowTask().GetAttempt())-1, 0),
	}, nil
}

// Card asks a workflow for its card.
func (f Front) Card(ctx context.Context, workflowID string) (ledger.Card, error) {
	var c ledger.Card
	v, err := f.Client.QueryWorkflow(ctx, ID(f.Prefix, workflowID), "", CardQuery)
	if err != nil {
		return c, models.Errorf(models.CodeEngineUnavailable, "the workflow %s did not answer", workflowID).Because(err)
	}
	err = v.Get(&c)
	return c, err
}
