package cli

import urfave "github.com/urfave/cli/v2"

// commands is the whole tree, in the order of help.
func (a *app) commands() []*urfave.Command {
	return []*urfave.Command{
		a.command(upLeaf()),
		a.command(downLeaf()),
		a.command(statusLeaf()),
		a.command(inboxLeaf()),
		a.command(reportLeaf()),
		a.command(doctorLeaf()),
		a.loopCommand(),
		a.command(stopLeaf()),
		a.command(resumeLeaf()),
		a.command(workerLeaf()),
		a.workspaceCommand(),
		a.teamCommand(),
		a.actorCommand(),
		a.assignmentCommand(),
		a.worktreeCommand(),
		a.runCommand(),
		a.reviewCommand(),
		a.interventionCommand(),
		a.attentionCommand(),
		a.briefCommand(),
		a.snapshotCommand(),
		a.nodeCommand(),
		a.recoverCommand(),
		a.ledgerCommand(),
		a.command(eventsLeaf()),
		a.command(mcpLeaf()),
		a.configCommand(),
		a.notifyCommand(),
		a.policyCommand(),
		a.completionCommand(),
		a.command(explainLeaf()),
		a.command(versionLeaf()),
		a.command(completeLeaf()),
		a.command(fakeAgentLeaf()),
		a.command(hookGuardLeaf()),
	}
}
