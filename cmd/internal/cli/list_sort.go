package cli

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
	"time"

	"coxswain/models"
)

// sortable names the fields by which rows can be ordered: those of their JSON document
// that hold one value. Fields of an object within are named with a dot.
func sortable[T any]() []string {
	names := make([]string, 0, len(sortFields[T]()))
	for name := range sortFields[T]() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// sortFields are the places of those fields by name.
func sortFields[T any]() map[string][]int {
	out := map[string][]int{}
	collect(out, "", nil, reflect.TypeFor[T]())
	return out
}

func collect(into map[string][]int, prefix string, at []int, t reflect.Type) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || f.Anonymous {
			continue
		}
		place := append(slices.Clone(at), f.Index...)
		switch {
		case orderable(f.Type):
			into[prefix+name] = place
		case f.Type.Kind() == reflect.Struct && prefix == "":
			collect(into, name+".", place, f.Type)
		}
	}
}

var timeType = reflect.TypeFor[time.Time]()

func orderable(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Bool:
		return true
	default:
		return t == timeType
	}
}

// sortRows orders rows by a field, smallest and earliest first; rows of the same value
// keep their order. A field of an object within may be named by its last part alone.
func sortRows[T any](rows []T, field string) error {
	known := sortFields[T]()
	place, ok := known[field]
	for name, at := range known {
		if !ok && strings.HasSuffix(name, "."+field) {
			place, ok = at, true
		}
	}
	if !ok {
		e := models.Invalid("sort", "%q is no field to order by; there are %s", field, strings.Join(sortable[T](), ", "))
		if near := models.Nearest(field, sortable[T]()); near != "" {
			e = e.Hint("did you mean %s?", near)
		}
		return e
	}
	slices.SortStableFunc(rows, func(a, b T) int {
		return compareValues(reflect.ValueOf(a).FieldByIndex(place), reflect.ValueOf(b).FieldByIndex(place))
	})
	return nil
}

// compareValues compares two values of one type; none comes before any.
func compareValues(a, b reflect.Value) int {
	if a.Kind() == reflect.Pointer {
		if a.IsNil() || b.IsNil() {
			return cmp.Compare(truth(!a.IsNil()), truth(!b.IsNil()))
		}
		a, b = a.Elem(), b.Elem()
	}
	switch a.Kind() {
	case reflect.String:
		return strings.Compare(a.String(), b.String())
	case reflect.Bool:
		return cmp.Compare(truth(a.Bool()), truth(b.Bool()))
	case reflect.Int, reflect.Int64:
		return cmp.Compare(a.Int(), b.Int())
	default:
		at, _ := reflect.TypeAssert[time.Time](a)
		bt, _ := reflect.TypeAssert[time.Time](b)
		return at.Compare(bt)
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
