package models

// ImportOutcome says what an import did with one entry of a plan.
type ImportOutcome string

// The outcomes of an import.
const (
	ImportCreated   ImportOutcome = "created"
	ImportUpdated   ImportOutcome = "updated"
	ImportUnchanged ImportOutcome = "unchanged"
)

// ImportProblem is one reason why a plan cannot be imported.
type ImportProblem struct {
	Entry        int    `json:"entry"` // the entry's place in the plan, from 0
	AssignmentID string `json:"assignment_id"`
	Field        string `json:"field"`
	Code         Code   `json:"code"`
	Message      string `json:"message"`
	Next         string `json:"next,omitempty"`
}

// ProblemOf turns the refusal of one entry into a problem. The field is the one
// that the error names, or assignment_id.
func ProblemOf(entry int, id string, e *Error) ImportProblem {
	field, _ := e.Details["field"].(string)
	switch entity, _ := e.Details["entity"].(string); {
	case field != "":
	case e.Code == CodeDependencyCycle:
		field = "depends_on"
	case entity == "team" || entity == "workspace":
		field = entity + "_id"
	default:
		field = "assignment_id"
	}
	return ImportProblem{Entry: entry, AssignmentID: id, Field: field, Code: e.Code, Message: e.Error(), Next: e.Next}
}

// ImportCode is the code of a refused plan: that of its problems where they
// agree, INVALID_ARGUMENT where they do not.
func ImportCode(problems []ImportProblem) Code {
	if len(problems) == 0 {
		return ""
	}
	for _, p := range problems[1:] {
		if p.Code != problems[0].Code {
			return CodeInvalidArgument
		}
	}
	return problems[0].Code
}
