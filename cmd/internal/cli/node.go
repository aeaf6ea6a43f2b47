package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"coxswain/models"
	"coxswain/models/ledger"
)

func (a *app) nodeCommand() *urfave.Command {
	return a.group("node", "see the hosts that run agents",
		leaf{name: "list", usage: "list nodes", example: "cox node list --since 5m", options: nodeListing().options(), run: nodeList},
		leaf{name: "show", usage: "show a node and what its adapters can do", argument: "ID", example: "cox node show my-laptop", run: nodeShow},
	)
}

// nodeOption names this host. Workspaces remember it, so that their work runs
// where their files are.
func nodeOption() *option {
	return &option{name: "node", ids: "node", kind: identKind, env: []string{"COX_NODE"}, usage: "`ID` of this host; default: made from its name and the state directory"}
}

// node is the id of this host with its state directory.
func (in *call) node() (string, error) {
	if id := in.text("node"); id != "" {
		return id, nil
	}
	paths, err := in.paths()
	if err != nil {
		return "", err
	}
	return ledger.KeepNodeID(paths.StateDir)
}

func nodeList(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	nodes, err := l.Nodes(ctx)
	if err != nil {
		return err
	}
	return nodeListing().answer(ctx, in, l, nodes)
}

func nodeListing() listing[models.Node] {
	return listing[models.Node]{
		key: "nodes", when: "alive",
		id:    func(n models.Node) string { return n.ID },
		at:    func(n models.Node) time.Time { return n.HeartbeatAt },
		text:  func(n models.Node) []string { return []string{n.ID, n.Name} },
		table: (*printer).nodes,
	}
}

func (p *printer) nodes(nodes []models.Node) {
	rows := make([][]any, 0, len(nodes))
	for _, n := range nodes {
		rows = append(rows, []any{n.ID, n.Name, n.Incarnation, limit(n.MaxRuns), strings.Join(slices.Sorted(maps.Keys(n.Probes)), ", "), n.HeartbeatAt})
	}
	p.table("No node matches: cox up starts one", []string{"ID", "NAME", "INCARNATION", "MAX RUNS", "ADAPTERS", "HEARTBEAT"}, rows)
}

func nodeShow(ctx context.Context, in *call) error {
	l, err := in.ledger(ctx)
	if err != nil {
		return err
	}
	n, err := l.Node(ctx, in.argument)
	if err != nil {
		return err
	}
	return in.answer(fields{"node": n}, func(p *printer) {
		p.facts("node", n.ID, "name", n.Name, "incarnation", n.Incarnation, "max runs", limit(n.MaxRuns), "heartbeat", n.HeartbeatAt)
		rows := [][]any{}
		for _, kind := range slices.Sorted(maps.Keys(n.Probes)) {
			probe := n.Probes[kind]
			rows = append(rows, []any{kind, probe.Version, probe.Transport, probe.Status, probe.SandboxProved, probe.Missing(), probe.Reason + probe.Fallback})
		}
		p.heading("Adapters")
		p.table("No adapter has been probed.", []string{"ADAPTER", "VERSION", "TRANSPORT", "STATUS", "SANDBOX PROVED", "MISSING", "REASON"}, rows)
	})
}
