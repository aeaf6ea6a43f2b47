package prompts

import (
	"embed"
	"strings"
	"sync"
	"text/template"

	"coxswain/models"
)

// ServerName is the MCP server that offers the tools which prompts name.
const ServerName = "cox"

//go:embed *.md.tmpl
var files embed.FS

// templates are parsed at the first prompt, since most commands render none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("prompts").
		Option("missingkey=error").
		Funcs(template.FuncMap{
			"line": line, "quoted": quoted, "code": code, "fenced": fenced, "projectDoc": projectDoc,
			"entries": entries[string], "refs": entries[models.ContextRef], "reviews": reviews, "inc": func(i int) int { return i + 1 },
		}).
		ParseFS(files, "*.md.tmpl"))
})

const developerTemplate = "developer_instructions"

// Kinds are the prompt kinds that have a template, in the order of a run's life.
func Kinds() []models.PromptKind {
	return []models.PromptKind{
		models.PromptWorker, models.PromptFix, models.PromptResume, models.PromptReview, models.PromptEscalation, models.PromptSteer,
	}
}

// Render renders the prompt of a kind. It returns INVALID_ARGUMENT when the
// input belongs to another kind or lacks a required field, and INTERNAL when
// the template itself fails, which a test rules out.
func Render(kind models.PromptKind, in Input) (string, error) {
	if in == nil || in.Kind() != kind {
		return "", models.Invalid("prompt_kind", "%q does not go with the input %T", kind, in)
	}
	return execute(string(kind), in)
}

// Worker renders the first prompt of a run. For errors see Render.
func Worker(in WorkerInput) (string, error) { return Render(models.PromptWorker, in) }

// Fix renders the prompt of a run that a review asked for. For errors see Render.
func Fix(in FixInput) (string, error) { return Render(models.PromptFix, in) }

// Resume renders the prompt that sends a worker back to its run. For errors see
// Render.
func Resume(in ResumeInput) (string, error) { return Render(models.PromptResume, in) }

// Steer renders a person's words into a run. For errors see Render.
func Steer(in SteerInput) (string, error) { return Render(models.PromptSteer, in) }

// Review renders a review nudge. For errors see Render.
func Review(in ReviewInput) (string, error) { return Render(models.PromptReview, in) }

// Escalation renders the message that follows the last ignored nudge. For
// errors see Render.
func Escalation(in EscalationInput) (string, error) { return Render(models.PromptEscalation, in) }

// DeveloperInstructions renders a thread's standing instructions: its role, the
// tools, and the project's AGENTS.md, of which at most MaxProjectDoc bytes are
// passed on. For errors see Render.
func DeveloperInstructions(in DeveloperInput) (string, error) { return execute(developerTemplate, in) }

type validator interface{ Validate() error }

func execute(name string, in validator) (string, error) {
	if err := in.Validate(); err != nil {
		return "", err
	}
	var out strings.Builder
	if err := templates().ExecuteTemplate(&out, name+".md.tmpl", in); err != nil {
		return "", models.Errorf(models.CodeInternal, "the prompt %s cannot be rendered", name).Because(err)
	}
	return strings.TrimRight(out.String(), "\n") + "\n", nil
}

// page is the beginning of a list and how much of it was left out.
type page[T any] struct {
	Items []T
	More  int
}

func firstOf[T any](list []T, limit int) page[T] {
	if len(list) <= limit {
		return page[T]{Items: list}
	}
	return page[T]{Items: list[:limit], More: len(list) - limit}
}

func entries[T any](list []T) page[T] { return firstOf(list, MaxList) }

func reviews(list []models.PendingReview) page[models.PendingReview] {
	return firstOf(list, MaxReviews)
}
