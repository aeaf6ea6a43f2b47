package planfile

import (
	"maps"

	"github.com/goccy/go-yaml"

	"coxswain/models"
)

// Render writes an assignment's contract as an entry that Parse reads back as it is.
func Render(a models.Assignment) ([]byte, error) {
	doc := yaml.MapSlice{{Key: "id", Value: a.ID}, {Key: "team", Value: a.TeamID}, {Key: "title", Value: a.Title}}
	own, rest := splitMetadata(a.Metadata)
	if text, ok := own["description"]; ok {
		doc = append(doc, yaml.MapItem{Key: "description", Value: text})
	}
	doc = append(doc, yaml.MapItem{Key: "priority", Value: a.Priority}, yaml.MapItem{Key: "paths", Value: a.AllowedPaths},
		yaml.MapItem{Key: "criteria", Value: a.AcceptanceCriteria}, yaml.MapItem{Key: "depends_on", Value: a.DependsOn})
	if a.Worktree != nil {
		doc = append(doc, yaml.MapItem{Key: "worktree", Value: *a.Worktree})
	}
	for _, key := range metadataKeys()[1:] {
		if v, ok := own[key]; ok {
			doc = append(doc, yaml.MapItem{Key: key, Value: v})
		}
	}
	if len(rest) > 0 {
		doc = append(doc, yaml.MapItem{Key: "metadata", Value: rest})
	}
	return yaml.MarshalWithOptions(doc, yaml.UseLiteralStyleIfMultiline(true), yaml.IndentSequence(true))
}

// metadataKeys are the keys of an entry that are kept in the metadata, in the order in
// which they are shown.
func metadataKeys() []string {
	return []string{"description", "context_refs", "session_bind", "requested_capabilities", "preferred_provider", "execution"}
}

// splitMetadata parts what has a key of its own in an entry from the rest.
func splitMetadata(metadata map[string]any) (own, rest map[string]any) {
	own, rest = map[string]any{}, maps.Clone(metadata)
	for _, key := range metadataKeys() {
		if v := rest[key]; v != nil && v != "" {
			own[key] = v
			delete(rest, key)
		}
	}
	return own, rest
}
