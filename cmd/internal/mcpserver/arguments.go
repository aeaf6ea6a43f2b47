package mcpserver

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"coxswain/models"
)

// decode reads the arguments of a call. It refuses what is no object, fields that
// the schema does not know, required fields that are missing or null, and values
// of another type, naming the fields.
func decode[In any](schema *jsonschema.Schema, raw json.RawMessage) (In, error) {
	var in In
	given := map[string]json.RawMessage{}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &given); err != nil {
			return in, models.Invalid("arguments", "must be a JSON object")
		}
	}
	if err := checkFields(schema, given); err != nil {
		return in, err
	}
	if len(raw) == 0 {
		return in, nil
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return in, wrongType(schema, err)
	}
	return in, nil
}

func checkFields(schema *jsonschema.Schema, given map[string]json.RawMessage) error {
	var unknown, missing []string
	for field := range given {
		if schema.Properties[field] == nil {
			unknown = append(unknown, field)
		}
	}
	for _, field := range schema.Required {
		if value, ok := given[field]; !ok || string(value) == "null" {
			missing = append(missing, field)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return models.Invalid(strings.Join(unknown, ", "), "not an argument of this tool; it takes %s",
			strings.Join(schema.PropertyOrder, ", "))
	}
	if len(missing) > 0 {
		return models.Invalid(strings.Join(missing, ", "), "is required")
	}
	return nil
}

// wrongType says which field has a value of another type, and never the value.
func wrongType(schema *jsonschema.Schema, err error) error {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || mismatch.Field == "" {
		return models.Invalid("arguments", "cannot be read").Because(err)
	}
	// the path begins with the Go names of embedded structs, which are no arguments
	for name := range strings.SplitSeq(mismatch.Field, ".") {
		if property := schema.Properties[name]; property != nil {
			return models.Invalid(name, "must be %s", wanted(property))
		}
	}
	return models.Invalid("arguments", "cannot be read").Because(err)
}

// wanted names the values that a property takes, in JSON's words: the Go type of
// a mismatch is that of a list's element when the element is wrong.
func wanted(property *jsonschema.Schema) string {
	types := append([]string{property.Type}, property.Types...)
	switch {
	case slices.Contains(types, "object"):
		return "an object"
	case slices.Contains(types, "array") && property.Items != nil && property.Items.Type == "string":
		return "a list of texts"
	case slices.Contains(types, "array"):
		return "a list"
	case slices.Contains(types, "integer"):
		return "a whole number of at most 64 bits"
	case slices.Contains(types, "number"):
		return "a number"
	case slices.Contains(types, "boolean"):
		return "true or false"
	default:
		return "a text"
	}
}
