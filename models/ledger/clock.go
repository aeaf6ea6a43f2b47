package ledger

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"gorm.io/gorm/schema"
)

// Clock tells the time of a transaction. Tests set their own.
type Clock func() time.Time

func truncate(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func init() { schema.RegisterSerializer("ms", msSerializer{}) }

// msSerializer stores time.Time and *time.Time as integer milliseconds, so that
// times compare in SQL.
type msSerializer struct{}

// Scan implements gorm's schema.SerializerInterface.
func (msSerializer) Scan(ctx context.Context, field *schema.Field, dst reflect.Value, dbValue any) error {
	if dbValue == nil {
		return field.Set(ctx, dst, reflect.Zero(field.FieldType).Interface())
	}
	ms, ok := dbValue.(int64)
	if !ok {
		return fmt.Errorf("column %s: want integer milliseconds, have %T", field.DBName, dbValue)
	}
	t := time.UnixMilli(ms).UTC()
	if field.FieldType.Kind() == reflect.Pointer {
		return field.Set(ctx, dst, &t)
	}
	return field.Set(ctx, dst, t)
}

// Value implements gorm's schema.SerializerValuerInterface.
func (msSerializer) Value(_ context.Context, _ *schema.Field, _ reflect.Value, value any) (any, error) {
	switch v := value.(type) {
	case time.Time:
		return v.UnixMilli(), nil
	case *time.Time:
		if v == nil {
			return nil, nil
		}
		return v.UnixMilli(), nil
	}
	return nil, fmt.Errorf("want a time, have %T", value)
}
