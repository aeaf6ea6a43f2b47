package mcpserver

import (
	"strings"

	"coxswain/models"
)

// stepByCode is the next step after a refusal that every tool explains alike.
var stepByCode = map[models.Code]string{
	models.CodeStaleRevision:  "read the assignment again with get_assignment_detail, then repeat with its revision if the call still makes sense",
	models.CodeSecretDetected: "remove the secret and say where it is kept instead of what it is",
	models.CodeLedgerBusy:     "repeat the same call",
	models.CodeNotFound:       "check the id with a list or board tool",
}

// toolOf names the tool that does what a command does: the ledger tells next
// steps as commands, which an agent in a sandbox cannot type.
var toolOf = map[string]string{
	"attention board":   "get_attention_board",
	"assignment show":   "get_assignment_detail",
	"assignment claim":  "claim_assignment",
	"brief show":        "get_human_brief",
	"intervention list": "list_interventions",
	"review list":       "list_pending_reviews",
	"run show":          "get_run_detail",
	"snapshot show":     "get_snapshot",
	"workspace list":    "list_workspaces",
	"workspace show":    "get_workspace_detail",
}

// nextStep is what the caller of a tool can do about an error.
func nextStep(e *models.Error) string {
	if step, ok := stepByCode[e.Code]; ok {
		return step
	}
	words := strings.Fields(e.Next)
	if len(words) < 3 || words[0] != "cox" {
		return e.Next
	}
	if tool, ok := toolOf[words[1]+" "+words[2]]; ok {
		return strings.Join(append([]string{tool}, words[3:]...), " ")
	}
	return e.Next
}
