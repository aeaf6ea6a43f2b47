package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"coxswain/activities/codex/commandline"
	"coxswain/activities/policyfile"
	"coxswain/models"
)

func policyOption() *option {
	return &option{name: "policy", key: "policy", env: []string{"COX_POLICY"}, usage: "the policy `FILE` for what agents ask leave for; default: policy.yaml beside the configuration file"}
}

func (a *app) policyCommand() *urfave.Command {
	return a.group("policy", "see what happens to what agents ask leave for",
		leaf{
			name: "show", usage: "show the policy in force: what is asked, declined and accepted", example: "cox policy show",
			about:   "Without a file nobody is asked: Codex refuses by itself what its sandbox does not allow.",
			options: []*option{policyOption()}, run: policyShow,
		},
		leaf{
			name: "check", usage: "check the policy file, or tell what happens to a command", argument: "[COMMAND]", example: "cox policy check \"git push origin main\"",
			about:   "The command is one argument, as the agent's shell would get it. It is read, not run.",
			options: []*option{policyOption(), {name: "cwd", usage: "the `DIR` in which the agent would run it"}}, run: policyCheck,
		},
	)
}

// policyPath is where the policy file is, "" without a home. One that was named has to be
// there: who names a file wants it in force.
func (in *call) policyPath() (string, error) {
	if in.given("policy") {
		return in.namedPolicy()
	}
	config, err := in.configPath()
	if err != nil || config == "" {
		return "", err
	}
	return filepath.Join(filepath.Dir(config), "policy.yaml"), nil
}

func (in *call) namedPolicy() (string, error) {
	path, err := filepath.Abs(in.text("policy"))
	if err != nil {
		return "", models.Invalid("policy", "%s cannot be made absolute", in.text("policy")).Because(err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", models.Invalid("policy", "%s, named by the %s, is not there", path, in.value("policy").source).
			Hint("write it, or leave --policy, COX_POLICY and policy in the configuration file out: cox policy show")
	}
	return path, nil
}

// policyFile is the policy as a worker would read it. Where there is a ledger, a file
// inside one of its workspaces is refused.
func (in *call) policyFile(ctx context.Context) (path string, exists bool, p models.Policy, err error) {
	if path, err = in.policyPath(); err != nil || path == "" {
		return path, false, p, err
	}
	paths, err := in.paths()
	if err != nil {
		return path, false, p, err
	}
	if paths.Exists() {
		l, err := in.ledger(ctx)
		if err != nil {
			return path, false, p, err
		}
		roots, err := l.Roots(ctx)
		if err != nil {
			return path, false, p, err
		}
		if err := policyfile.Outside(path, roots); err != nil {
			return path, false, p, err
		}
	}
	_, missing := os.Stat(path)
	p, err = policyfile.Load(path)
	return path, missing == nil, p, err
}

func policyShow(ctx context.Context, in *call) error {
	path, exists, policy, err := in.policyFile(ctx)
	if err != nil {
		return err
	}
	rows := make([]models.PolicyRow, 0, len(models.RiskClasses()))
	for _, class := range models.RiskClasses() {
		rows = append(rows, models.PolicyRow{Class: class, Ruling: policy.Row(class)})
	}
	accept := policy.Accept
	if accept == nil {
		accept = []models.AcceptRow{}
	}
	answer := fields{"file": configFile{Path: path, Exists: exists}, "asks": policy.Asks(), "answers": rows, "accept": accept, "wait": policy.WaitFor().String()}
	return in.answer(answer, func(p *printer) {
		table := make([][]any, 0, len(rows))
		for _, r := range rows {
			table = append(table, []any{string(r.Class), string(r.Ruling)})
		}
		p.table("", []string{"CLASS", "ANSWER"}, table)
		p.write("\n")
		for _, r := range accept {
			p.line("accepted: %s", strings.TrimSpace(strings.Join(r.Argv, " ")+"  "+r.CWD))
		}
		switch {
		case !exists:
			p.line("file: %s, which is not there; threads ask nobody", path)
		case !policy.Asks():
			p.line("file: %s; threads ask nobody", path)
		default:
			p.line("file: %s; a request waits %s for a person", path, policy.WaitFor())
		}
	})
}

func policyCheck(ctx context.Context, in *call) error {
	path, exists, policy, err := in.policyFile(ctx)
	if err != nil {
		return err
	}
	file := configFile{Path: path, Exists: exists}
	if in.argument == "" {
		return in.answer(fields{"file": file, "asks": policy.Asks()}, func(p *printer) {
			if !exists {
				p.line("%s is not there; threads ask nobody", path)
				return
			}
			p.line("%s is in order", path)
		})
	}
	request := commandline.Request(in.argument, in.text("cwd"))
	ruled := policy.Decide(request)
	return in.answer(fields{"file": file, "request": request, "ruled": ruled}, func(p *printer) {
		classes := make([]string, 0, len(ruled.Classes))
		for _, c := range ruled.Classes {
			classes = append(classes, string(c))
		}
		p.line("%s: %s (%s)", ruled.Ruling, strings.Join(classes, ", "), ruled.Why)
		for _, d := range request.Doubts {
			p.line("cannot be read: %s", d)
		}
	})
}
