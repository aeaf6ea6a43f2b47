package appserver

import (
	"fmt"
	"sort"
	"strings"
)

// tomlInline writes nested tables of strings as TOML on one line, the form that
// `-c key=value` takes.
func tomlInline(table map[string]any) string {
	keys := make([]string, 0, len(table))
	for key := range table {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	for i, key := range keys {
		value, ok := table[key].(map[string]any)
		if ok {
			keys[i] = tomlString(key) + "=" + tomlInline(value)
			continue
		}
		keys[i] = tomlString(key) + "=" + tomlString(fmt.Sprint(table[key]))
	}
	return "{" + strings.Join(keys, ",") + "}"
}

// tomlString quotes a basic string: control characters, quotes and backslashes
// are escaped.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
